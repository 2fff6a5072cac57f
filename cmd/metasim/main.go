// Command metasim runs several simulators, each in its own process, as one deterministic simulation.
//
// Exit status: 0 done, 1 the run failed, 2 bad usage or a bad scenario.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"metasim/lcm/types"
	"metasim/run"
	"metasim/scenarios"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		cancel(interrupted{<-signals})
		// Processes are being ended meanwhile: a second Ctrl-C would leave them behind, so it counts only after a time in
		// which they should be gone.
		time.AfterFunc(cleanupTime, func() { signal.Stop(signals) })
	}()
	os.Exit(execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// cleanupTime is how long a program that was told to stop may take to end what it has started.
const cleanupTime = 6 * time.Second

// interrupted is why a run fails that is stopped from outside.
type interrupted struct{ signal os.Signal }

func (e interrupted) Error() string { return "stopped by signal: " + e.signal.String() }

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// A failure ends the program with a status of its own. Said means that its text has been printed.
type failure struct {
	status int
	err    error
	said   bool
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// text is what the person at the terminal reads. Problems of a scenario or of types begin with file:line:column, as
// editors expect.
func (f *failure) text() string {
	var invalid *scenarios.Invalid
	if errors.As(f.err, &invalid) {
		return invalid.Error()
	}
	var badTypes *types.Invalid
	if errors.As(f.err, &badTypes) {
		return badTypes.Error()
	}
	return "metasim: " + run.Sentence(f.err)
}

func failed(err error) error { return &failure{status: 1, err: err} }

// execute runs one command line and returns the exit status.
func execute(ctx context.Context, args []string, std streams) int {
	root := newRoot(std)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{status: 2, err: err} // cobra's own: an unknown flag or command
	}
	if !f.said {
		fmt.Fprintln(std.err, f.text())
	}
	return f.status
}

func newRoot(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "metasim",
		Short:         "Run several simulators as one deterministic simulation",
		Long:          "metasim runs several simulators, each in its own process, as one deterministic simulation,\nas fast as the delays between them allow.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       run.BuildVersion(),
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.Flags().Bool("version", false, "print the version") // without a -v, which means verbose elsewhere
	root.SetVersionTemplate("metasim {{.Version}}\n")
	root.SetFlagErrorFunc(badFlag)
	root.Args = unknownCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.AddCommand(newRun(std), newServe(std), newClient(std), newValidate(std), newSchema(std), newLog(std), newLCM(std), newVerify(std), newReplay(std), newDiff(std), newReport(std), newBench(std), newWhy(std), newCtl(std), newVersion(std), newDemo(std))
	return root
}

// newLogger returns a logger for people on a terminal, and for machines elsewhere.
func newLogger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	if isTerminal(w) {
		return slog.New(tint.NewHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000"}))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// scenarioFlags are the flags of every command that loads a scenario.
type scenarioFlags struct {
	set          []string
	seed         string
	until        string
	allowOutside bool
	lcm          string // of the commands that run a scenario once
}

func (f *scenarioFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "override a value: `path=value`, as in clients.pinger.with.rounds=3 or links[0].delay=50ms; may be repeated")
	flags.StringVar(&f.seed, "seed", "", "override the seed: a whole `number`")
	flags.StringVar(&f.until, "until", "", "override the end of the run: a `duration`, as in 2s")
	flags.BoolVar(&f.allowOutside, "allow-outside", false, "let file parameters reach outside of the scenario's directory")
}

// load loads a scenario and prints its warnings.
func (f *scenarioFlags) load(file string, std streams) (*scenarios.Scenario, error) {
	sc, warnings, err := scenarios.Load(file, f.overrides())
	for _, w := range warnings {
		fmt.Fprintf(std.err, "warning: %s\n", w)
	}
	if err != nil {
		return nil, &failure{status: 2, err: err}
	}
	return sc, nil
}
