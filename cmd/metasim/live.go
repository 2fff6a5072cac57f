package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"metasim/metasim"
	"metasim/monitor"
	"metasim/monitor/tui"
	"metasim/run"
	"metasim/server"
)

// liveFlags say how a run can be watched while it goes on.
type liveFlags struct {
	run.Live
	tui bool
}

func (f *liveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.HTTP, "http", "", "show the run on a page, and to Prometheus at /metrics, at this `address`: host:port, or :port for this host\n"+
		"alone. The page's whole address is printed: what follows # lets it command the run")
	flags.BoolVar(&f.tui, "tui", false, "show the run on the terminal, with keys to pause it, step it and end it; where there is no terminal: a plain line\nnow and then")
	flags.BoolVar(&f.Outside, "http-outside", false, "let --http be an address that other hosts reach; they need the token, and nothing is encrypted")
	flags.DurationVar(&f.Stall, "stall", 10*time.Second, "say why, when no client has said anything for this `duration` of real time, and again after twice as\n"+
		"long; 0 for never. No client is ended because of it")
}

// options returns how the run can be watched; say prints a line for the person who started it.
func (f *liveFlags) options(say func(text string), show func(*monitor.Monitor)) *run.Live {
	live := f.Live
	live.Token, live.Say, live.Show = os.Getenv("METASIM_HTTP_TOKEN"), say, show
	live.Shown = func(url string) { say("live: " + url) }
	return &live
}

// openScreen prepares to show the run on the terminal, if that is wanted and there is one: what is written to the standard
// error during the run is collected and shown there, and written when done is called.
func (f *liveFlags) openScreen(std streams) (during streams, show func(*monitor.Monitor), done func()) {
	screen, keys := std.err, std.in
	in, ok := keys.(*os.File)
	if !f.tui || !canRewrite(screen) || !ok || !term.IsTerminal(int(in.Fd())) {
		return std, nil, func() {}
	}
	c := &collector{}
	std.err = c
	show = func(m *monitor.Monitor) {
		// Not the context of the command: a signal ends the run first, and the end of the run ends this.
		if err := tui.Show(context.Background(), m, c.lines, keys, raw(screen)); err != nil {
			fmt.Fprintf(c, "the run cannot be shown on this terminal: %v\n", err)
		}
	}
	return std, show, func() { c.release(screen) }
}

// plainLineEvery is the time between two plain lines where a screen was asked for and there is no terminal; else 0.
func (f *liveFlags) plainLineEvery(show func(*monitor.Monitor)) time.Duration {
	if f.tui && show == nil {
		return 10 * time.Second
	}
	return 0
}

// A collector collects what is written to it.
type collector struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *collector) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

// lines returns the lines that were written so far.
func (c *collector) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.FieldsFunc(c.text.String(), func(r rune) bool { return r == '\n' })
}

// release writes what was collected.
func (c *collector) release(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.text.WriteTo(w) // an error of the standard error cannot be reported anywhere
}

// A progress shows how far a run has come: on a terminal in one line that is rewritten; elsewhere, if that is wanted, with a
// new line at intervals.
type progress struct {
	w     io.Writer
	until metasim.Time  // 0: no end
	every time.Duration // between lines where none can be rewritten; 0: no lines there
	done  chan struct{} // closed by stop
	ended sync.WaitGroup
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if canRewrite(p.w) {
		fmt.Fprint(raw(p.w), clearLine)
	}
	fmt.Fprintln(p.w, text)
}

func (p *progress) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(raw(p.w), text)
}

func (p *progress) stop() {
	close(p.done)
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
