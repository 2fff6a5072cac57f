package main

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"metasim/internal/plain"
	"metasim/internal/suggest"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/export"
)

func newLog(std streams) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log RUN_DIR",
		Short: "Print every message of a run",
		Long: "Print every message of a run, one line for each recipient, in the order of (due, recipient, delivery); messages\n" +
			"that were lost on the way come last.\n\n" +
			"With --lcm or --mcap: write them into files for other programs instead, in the order of simulated time. The files are\n" +
			"the same, byte for byte, for each repetition of the run.",
		Args: exactly(1, "one run directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch wanted, err := f.check(); {
			case err != nil:
				return badUsage(err)
			case wanted:
				return exportLog(args[0], &f, std)
			}
			return printLog(args[0], &f, std)
		},
	}
	f.add(cmd)
	return cmd
}

// alignedRows is how many rows the columns of a log are aligned over: a long log is not kept to measure it.
const alignedRows = 1 << 13

// printLog prints the messages of a run.
func printLog(path string, f *logFlags, std streams) error {
	run, err := record.Open(path)
	if err != nil {
		return badUsage(err)
	}
	boundMemory(run)
	w := bufio.NewWriter(std.out)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows := 0
	row := func(m *record.Message) error {
		due := "lost"
		if m.Due != nil {
			due = m.Due.String()
		}
		if m.Undelivered {
			due += " (undelivered)"
		}
		fmt.Fprintf(t, "%s\t%v\t%s\t%s\t%s\t%d\t%d\n", due, m.Sent, plain.Text(m.From), plain.Text(m.To), plain.Text(m.Channel), m.Seq, m.Size)
		if rows++; rows%alignedRows == 0 {
			return t.Flush()
		}
		return nil
	}
	if f.json {
		row = func(m *record.Message) error { return printJSON(w, m) }
	} else {
		fmt.Fprintf(t, "due\tsent\tfrom\tto\tchannel\tseq\tsize\n")
	}
	if elsewhere := new(record.ElsewhereError); errors.As(run.Elsewhere(f.Client), &elsewhere) && !elsewhere.Run {
		fmt.Fprintf(std.err, "note: %v; here is only what went between the two runs\n", elsewhere)
	}
	torn, err := export.Messages(run, f.Client, row)
	var e error
	if rows > 0 || err == nil { // there are messages, or it is known that there are none
		e = errors.Join(t.Flush(), w.Flush())
	}
	switch {
	case errors.As(err, new(*record.UnknownClientError)):
		return badUsage(err)
	case err != nil || e != nil:
		return unread(errors.Join(err, e))
	}
	return unread(torn)
}

// boundMemory has the memory of the run, which bounded what was in flight there, bound what it takes to sort that: without it as much again would
// be garbage. Where more was in flight all the same, it takes more, and longer.
func boundMemory(run *record.Run) {
	const least = 128 << 20
	if bound := run.Manifest.Memory; bound > 0 {
		debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), max(least, int64(bound))+int64(len(ballast)))) // which counts, and takes none
	}
}

// logFlags are the flags of `metasim log`: how the messages are printed, or what of the run is written into files for other programs.
type logFlags struct {
	export.Options
	json, sent, delivered bool
	names                 string
}

func (f *logFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line, with the payloads")
	flags.StringVar(&f.Client, "client", "", "only messages from or to the client of this `name`; with --lcm, from it (--sent) or to it (--delivered)")
	flags.StringVar(&f.Log, "lcm", "", "write an LCM event log into this `file`, for lcm-logplayer and similar programs; - is standard output")
	flags.BoolVar(&f.sent, "sent", false, "with --lcm: what was sent, when it was sent (the default)")
	flags.BoolVar(&f.delivered, "delivered", false, "with --lcm: what was delivered, when it was delivered")
	flags.StringVar(&f.names, "lcm-names", "clients", "the `names` of channels, with --lcm --delivered of all clients: clients, as in CHANNEL@sender>recipient; or plain, as in CHANNEL")
	flags.StringVar(&f.MCAP, "mcap", "", "write an MCAP `file`, for Foxglove, Lichtblick, PlotJuggler and similar programs; - is standard output")
	flags.StringArrayVar(&f.Types, "types", nil, "with --mcap: also write messages of the types in the .lcm files of this `directory` as JSON; may be repeated")
}

// check tells what does not go together, and whether there is anything to export.
func (f *logFlags) check() (wanted bool, err error) {
	switch {
	case (f.sent || f.delivered) && f.Log == "":
		err = errors.New("--sent and --delivered say what an event log has; use them with --lcm FILE")
	case f.sent && f.delivered:
		err = errors.New("an event log has either what was sent or what was delivered; use --sent or --delivered")
	case f.names != "clients" && f.names != "plain":
		err = fmt.Errorf("--lcm-names %q is unknown; %s", f.names, suggest.Word(f.names, []string{"clients", "plain"}))
	case len(f.Types) > 0 && f.MCAP == "":
		err = errors.New("--types says what an MCAP file has as JSON; use it with --mcap FILE")
	case f.json && (f.Log != "" || f.MCAP != ""):
		err = errors.New("--json prints the messages, --lcm and --mcap write them into files; use one or the other")
	case f.Log != "" && filepath.Clean(f.Log) == filepath.Clean(f.MCAP):
		err = fmt.Errorf("--lcm and --mcap both name %s; use two files", f.Log)
	}
	return f.Log != "" || f.MCAP != "", err
}

// exportLog writes a run into the files that the flags name.
func exportLog(path string, f *logFlags, std streams) (err error) {
	run, err := record.Open(path)
	if err != nil {
		return badUsage(err)
	}
	boundMemory(run)
	if f.delivered {
		f.Of = export.Delivered
	}
	f.Stdout, f.Plain = std.raw, f.names == "plain"
	files, err := export.Open(run, f.Options)
	if err != nil {
		return badUsage(err) // a client, a file or the journal that is not there
	}
	defer func() {
		if e := files.Discard(); e != nil {
			err = failed(errors.Join(err, e))
		}
	}()
	torn, err := files.Write(func(path string, c export.Count) { printCount(std, path, c) })
	if err == nil && torn != nil {
		err = fmt.Errorf("%w; what there is was exported", torn)
	}
	return unread(err)
}

// printCount says what came of an export.
func printCount(std streams, path string, c export.Count) {
	out := std.out
	if path == export.Standard { // it has the file, and nothing else
		out = std.err
	}
	fmt.Fprintf(out, "%s: %d messages, up to %v\n", path, c.Messages, metasim.Time(c.Last))
	if c.Empty > 0 {
		fmt.Fprintf(std.err, "warning: %s: %d messages have an empty payload, which LCM's tools in C read and those in Java skip\n",
			path, c.Empty)
	}
	if c.Undecoded > 0 {
		fmt.Fprintf(std.err, "warning: %s: %d payloads begin like a known type but are not of that type; the file has them as raw bytes only\n",
			path, c.Undecoded)
	}
}
