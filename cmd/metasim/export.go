package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"metasim/internal/atomicfile"
	"metasim/lcm/types"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/export"
	"metasim/record/journal"
)

// exportFlags are the flags of `metasim log` that write a run into files for other programs.
type exportFlags struct {
	lcm, mcap       string
	sent, delivered bool
	types           []string
}

func (f *exportFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.lcm, "lcm", "", "write an LCM event log into this `file`, for lcm-logplayer and its like")
	flags.BoolVar(&f.sent, "sent", false, "with --lcm: what was sent, when it was sent (the default)")
	flags.BoolVar(&f.delivered, "delivered", false, "with --lcm: what was delivered, when it was delivered")
	flags.StringVar(&f.mcap, "mcap", "", "write an MCAP `file`, for Foxglove, Lichtblick, PlotJuggler and their like")
	flags.StringArrayVar(&f.types, "types", nil, "with --mcap: also write messages of the types in the .lcm files of this `directory` as JSON; may be repeated")
}

// check tells what does not go together, and whether there is anything to export.
func (f *exportFlags) check(asJSON bool) (wanted bool, err error) {
	switch {
	case (f.sent || f.delivered) && f.lcm == "":
		err = errors.New("--sent and --delivered say what an event log has; use them with --lcm FILE")
	case f.sent && f.delivered:
		err = errors.New("an event log has either what was sent or what was delivered; use --sent or --delivered")
	case len(f.types) > 0 && f.mcap == "":
		err = errors.New("--types says what an MCAP file has as JSON; use it with --mcap FILE")
	case asJSON && (f.lcm != "" || f.mcap != ""):
		err = errors.New("--json prints the messages, --lcm and --mcap write them into files; use one or the other")
	case f.lcm != "" && filepath.Clean(f.lcm) == filepath.Clean(f.mcap):
		err = fmt.Errorf("--lcm and --mcap both name %s; use two files", f.lcm)
	}
	return f.lcm != "" || f.mcap != "", err
}

// A sink is an export, and the file that it goes into.
type sink struct {
	file *atomicfile.File
	export.Sink
}

// exportLog writes a run into the files that the flags name.
func exportLog(path, client string, f *exportFlags, std streams) (err error) {
	run, err := record.Open(path)
	if err != nil {
		return badUsage(err)
	}
	r, err := run.OpenJournal()
	if err != nil {
		return badUsage(err)
	}
	defer func() { _ = r.Close() }() // a file that was only read
	m := run.Manifest
	sinks, err := f.open(run.Dir, m, client)
	defer func() {
		for _, s := range sinks {
			if e := s.file.Discard(); e != nil {
				err = failed(errors.Join(err, e))
			}
		}
	}()
	if err != nil {
		return badUsage(err)
	}
	end, err := export.Walk(m.Clients, r, func(o *export.Occurrence) error {
		for _, s := range sinks {
			if err := s.Write(o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return failed(err)
	}
	for _, s := range sinks {
		if err := errors.Join(s.Close(), s.file.Commit()); err != nil {
			return failed(err)
		}
		printCount(std, s.file.Path(), s.Count())
	}
	switch {
	case end.Torn != nil:
		return failed(fmt.Errorf("%w; what comes before that was exported", end.Torn))
	case !end.Finished:
		return failed(fmt.Errorf("%s: the journal has no end, as the run was killed or still goes on; what is there was exported", path))
	}
	return nil
}

// open begins the exports. What it has opened it returns even if it fails.
func (f *exportFlags) open(dir journal.Dir, m *journal.Manifest, client string) (sinks []sink, err error) {
	var set *types.Set
	if len(f.types) > 0 {
		if set, err = types.Load(f.types...); err != nil {
			return nil, err
		}
	}
	of := export.Sent
	if f.delivered {
		of = export.Delivered
	}
	for _, e := range []struct {
		path  string
		begin func(*atomicfile.File) (export.Sink, error)
	}{
		{f.lcm, func(file *atomicfile.File) (export.Sink, error) {
			return export.NewLog(file, m.Clients, export.LogOptions{Of: of, Client: client})
		}},
		{f.mcap, func(file *atomicfile.File) (export.Sink, error) {
			return export.NewMCAP(file, m.Clients, export.MCAPOptions{Client: client, Types: set, About: about(m)})
		}},
	} {
		if e.path == "" {
			continue
		}
		file, err := createFile(e.path, dir.Path())
		if err != nil {
			return sinks, err
		}
		s, err := e.begin(file)
		sinks = append(sinks, sink{file: file, Sink: s})
		if err != nil {
			return sinks, err
		}
	}
	return sinks, nil
}

// about is what an MCAP file says of a run: what each repetition has in common.
func about(m *journal.Manifest) map[string]string {
	return map[string]string{
		"scenario": m.Scenario,
		"seed":     strconv.FormatUint(m.Seed, 10),
		"until_ns": strconv.FormatInt(int64(m.Until), 10),
		"digest":   m.Digest,
	}
}

// printCount says what came of an export.
func printCount(std streams, path string, c export.Count) {
	fmt.Fprintf(std.out, "%s: %d messages, up to %v\n", path, c.Messages, metasim.Time(c.Last))
	if c.Empty > 0 {
		fmt.Fprintf(std.err, "warning: %s: %d messages have an empty payload, which LCM's tools in C read and those in Java pass over\n",
			path, c.Empty)
	}
	if c.Undecoded > 0 {
		fmt.Fprintf(std.err, "warning: %s: %d payloads begin as a known type does and are none; they are there as raw bytes only\n",
			path, c.Undecoded)
	}
}
