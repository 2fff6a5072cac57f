package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metasim/internal/atomicfile"
	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
)

// runFlags are the flags of the commands that carry out a scenario.
type runFlags struct {
	scenarioFlags
	transport, listen, token, out, readyFile string
	pack                                     int
	json, verbose, noTrace, noJournal        bool
	report                                   bool
	live                                     liveFlags
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.scenarioFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "", "the `address` to listen at for clients from outside: a path for unix, host:port for tcp and quic")
	flags.StringVar(&f.token, "token", "", "the join `token` that clients must show (default: METASIM_TOKEN, else a random one)")
	flags.StringVar(&f.out, "out", "", "the run `directory` (default: runs/<name>-<n>)")
	flags.StringVar(&f.lcm, "lcm", "", "show every message on the public LCM network of this `URL`: udpm://group:port?ttl=N,\n"+
		"tcpq://host:port or file://path; off for none (default: public_lcm of the scenario)")
	flags.StringVar(&f.readyFile, "ready-file", "", "write the address for clients from outside to this `file`, once they can join")
	flags.BoolVar(&f.noTrace, "no-trace", false, "do not ask clients how long they compute, which a report on the run would show")
	flags.BoolVar(&f.noJournal, "no-journal", false, "keep no journal: the digest is all that is left, with nothing to log, replay, diff or report")
	flags.BoolVar(&f.report, "report", false, "report on the run at once, as metasim report does, and leave the page report.html in its directory")
	f.live.add(cmd)
	flags.BoolVar(&f.json, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log what happens beside the run")
}

func newRun(std streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario",
		Long: "Run a scenario: serve it, start its clients, and print what came of it and the digest that proves it.\n\n" +
			"A scenario file can start programs: run only files that you trust as you would trust a shell script.",
		Args: exactlyOne("scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error { return carryOut(cmd, args[0], &f, false, std) },
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.pack, "pack", 0, "let so `many` clients of one entry of the scenario share a process and a connection")
	cmd.Flags().StringVar(&f.transport, "transport", "mem",
		"the `transport`: mem keeps built-in models in this process and gives commands a unix socket;\n"+
			processTransports()+" (shm is memory shared on this host) put every client in a process of its own")
	addDefaults(cmd)
	return cmd
}

// processTransports lists the transports between processes.
func processTransports() string { return strings.Join(run.Transports[1:], ", ") }

func newServe(std streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "serve FILE",
		Short: "Serve a scenario to clients that are started elsewhere",
		Long: "Serve a scenario to clients that are started elsewhere, on this host or another. The address is printed,\n" +
			"and written to --ready-file when clients can join. Give them METASIM_SERVER, METASIM_CLIENT and METASIM_TOKEN.",
		Args: exactlyOne("scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error { return carryOut(cmd, args[0], &f, true, std) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.transport, "transport", "unix", "the `transport`: "+processTransports())
	addDefaults(cmd)
	return cmd
}

// carryOut runs a scenario and prints its outcome.
func carryOut(cmd *cobra.Command, file string, f *runFlags, serve bool, std streams) error {
	sc, err := f.load(file, std)
	if err != nil {
		return f.refused(&run.Outcome{}, err, std)
	}
	none := &run.Outcome{Scenario: sc.Name, Seed: sc.Seed}
	during, show, done := f.live.openScreen(std)
	o, err := f.options(sc, serve, during)
	if err != nil {
		return f.refused(none, badUsage(err), std)
	}
	progress := newProgress(during.err, sc.Until, f.live.plainLineEvery(show))
	o.Watch = func(s *server.Server) { progress.start(s) }
	o.Live = f.live.options(progress.say)
	o.Live.Show = show
	out, err := run.Scenario(cmd.Context(), sc, o)
	progress.stop()
	done()
	if err != nil {
		return f.refused(none, failed(err), std)
	}
	var text bytes.Buffer
	if f.json {
		err = printJSON(&text, out)
	} else {
		printOutcome(&text, out)
	}
	if f.report {
		err = errors.Join(err, reportAtOnce(out, &text, f.json, columns(std.out)))
	}
	if _, e := std.out.Write(text.Bytes()); e != nil {
		err = errors.Join(err, fmt.Errorf("the outcome cannot be printed: %w", e))
	}
	return failed(errors.Join(out.Err, err))
}

// options returns how to carry out the scenario.
func (f *runFlags) options(sc *scenarios.Scenario, serve bool, std streams) (run.Options, error) {
	printAddress := serve || slices.ContainsFunc(sc.Clients, func(c scenarios.Client) bool { return c.External })
	o := run.Options{
		Transport: f.transport, Listen: f.listen, Serve: serve, Token: cmp.Or(f.token, os.Getenv("METASIM_TOKEN")), Out: f.out, AllowOutside: f.allowOutside,
		Pack: f.pack, NoTrace: f.noTrace, NoJournal: f.noJournal,
		Log: newLogger(std.err, f.verbose), Ready: f.ready(printAddress, std),
	}
	if serve && o.Transport == "mem" {
		return o, errors.New("no client from outside can reach transport mem; use one of " + processTransports())
	}
	if f.report && f.noJournal {
		return o, errors.New("a report is made of the journal, and --no-journal leaves that out; use one of --report and --no-journal")
	}
	if flag := f.outsideFlag(); flag != "" && !o.Outside(sc) {
		return o, fmt.Errorf("%s is for clients from outside, and this run has none; leave it out, or use another --transport", flag)
	}
	if err := f.live.check(); err != nil {
		return o, err
	}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("this program cannot find its own file: %w", err)
	}
	o.Self = []string{self}
	return o, o.Validate()
}

// outsideFlag names a flag that was given and makes no sense if no client joins from outside; empty if there is none.
func (f *runFlags) outsideFlag() string {
	switch {
	case f.readyFile != "":
		return "--ready-file"
	case f.listen != "":
		return "--listen"
	}
	return ""
}

// ready returns a function that writes the address of the server to the ready file and, for people who start clients by hand,
// to the terminal.
func (f *runFlags) ready(print bool, std streams) func(url, token string) error {
	return func(url, token string) error {
		if print {
			fmt.Fprintf(std.err, "METASIM_SERVER=%s\n", url)
			if token != "" {
				fmt.Fprintf(std.err, "METASIM_TOKEN=%s\n", token)
			}
		}
		if f.readyFile == "" {
			return nil
		}
		if err := atomicfile.Write(f.readyFile, []byte(url+"\n"), 0o600); err != nil {
			return fmt.Errorf("the ready file cannot be written: %w; name a file in a directory that exists", err)
		}
		return nil
	}
}

// refused prints, with --json, an outcome for a run that did not begin.
func (f *runFlags) refused(out *run.Outcome, err error, std streams) error {
	if f.json {
		out.Error, out.Clients = err.Error(), []run.ClientOutcome{}
		if e := printJSON(std.out, out); e != nil {
			return errors.Join(err, e)
		}
	}
	return err
}
