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

	"metasim/monitor"
	"metasim/monitor/tui"
	"metasim/run"
)

// liveFlags say how a run can be watched while it goes on.
type liveFlags struct {
	run.Live
	tui      bool
	progress string
}

func (f *liveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.HTTP, "http", "", "show the run on a page, and to Prometheus at /metrics, at this `address`: host:port, or :port for this host\n"+
		"alone. The page's whole address is printed: what follows # lets it command the run")
	flags.StringVar(&f.progress, "progress", "auto", "`how` to show on the standard error how far the run is: auto writes one line over and over on a terminal, and\n"+
		"nothing elsewhere; plain and json write a line now and then, also into a pipe or a file; none writes nothing")
	flags.BoolVar(&f.tui, "tui", false, "show the run on the terminal, with keys to pause it, step it and end it; where there is no terminal: a plain line\nnow and then")
	flags.BoolVar(&f.Outside, "http-outside", false, "let --http be an address that other hosts reach, over TLS and with a password, which a file in the run directory holds\n(or METASIM_HTTP_TOKEN)")
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
