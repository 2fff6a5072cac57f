package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"metasim/metasim"
	"metasim/server"
)

// A progress shows how far a run has come: on a terminal in one line that is rewritten; elsewhere, if that is wanted, with a
// new line at intervals.
type progress struct {
	w     io.Writer
	until metasim.Time  // 0: no end
	every time.Duration // between lines where none can be rewritten; 0: no lines there
	done  chan struct{} // closed by stop
	ended sync.WaitGroup
	once  sync.Once
	mu    sync.Mutex // held while writing
}

const (
	// rewriteEvery is the time between two versions of the line on a terminal.
	rewriteEvery = 200 * time.Millisecond
	// clearLine clears the line of a terminal on which the cursor is.
	clearLine = "\r\x1b[K"
)

func newProgress(w io.Writer, until metasim.Time, every time.Duration) *progress {
	return &progress{w: w, until: until, every: every, done: make(chan struct{})}
}

// A progressSource is the server whose run is shown.
type progressSource interface {
	Time() metasim.Time
	Progress() server.Progress
}

// start begins to show how far a run has come, if it is to be shown.
func (p *progress) start(source progressSource) {
	every, before, after := rewriteEvery, clearLine, ""
	if !canRewrite(p.w) {
		if p.every == 0 {
			return
		}
		every, before, after = p.every, "", "\n"
	}
	p.ended.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		began := time.Now()
		var paused time.Duration
		for {
			select {
			case <-tick.C:
				reached := source.Time()
				if reached == 0 { // waiting for clients is not time of the simulation
					began = time.Now()
				}
				now := source.Progress()
				line := progressLine(reached, p.until, time.Since(began)-now.Paused, now.Paused > paused)
				paused = now.Paused
				p.print(before + line[:min(len(line), columns(p.w)-1)] + after)
			case <-p.done:
				if after == "" {
					p.print(before)
				}
				return
			}
		}
	})
}

// say prints a line above the one that is rewritten.
func (p *progress) say(text string) {
	if canRewrite(p.w) {
		text = clearLine + text
	}
	p.print(text + "\n")
}

func (p *progress) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.w, text)
}

func (p *progress) stop() {
	p.once.Do(func() { close(p.done) })
	p.ended.Wait()
}

// progressLine says how far a run has come: simulated time, percent, real-time factor, and an estimate of the rest.
func progressLine(now, until metasim.Time, elapsed time.Duration, paused bool) string {
	switch now {
	case metasim.Forever:
		return "finishing"
	case 0:
		return "starting"
	}
	line := fmt.Sprintf("%.3f s", now.Seconds())
	if until > 0 {
		line = fmt.Sprintf("%.3f of %.3f s   %3.0f %%", now.Seconds(), until.Seconds(), 100*float64(now)/float64(until))
	}
	if paused {
		return line + "   paused: metasim ctl resume lets it go on"
	}
	line += fmt.Sprintf("   %s x real time", factorText(now.Seconds()/elapsed.Seconds()))
	if now < until {
		rest := time.Duration(float64(elapsed) * float64(until-now) / float64(now))
		line += fmt.Sprintf("   %v to go", rest.Round(100*time.Millisecond))
	}
	return line
}
