package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"metasim/internal/atomicfile"
	"metasim/internal/suggest"
	"metasim/lcm/inspect"
	"metasim/lcm/types"
	"metasim/metasim"
)

func newLCM(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lcm",
		Short: "Look into event logs of LCM, or write one",
		Long: "Look into event logs of LCM, as lcm-logger writes them, or write one. With --types, messages are decoded by .lcm files; a message\n" +
			"tells its type by the first 8 bytes, whatever channel it is on.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLCMInfo(std), newLCMCat(std), newLCMWrite(std))
	return cmd
}

// addTypes adds the flag that names .lcm files.
func addTypes(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVar(paths, "types", nil, "decode by the .lcm files in this `directory` and below; may be repeated")
}

// openLog opens an event log, - for standard input, and loads the types that a flag names.
func openLog(path string, typePaths []string, std streams) (*types.Set, io.ReadCloser, error) {
	known, err := types.Load(typePaths...)
	if err != nil {
		return nil, nil, err
	}
	if path == "-" {
		return known, io.NopCloser(std.in), nil
	}
	log, err := os.Open(path)
	return known, log, err
}

// logFailure is the failure of a command for a log that is damaged; for a file that is no log it is bad usage.
func logFailure(damage error) error {
	var d *inspect.DamageError
	if errors.As(damage, &d) && d.Empty {
		return badUsage(damage)
	}
	return failed(damage)
}

func newLCMInfo(std streams) *cobra.Command {
	var asJSON bool
	var paths []string
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Summarize an event log",
		Long: "Summarize an event log: its span of time, its channels with counts, rates, sizes and types, and what is damaged.\n" +
			"- stands for standard input.",
		Args: exactly(1, "one log"),
		RunE: func(_ *cobra.Command, args []string) error {
			known, log, err := openLog(args[0], paths, std)
			if err != nil {
				return badUsage(err)
			}
			defer func() { _ = log.Close() }() // it was only read
			s, check, err := inspect.Summarize(args[0], log, known)
			if err != nil {
				return badUsage(err)
			}
			damage := logFailure(check.Damage(args[0]))
			switch {
			case check.Events == 0 && damage != nil:
				return damage
			case asJSON:
				err = printJSON(std.out, s)
			default:
				err = s.WriteText(std.out)
			}
			return errors.Join(failed(err), damage)
		},
	}
	addTypes(cmd, &paths)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// catFlags are the flags of `metasim lcm cat`.
type catFlags struct {
	inspect.PrintOptions
	paths       []string
	from, until string
	follow      bool
}

func newLCMCat(std streams) *cobra.Command {
	var f catFlags
	cmd := &cobra.Command{
		Use:   "cat FILE",
		Short: "Print the messages of an event log",
		Long: "Print the messages of an event log, one a line, in the order of the file: seconds, channel, and the message as JSON,\n" +
			"or in hexadecimal digits if it is of no known type. metasim lcm write makes a log of what --json prints. - stands for\n" +
			"standard input.",
		Example: "  metasim lcm cat run.lcmlog --types types --channel 'POSE_.*' --from 10s --until 12s\n" +
			"  metasim lcm cat run.lcmlog --follow",
		Args: exactly(1, "one log"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Context()); err != nil {
				return badUsage(err)
			}
			return f.print(args[0], std)
		},
	}
	addTypes(cmd, &f.paths)
	flags := cmd.Flags()
	flags.StringVar(&f.PrintOptions.Channels, "channel", "", "only the channel of this name, or those that this regular `expression` matches as a whole")
	flags.StringVar(&f.from, "from", "", "only messages from this `time` on: 1.5s after the first one, or 1700000000.5 as it is printed")
	flags.StringVar(&f.until, "until", "", "only messages before this `time`, written as for --from")
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on when the log grows, until interrupted")
	flags.BoolVar(&f.JSON, "json", false, "print one JSON object a line")
	return cmd
}

// check reads the flags.
func (f *catFlags) check(ctx context.Context) error {
	if err := metasim.CheckSubscription(f.PrintOptions.Channels); f.PrintOptions.Channels != "" && err != nil {
		return fmt.Errorf("--channel %q is no channel and no pattern: %w; write it as \"POSE_.*\"", f.PrintOptions.Channels, err)
	}
	var w inspect.Window
	var err error
	if w.From, err = boundOf("--from", f.from); err == nil {
		w.Until, err = boundOf("--until", f.until)
	}
	f.Window = &w
	if f.follow {
		f.Wait = func() bool {
			select {
			case <-ctx.Done():
				return false
			case <-time.After(followEvery):
				return true
			}
		}
	}
	return err
}

// boundOf reads a time: a duration from the first event, or seconds as they are printed.
func boundOf(flag, text string) (b inspect.Bound, err error) {
	if text == "" {
		return b, nil
	}
	b.Set = true
	if d, err := time.ParseDuration(text); err == nil {
		b.Micros, b.Relative = d.Microseconds(), true
		return b, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if math.IsNaN(seconds) || math.Abs(seconds) > 9e12 || err != nil {
		return b, fmt.Errorf("%s %s is no time; write 1.5s for that long after the first message, or seconds as they are printed", flag, text)
	}
	b.Micros = int64(math.Round(seconds * 1e6))
	return b, nil
}

func (f *catFlags) print(path string, std streams) error {
	known, log, err := openLog(path, f.paths, std)
	if err != nil {
		return badUsage(err)
	}
	defer func() { _ = log.Close() }() // it was only read
	w := bufio.NewWriter(std.out)
	f.Types = known
	if wait := f.Wait; wait != nil {
		f.Wait = func() bool { return w.Flush() == nil && wait() }
	}
	p, err := inspect.Print(w, log, f.PrintOptions)
	if flushed := w.Flush(); flushed != nil { // err is the same, if there is one
		return failed(flushed)
	}
	if err != nil {
		return badUsage(err)
	}
	if text := p.Disorder(); text != "" {
		fmt.Fprintf(std.err, "warning: %s\n", text)
	}
	if p.Bad > 0 {
		fmt.Fprintf(std.err, "warning: %d messages have the fingerprint of a type and are none; the first is event %d: %v\n",
			p.Bad, p.FirstBad, p.Why)
	}
	damage := logFailure(p.Damage(path))
	if pattern := f.PrintOptions.Channels; !p.Matched && p.Events > 0 {
		damage = errors.Join(badUsage(fmt.Errorf("%s has no channel %q; %s", path, pattern, suggest.Word(pattern, p.Channels))), damage)
	}
	return damage
}

func newLCMWrite(std streams) *cobra.Command {
	var paths []string
	cmd := &cobra.Command{
		Use:   "write JSON FILE",
		Short: "Write an event log of messages as JSON",
		Long: "Write an event log of messages as JSON, one a line, as metasim lcm cat --json prints them. A line has the message as hex,\n" +
			"or its type and value; --types names the .lcm files of these types. - stands for standard input, and for standard output.",
		Example: "  metasim lcm cat run.lcmlog --types types --json | sed s/base/tip/ | metasim lcm write - tip.lcmlog --types types",
		Args:    exactly(2, "two arguments, a file of JSON and the log"),
		RunE: func(_ *cobra.Command, args []string) error {
			return writeLog(args[0], args[1], paths, std)
		},
	}
	addTypes(cmd, &paths)
	return cmd
}

func writeLog(from, to string, typePaths []string, std streams) (err error) {
	known, err := types.Load(typePaths...)
	if err != nil {
		return badUsage(err)
	}
	lines := std.in
	if from != "-" {
		f, err := os.Open(from)
		if err != nil {
			return badUsage(err)
		}
		defer func() { _ = f.Close() }() // it was only read
		lines = f
	}
	if to == "-" {
		w := bufio.NewWriter(std.raw)
		_, err := inspect.Write(w, lines, known)
		return errors.Join(badUsage(err), failed(w.Flush()))
	}
	f, err := atomicfile.Create(to, 0o666)
	if err != nil {
		return badUsage(err)
	}
	w := bufio.NewWriter(f)
	events, err := inspect.Write(w, lines, known)
	if err != nil {
		return errors.Join(badUsage(fmt.Errorf("%s: %w", from, err)), failed(f.Discard()))
	}
	if err := errors.Join(w.Flush(), f.Commit()); err != nil {
		return failed(err)
	}
	_, err = fmt.Fprintf(std.out, "%s: %d messages\n", to, events)
	return failed(err)
}
