package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/export"
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

// exportLog writes a run into the files that the flags name.
func exportLog(path, client string, f *exportFlags, std streams) (err error) {
	run, err := record.Open(path)
	if err != nil {
		return badUsage(err)
	}
	o := export.Options{Log: f.lcm, MCAP: f.mcap, Types: f.types, Client: client}
	if f.delivered {
		o.Of = export.Delivered
	}
	files, err := export.Open(run, o)
	if err != nil {
		return badUsage(err)
	}
	defer func() {
		if e := files.Discard(); e != nil {
			err = failed(errors.Join(err, e))
		}
	}()
	end, err := files.Write(func(path string, c export.Count) { printCount(std, path, c) })
	switch {
	case err != nil:
		return failed(err)
	case end.Torn != nil:
		return failed(fmt.Errorf("%w; what comes before that was exported", end.Torn))
	case !end.Finished:
		return failed(fmt.Errorf("%s: the journal has no end, because the run was killed or still goes on; what is there was exported", path))
	}
	return nil
}

// printCount says what came of an export.
func printCount(std streams, path string, c export.Count) {
	fmt.Fprintf(std.out, "%s: %d messages, up to %v\n", path, c.Messages, metasim.Time(c.Last))
	if c.Empty > 0 {
		fmt.Fprintf(std.err, "warning: %s: %d messages have an empty payload, which LCM's tools in C read and those in Java skip\n",
			path, c.Empty)
	}
	if c.Undecoded > 0 {
		fmt.Fprintf(std.err, "warning: %s: %d payloads begin like a known type but are not of that type; the file has them as raw bytes only\n",
			path, c.Undecoded)
	}
}
