package main

import (
	"github.com/spf13/cobra"

	"metasim/record"
	"metasim/run"
)

func newResume(std streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "resume RUN_DIR",
		Short: "Go on with a run that was cut off, as metasim or its host died",
		Long: "Go on with a run that was cut off: metasim was killed, or its host went down; or a signal has stopped it, or the end of\n" +
			"its hosts, as the time limit of a cluster. What the journal has of the run is done again by the dispatcher alone. Then\n" +
			"the clients that had not left are started again; each is given again what it was given, must send again what it sent,\n" +
			"and takes part from there on. The run ends with the digests of a run that was not cut off. A client from outside that has\n" +
			"survived comes back by itself, to the same address; one that has not, or is written in another\n" +
			"language than Go, has to be started again: the address is printed.\n\n" + outcomeHelp,
		Example: "  metasim resume runs/arm-3",
		Args:    exactly(1, "one run directory"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.resume(cmd, args[0], std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.how.Listen, "listen", "", "the `address` to listen at for clients from outside: a path for unix, host:port for tcp and quic")
	flags.StringVar(&f.how.Token, "token", "", "the join `token` that clients must show (default: METASIM_TOKEN, else a random one)")
	flags.StringVar(&f.readyFile, "ready-file", "", "write the address for clients from outside to this `file`, once they can join")
	flags.BoolVar(&f.how.Durable, "durable", false, "have the journal reach the disk before its effects reach a client of another process; without it the journal\n"+
		"follows about every 50 ms")
	f.live.add(cmd)
	flags.BoolVar(&f.json, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log what happens beside the run")
	addDefaults(cmd)
	return cmd
}

// resume goes on with a run, and prints its outcome.
func (f *runFlags) resume(cmd *cobra.Command, dir string, std streams) error {
	recorded, err := record.OpenToReplay(dir)
	if err != nil {
		return f.refused(&run.Outcome{}, badUsage(err), std)
	}
	sc, err := recorded.Scenario()
	if err != nil {
		return f.refused(&run.Outcome{}, badUsage(err), std)
	}
	ctx := untilNotice(cmd.Context())
	none := &run.Outcome{Scenario: sc.Name, Seed: sc.Seed, RunDir: dir}
	f.how.Transport, f.AllowOutside = recorded.Manifest.Transport, recorded.Manifest.AllowOutside
	during, show, done := f.live.openScreen(std)
	o, err := f.options(sc, recorded.Manifest.Serve, during)
	if err != nil {
		return f.refused(none, badUsage(err), std)
	}
	return f.watched(o, none, sc.Until, screen{std, during, show, done}, func(o run.Options) (*run.Outcome, error) {
		return run.Resume(ctx, recorded, o)
	})
}
