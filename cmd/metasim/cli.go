package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"metasim/internal/plain"
	"metasim/internal/problem"
	"metasim/record"
	"metasim/scenarios"
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	raw      io.Writer // out for files: every byte as it is
}

// plain returns streams that escape terminal commands: names and results that others chose cannot act on the terminal.
func (s streams) plain() streams {
	return streams{s.in, &plain.Writer{To: s.out}, &plain.Writer{To: s.err}, s.out}
}

// raw returns the stream below a plain one. Files that are not text use it, and our own commands to the terminal.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*plain.Writer); ok {
		w = p.To
	}
	if o, ok := w.(*outlet); ok {
		return o.File
	}
	return w
}

// A failure ends the program with an exit status of its own.
type failure struct {
	status  int
	err     error
	printed bool // the error has been printed already
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// text is what the person at the terminal reads. Problems of a scenario or of types begin with file:line:column, as
// editors expect.
func (f *failure) text() string {
	var invalid *problem.Invalid
	if errors.As(f.err, &invalid) {
		return invalid.Error()
	}
	return "metasim: " + f.err.Error()
}

// interrupted is the error of a run that a signal stopped.
type interrupted struct{ signal os.Signal }

func (e interrupted) Error() string { return "stopped by signal: " + e.signal.String() }

// failed is the failure of a command that was used well; nil if there is no error.
func failed(err error) error { return withStatus(1, err) }

// badUsage is the failure of a command whose arguments or files are wrong; nil if there is no error.
func badUsage(err error) error { return withStatus(2, err) }

// asRecorded is the exit status of a command that has nothing to say against a run as far as there is a record: it ends before the run did.
const asRecorded = 3

// unread is the failure of a command that could not read the whole of a recorded run; nil if there is no error.
func unread(err error) error {
	switch {
	case record.IsBeginning(err):
		return withStatus(asRecorded, err)
	case record.IsMissing(err):
		return badUsage(err)
	}
	return failed(err)
}

func withStatus(status int, err error) error {
	if err == nil {
		return nil
	}
	return &failure{status: status, err: err}
}

// scenarioFlags are the flags of every command that loads a scenario: what replaces its values.
type scenarioFlags struct{ scenarios.Overrides }

func (f *scenarioFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.Set, "set", nil, "override a value: `path=value`, as in clients.pinger.with.rounds=3 or links[0].delay=50ms; may be repeated")
	flags.StringVar(&f.Seed, "seed", "", "override the seed: a whole `number`")
	flags.StringVar(&f.Until, "until", "", "override the end of the run: a `duration`, as in 2s")
	flags.BoolVar(&f.AllowOutside, "allow-outside", false, "let file parameters reach outside of the scenario's directory")
}

// load loads a scenario and prints its warnings.
func (f *scenarioFlags) load(file string, std streams) (*scenarios.Scenario, error) {
	sc, warnings, err := scenarios.Load(file, f.Overrides)
	printEach(std.err, "warning", warnings)
	return sc, badUsage(err)
}

// exactly checks the number of a command's arguments, which are named as in "one scenario file".
func exactly(n int, what string) cobra.PositionalArgs { return between(n, n, what) }

// between checks it for a command that can do without some.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			given := "none"
			if len(args) > 0 {
				given = fmt.Sprintf("%q", args)
			}
			if len(args) > most && cmd.HasSubCommands() {
				cmd.SuggestionsMinimumDistance = 2
				if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
					return fmt.Errorf("%s takes %s, but was given %s; did you mean %s %s?", cmd.Name(), what, given, cmd.CommandPath(), near[0])
				}
			}
			return fmt.Errorf("%s takes %s, but was given %s; %s", cmd.Name(), what, given, strayValue(cmd, args, "see "+cmd.CommandPath()+" --help"))
		}
		return nil
	}
}

// nothing checks that a command has no arguments.
func nothing(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but was given %q; %s", cmd.Name(), args, strayValue(cmd, args, "leave them out"))
	}
	return nil
}

// strayValue returns the remedy for an argument too many: it may be the value of a flag that takes one only after an equals sign.
func strayValue(cmd *cobra.Command, args []string, remedy string) string {
	var given []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" {
			given = append(given, "--"+f.Name)
		}
	})
	for _, arg := range args {
		if _, err := strconv.ParseBool(arg); err == nil && len(given) > 0 {
			return fmt.Sprintf("if %s is the value of %s, write it behind an equals sign, as in %s=%[1]s", arg, strings.Join(given, " or "), given[0])
		}
	}
	return remedy
}

// unknownCommand names the commands that may have been meant.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("there is no command %q; see %s --help", args[0], root.CommandPath())
}

// parseCause matches the end of an error of the flag package that names a Go function.
var parseCause = regexp.MustCompile(`: (?:strconv\.\w+: parsing .*: |parsing .*: )`)

// badFlag says what is wrong with a flag, and where to look.
func badFlag(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%s; see %s --help", parseCause.ReplaceAllString(err.Error(), ": "), cmd.CommandPath())
}

// newLogger returns a logger: in colour on a terminal, in logfmt elsewhere.
func newLogger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	if isTerminal(w) {
		return slog.New(tint.NewTextHandler(raw(w), &tint.Options{Level: level, TimeFormat: "15:04:05.000"}))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func isTerminal(w io.Writer) bool {
	f, ok := raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// canRewrite reports whether a line can be written over: a dumb terminal, as in an editor, cannot.
func canRewrite(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// hasColor reports whether a terminal shows colours, and its user wants any: see no-color.org.
func hasColor(w io.Writer) bool { return canRewrite(w) && os.Getenv("NO_COLOR") == "" }

// columns returns how wide a terminal is; 80 for anything else.
func columns(w io.Writer) int {
	if f, ok := raw(w).(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// printEach prints remarks of one kind, one a line.
func printEach[T any](w io.Writer, kind string, remarks []T) {
	for _, r := range remarks {
		fmt.Fprintf(w, "%s: %s\n", kind, plain.Text(fmt.Sprint(r)))
	}
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// bytesText writes a number of bytes with three significant digits.
func bytesText(n uint64) string {
	switch f := float64(n); {
	case f >= 1e9:
		return factorText(f/1e9) + " GB"
	case f >= 1e6:
		return factorText(f/1e6) + " MB"
	case f >= 1e3:
		return factorText(f/1e3) + " kB"
	}
	return fmt.Sprintf("%d B", n)
}

// factorText writes a factor with three significant digits, and never as 3e+03.
func factorText(factor float64) string {
	if factor >= 100 {
		return fmt.Sprintf("%.0f", factor)
	}
	return fmt.Sprintf("%.3g", factor)
}

// secondsText writes a wall-clock time with three significant digits.
func secondsText(s float64) string {
	d := time.Duration(s * 1e9)
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

// commandLine is the command as it could be typed again, without what is secret: the token, and values of the environment of clients.
func commandLine(cmd *cobra.Command, args ...string) []string {
	line := append(strings.Fields(cmd.CommandPath()), args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if path, _, ok := strings.Cut(value, "="); ok && strings.Contains(path, "env") {
				value = path + "=***"
			}
			if f.Name == "token" {
				value = "***"
			}
			line = append(line, "--"+f.Name+"="+value)
		}
	})
	return line
}
