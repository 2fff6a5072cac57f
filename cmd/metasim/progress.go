package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"metasim/metasim"
	"metasim/server"
)

// A progress shows how far a run has come: on a terminal in one line that is rewritten; elsewhere, where it is wanted, in a
// line now and then.
type progress struct {
	w     io.Writer
	until metasim.Time  // 0: no end
	every time.Duration // between lines where none can be rewritten; 0: there are none
	done  chan struct{}
	gone  sync.WaitGroup
	once  sync.Once
	mu    sync.Mutex // held by who writes
}

// rewritten is how often the line on a terminal is rewritten.
const rewritten = 200 * time.Millisecond

func newProgress(w io.Writer, until metasim.Time, every time.Duration) *progress {
	return &progress{w: w, until: until, every: every, done: make(chan struct{})}
}

// rewrites reports whether lines can be rewritten: a terminal in an editor may know no more than a printer does.
func rewrites(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// A traveller is a run whose progress is shown: a server.
type traveller interface {
	Time() metasim.Time
	Progress() server.Progress
}

// start begins to show how far a run is, if there is somebody to see it.
func (p *progress) start(run traveller) {
	every, before, after := rewritten, "\r\x1b[K", ""
	if !rewrites(p.w) {
		if p.every == 0 {
			return
		}
		every, before, after = p.every, "", "\n"
	}
	p.gone.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		began := time.Now()
		var paused time.Duration
		for {
			select {
			case <-tick.C:
				reached := run.Time()
				if reached == 0 { // still waiting for clients: that is not the simulation's time
					began = time.Now()
				}
				now := run.Progress()
				line := progressLine(reached, p.until, time.Since(began)-now.Paused, now.Paused > paused)
				paused = now.Paused
				p.print(before + clip(line, p.width()) + after)
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
	if rewrites(p.w) {
		text = "\r\x1b[K" + text
	}
	p.print(text + "\n")
}

func (p *progress) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.w, text)
}

func (p *progress) width() int {
	if f, ok := p.w.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 1 {
			return w - 1
		}
	}
	return 79
}

func (p *progress) stop() {
	p.once.Do(func() { close(p.done) })
	p.gone.Wait()
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
	line += fmt.Sprintf("   %s x real time", times(now.Seconds()/elapsed.Seconds()))
	if now < until {
		rest := time.Duration(float64(elapsed) * float64(until-now) / float64(now))
		line += fmt.Sprintf("   %v to go", rest.Round(100*time.Millisecond))
	}
	return line
}

func clip(s string, width int) string {
	if len(s) > width {
		return s[:width]
	}
	return s
}
