package main

import (
	"bytes"
	"context"
	"errors"
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
	http    string
	outside bool
	stall   time.Duration
	tui     bool
}

func (f *liveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "", "show the run on a page, and to Prometheus at /metrics, at this `address`: host:port, or :port for this host\n"+
		"alone. The page's whole address is printed: what follows # lets it command the run")
	flags.BoolVar(&f.tui, "tui", false, "show the run on the terminal, with keys to pause it, step it and end it; where there is no terminal: a plain line\nnow and then")
	flags.BoolVar(&f.outside, "http-outside", false, "let --http be an address that other hosts reach; they need the token, and nothing is encrypted")
	flags.DurationVar(&f.stall, "stall", 10*time.Second, "say why, when no client has said anything for this `duration` of real time, and again after twice as\n"+
		"long; 0 for never. Nobody is ended for it")
}

// check names what cannot be meant.
func (f *liveFlags) check() error {
	if f.stall < 0 {
		return fmt.Errorf("--stall is %v; use a duration such as 10s, or 0 for never", f.stall)
	}
	if f.outside && f.http == "" {
		return errors.New("--http-outside says who may see the page of --http, and there is none; use both, or neither")
	}
	return nil
}

// options are nil-safe to watch a run by; say prints why it does not go on.
func (f *liveFlags) options(say func(text string)) *run.Live {
	return &run.Live{
		HTTP: f.http, Outside: f.outside, Token: os.Getenv("METASIM_HTTP_TOKEN"), Stall: f.stall, Say: say,
		Shown: func(url string) { say("live: " + url) },
	}
}

// stage prepares a terminal to show the run on, if one is wanted and there is one: what is written to the standard error
// meanwhile is shown there, and written when done is called.
func (f *liveFlags) stage(std streams) (during streams, show func(*monitor.Monitor), done func()) {
	screen, keys := std.err, std.in
	in, ok := keys.(*os.File)
	if !f.tui || !rewrites(screen) || !ok || !term.IsTerminal(int(in.Fd())) {
		return std, nil, func() {}
	}
	h := &held{}
	std.err = h
	show = func(m *monitor.Monitor) {
		// The run's own end ends it: a program that was told to stop ends the run first.
		if err := tui.Show(context.Background(), worded{m}, h.lines, keys, screen); err != nil {
			fmt.Fprintf(h, "the run cannot be shown on this terminal: %v\n", err)
		}
	}
	return std, show, func() { h.release(screen) }
}

// lines is how often there is a plain line instead of the screen that was asked for, where there is no terminal; 0: never.
func (f *liveFlags) lines(show func(*monitor.Monitor)) time.Duration {
	if f.tui && show == nil {
		return 10 * time.Second
	}
	return 0
}

// worded is a monitor that says why not without naming packages.
type worded struct{ *monitor.Monitor }

func (w worded) Control(command, at string) (string, error) {
	done, err := w.Monitor.Control(command, at)
	if err != nil {
		err = errors.New(run.Sentence(err))
	}
	return done, err
}

// held keeps what is written to it.
type held struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *held) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

// lines are those that were written so far.
func (h *held) lines() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.FieldsFunc(h.text.String(), func(r rune) bool { return r == '\n' })
}

// release writes what was held back.
func (h *held) release(w io.Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = h.text.WriteTo(w) // what cannot be written to the standard error cannot be told either
}

// remoteFlags say which run is meant.
type remoteFlags struct{ dir, http string }

func (f *remoteFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "run", "", "the `directory` of the run (default: the one below runs/ that goes on)")
	cmd.Flags().StringVar(&f.http, "http", "", "the `address` of the run's page, as metasim run --http printed it")
	cmd.MarkFlagsMutuallyExclusive("run", "http")
}

func (f *remoteFlags) open() (*monitor.Remote, error) {
	switch {
	case f.http != "":
		return monitor.Dial(f.http, os.Getenv("METASIM_HTTP_TOKEN"))
	case f.dir != "":
		return monitor.Open(f.dir)
	}
	return monitor.Find("runs")
}

func newWhy(std streams) *cobra.Command {
	var f remoteFlags
	cmd := &cobra.Command{
		Use:   "why [CLIENT]",
		Short: "Say why a run, or one of its clients, does not go on",
		Long: "Say why a run, or one of its clients, does not go on: whom it waits for, whom that one waits for, and so on, and what\n" +
			"the last of them does: does it compute, is it asleep in the kernel, stopped, or dead?",
		Example: "  metasim why\n  metasim why robot-3 --run runs/depot-4",
		Args:    oneClient,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.open()
			if err != nil {
				return &failure{status: 2, err: err}
			}
			why, err := r.Why(cmd.Context(), strings.Join(args, ""))
			return tell(std, why, err)
		},
	}
	f.add(cmd)
	return cmd
}

// oneClient takes the name of a client, or nothing.
func oneClient(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("why takes the name of one client, or none for the run as a whole, but was given %q", args)
	}
	return nil
}

func newCtl(std streams) *cobra.Command {
	var f remoteFlags
	cmd := &cobra.Command{
		Use:   "ctl",
		Short: "Pause a run, let it go on, step it, or end it",
		Long: "Pause a run that goes on, let it go on, step it, or end it. What it computes is the same: its digest does not change.\n\n" +
			"A pause takes hold where clients must wait: one that nobody can reach may have been authorized far ahead.",
		Args: unknownControl,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	about := map[string]string{
		"pause":  "Authorize nobody any further",
		"resume": "Let a paused run go on",
		"step":   "Let everything happen at the next time, and pause there",
		"until":  "Let everything before a simulated time happen, and pause there",
		"quit":   "End the run: it counts as failed, and what happened so far is kept",
	}
	for _, name := range monitor.Commands {
		sub := &cobra.Command{Use: name, Short: about[name], Args: nothing}
		if name == "until" {
			sub.Use, sub.Args = "until TIME", exactlyOne("time, as in 1.5s")
		}
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			r, err := f.open()
			if err != nil {
				return &failure{status: 2, err: err}
			}
			done, err := r.Control(cmd.Context(), name, strings.Join(args, ""))
			return tell(std, done, err)
		}
		f.add(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// unknownControl says which commands there are.
func unknownControl(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("a run cannot be told to %q; use one of %s", args[0], strings.Join(monitor.Commands, ", "))
}

// tell prints an answer of a run.
func tell(std streams, text string, err error) error {
	if err == nil {
		_, err = fmt.Fprintln(std.out, text)
	}
	if err != nil {
		return failed(err)
	}
	return nil
}
