package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"metasim/metasim"
)

// A progress shows on a terminal how far a run has come, in one line that is rewritten.
type progress struct {
	w     io.Writer
	until metasim.Time // 0: no end
	done  chan struct{}
	gone  sync.WaitGroup
	once  sync.Once
	mu    sync.Mutex // held by who writes
}

func newProgress(w io.Writer, until metasim.Time) *progress {
	return &progress{w: w, until: until, done: make(chan struct{})}
}

// start begins to show what now says, if there is somebody to see it.
func (p *progress) start(now func() metasim.Time) {
	if !isTerminal(p.w) {
		return
	}
	p.gone.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		began := time.Now()
		for {
			select {
			case <-tick.C:
				reached := now()
				if reached == 0 { // still waiting for clients: that is not the simulation's time
					began = time.Now()
				}
				p.print("\r\x1b[K" + clip(progressLine(reached, p.until, time.Since(began)), p.width()))
			case <-p.done:
				p.print("\r\x1b[K")
				return
			}
		}
	})
}

// say prints a line above the one that is rewritten.
func (p *progress) say(text string) {
	if isTerminal(p.w) {
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
func progressLine(now, until metasim.Time, elapsed time.Duration) string {
	switch now {
	case metasim.Forever:
		return "finishing"
	case 0:
		return "starting"
	}
	factor := now.Seconds() / elapsed.Seconds()
	if until <= 0 {
		return fmt.Sprintf("%.3f s   %s x real time", now.Seconds(), times(factor))
	}
	line := fmt.Sprintf("%.3f of %.3f s   %3.0f %%   %s x real time", now.Seconds(), until.Seconds(),
		100*float64(now)/float64(until), times(factor))
	if now > 0 && now < until {
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
