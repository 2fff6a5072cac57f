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

	"metasim/analysis/report"
	"metasim/internal/atomicfile"
	"metasim/metasim"
	"metasim/monitor"
	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
	"metasim/wire/transport/secure"
)

// runFlags are the flags of the commands that carry out a scenario.
type runFlags struct {
	scenarioFlags
	how                   run.Options
	live                  liveFlags
	readyFile             string
	json, verbose, report bool
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.scenarioFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.how.Listen, "listen", "", "the `address` to listen at for clients from outside: a path for unix and shm, host:port for tcp, tls and\n"+
		"quic. Where other hosts can reach it tcp becomes tls")
	flags.BoolVar(&f.how.Insecure, "insecure", false, "let --transport tcp listen where other hosts reach it, with nothing encrypted, and a warning at each start")
	flags.StringVar(&f.how.Token, "token", "", "the join `token` that clients must show (default: METASIM_TOKEN, else a random one)")
	flags.StringVar(&f.how.Tokens, "tokens", "", "write a join token for each client that is started elsewhere to this `file`: NAME TOKEN, good for this name and one join\n"+
		"(default: the token for all; where other hosts can join and none is chosen, the file tokens in the run directory)")
	flags.StringVar(&f.how.Out, "out", "", "the run `directory` (default: runs/<name>-<n>)")
	flags.StringVar(&f.Memory, "memory", "", "override how much memory messages may take that were sent and are not handled yet: a `size`, as in 256MiB, or off")
	flags.StringVar(&f.PublicLCM, "lcm", "", "show every message on the public LCM network of this `URL`: udpm://group:port?ttl=N,\n"+
		"tcpq://host:port or file://path; off for none (default: public_lcm of the scenario)")
	flags.StringVar(&f.LCMNames, "lcm-names", "", "the `names` of channels on that network: plain, as they are in the run; or clients, with the sender: CHANNEL@sender\n"+
		"(default: lcm_names of the scenario)")
	flags.StringVar(&f.LCMSubscribers, "lcm-subscribers", "", "begin when this `number` of programs listen to that network (default: lcm_subscribers of the scenario)")
	flags.StringVar(&f.readyFile, "ready-file", "", "write the address for clients from outside to this `file`, once they can join; with --nested that of a scenario\n"+
		"inside which has some to FILE.NAME")
	flags.BoolVar(&f.how.NoTrace, "no-trace", false, "do not ask clients how long they compute: a report on the run cannot show it then")
	flags.BoolVar(&f.how.NoJournal, "no-journal", false, "keep no journal: the digest is all that is left, with nothing to log, replay, diff or report")
	flags.BoolVar(&f.how.Durable, "durable", false, "have the journal reach the disk before its effects reach a client of another process; without it the journal\n"+
		"follows about every 50 ms")
	flags.BoolVar(&f.how.Nested, "nested", false, "give each scenario inside the scenario (model: scenario) a dispatcher of its own, as a run that is nested in this one; the results are the same")
	flags.BoolVar(&f.how.Apart, "nested-processes", false, "as --nested, with each of these dispatchers in a process of its own, so that several cores work at once; with --launch\n"+
		"ssh or slurm it is so anyway, and the process is on the host that placement says")
	flags.BoolVar(&f.how.KeepEnv, "keep-env", false, "record the values of env, which may be secrets; without them, a replay takes them from its own environment")
	flags.BoolVar(&f.report, "report", false, "report on the run at once, as metasim report does, and leave the page report.html in its directory")
	flags.BoolVar(&f.how.Strict, "strict", false, "end the run, as soon as all clients have joined, if a subscription matches no channel, or nobody subscribes to a\n"+
		"channel: without it that is a warning")
	f.live.add(cmd)
	flags.BoolVar(&f.json, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log what happens beside the run")
}

// outcomeHelp explains what is printed at the end of a run.
const outcomeHelp = `The outcome, a line for each client and then for the run:
  exit         left, detached, lost, aborted (the run failed) or absent (it never joined)
  sent         how many messages it published
  delivered    how many messages it was given whose time it has reached
  end          its last activity, in simulated time
  grants       how often it was authorized to go on, which depends on real time
  busy         real time in which it worked
  blocked      real time in which it waited for a grant
  messages     sent: how many all clients published. Then they count once for each recipient: delivered; dropped by a lossy link;
               undelivered, because the run ended or the recipient left before they were due
  traffic      what went over the connections: frames and bytes to the server and from it; how often input woke the server up, and how
               many grants it gave each time. It depends on real time
  memory       which clients had to wait for slower ones because messages took too much memory, and for how long; see --memory
  warning      a link that got more than its bandwidth carries, with its load
  digest       of what every client was given, in order: with equal digests, all were given the same
  sends digest of what every client sent, also what nobody heard
  results digest
               of the results that the clients left with
  run          the directory with the record: metasim log, logs, report, replay and diff read it

Exit status: 0 the run came to its end; 1 it failed, or did not begin; 2 bad usage or a bad scenario.`

func newRun(std streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario",
		Long: "Run a scenario: serve it, start its clients, and print what came of it and the digest that proves it.\n\n" +
			"A scenario file can start programs: run only files that you trust as you would trust a shell script.\n\n" + outcomeHelp,
		Args: beforeDash(exactly(1, "one scenario file")),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, f.how.LaunchOptions = splitAtDash(cmd, args)
			return carryOut(cmd, args[0], &f, false, std)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.how.Pack, "pack", 0, "let this `number` of built-in models that follow one another in the scenario share a process and a connection")
	cmd.Flags().StringVar(&f.how.Transport, "transport", "mem",
		"the `transport`: mem keeps built-in models in this process and gives commands a unix socket;\n"+
			processTransports()+" (shm is memory shared on this host) put every client in a process of its own")
	addLaunch(cmd, &f.how)
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
			"and written to --ready-file when clients can join. Give them METASIM_SERVER, METASIM_CLIENT and METASIM_TOKEN.\n\n" + outcomeHelp,
		Args: exactly(1, "one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error { return carryOut(cmd, args[0], &f, true, std) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.how.Transport, "transport", "unix", "the `transport`: "+processTransports())
	cmd.Flags().StringVar(&f.how.Certificate.Cert, "cert", "", "the certificate that tls and quic show, a PEM `file`, read again when it has changed (default: one made for the run)")
	cmd.Flags().StringVar(&f.how.Certificate.Key, "key", "", "its key, a PEM `file`")
	cmd.Flags().StringVar(&f.how.Certificate.CA, "ca", "", "the authority that has signed it, a PEM `file`: the address pins it, so that --cert may change, and clients have to show\n"+
		"a certificate of it (METASIM_CERT and METASIM_KEY name their files), or one that follows from the join token")
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
	ctx := untilNotice(cmd.Context())
	during, show, done := f.live.openScreen(std)
	o, err := f.options(sc, serve, during)
	if err != nil {
		return f.refused(none, badUsage(err), std)
	}
	if err := o.CheckNested(sc); err != nil {
		return f.refused(none, badUsage(err), std)
	}
	if (o.Nested || o.Apart) && len(sc.Nested) == 0 {
		o.Log.Warn("--nested counts for nothing: the scenario has no scenario inside (model: scenario)")
	}
	o.Command = commandLine(cmd, file)
	if again, err := startedAgain(sc, &o); err != nil {
		return f.refused(none, failed(err), std)
	} else if again != nil {
		return f.watched(o, none, sc.Until, screen{std, during, show, done}, func(o run.Options) (*run.Outcome, error) {
			return takeOver(ctx, again, o)
		})
	}
	o.Idle = idle(sc)
	return f.watched(o, none, sc.Until, screen{std, during, show, done}, func(o run.Options) (*run.Outcome, error) {
		return run.Scenario(ctx, sc, o)
	})
}

// A screen is where a run is shown, and then its outcome.
type screen struct {
	std, during streams
	show        func(*monitor.Monitor)
	done        func()
}

// watched carries out a run, shows it meanwhile, and prints its outcome, or that of none.
func (f *runFlags) watched(o run.Options, none *run.Outcome, until metasim.Time, sc screen, carryOut func(run.Options) (*run.Outcome, error)) error {
	std := sc.std
	progress := newProgress(sc.during.err, until, f.live.kind(sc.show))
	o.Watch = func(s *server.Server) { progress.start(s) }
	o.Live = f.live.options(progress.say, sc.show)
	o.Warn = func(text string) { progress.say("warning: " + text) }
	out, err := carryOut(o)
	progress.stop()
	sc.done()
	if errors.As(err, new(*run.PlacementError)) {
		return f.refused(none, badUsage(err), std)
	}
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
		err = errors.Join(err, reportAtOnce(out, &text, f.json, report.Style{Width: columns(std.out)}))
	}
	if _, e := std.out.Write(text.Bytes()); e != nil {
		err = errors.Join(err, fmt.Errorf("the outcome cannot be printed: %w", e))
	}
	return failed(errors.Join(out.Err, err))
}

// options returns how to carry out the scenario, unless flags contradict one another.
func (f *runFlags) options(sc *scenarios.Scenario, serve bool, std streams) (run.Options, error) {
	printAddress := serve || slices.ContainsFunc(sc.Clients, func(c scenarios.Client) bool { return c.External })
	o := f.how
	if o.Launch == "ssh" && len(o.Hosts) == 0 {
		o.Hosts = sc.Hosts
	}
	if (o.Launch == "ssh" || o.Launch == "slurm") && o.Transport == "mem" {
		o.Transport = "quic" // the default of these launchers
	}
	o.Serve, o.AllowOutside, o.Token = serve, f.AllowOutside, cmp.Or(o.Token, os.Getenv("METASIM_TOKEN"))
	o.Log, o.Ready = newLogger(std.err, f.verbose), f.ready(printAddress, std)
	o.ReadyInside = func(name, url, token, tokens string) error {
		inside := *f
		if inside.readyFile != "" {
			inside.readyFile += "." + name
		}
		fmt.Fprintf(std.err, "for clients from outside in %s:\n", name)
		return inside.ready(true, std)(url, token, tokens)
	}
	if f.how.Token != "" {
		o.Log.Warn("every user of this host can read --token in the list of processes; use METASIM_TOKEN")
	}
	forOutside := "--listen"
	if f.readyFile != "" {
		forOutside = "--ready-file"
	}
	if err := f.live.check(); err != nil {
		return o, err
	}
	switch live := &f.live; {
	case serve && o.Transport == "mem":
		return o, errors.New("no client from outside can reach transport mem; use one of " + processTransports())
	case f.report && o.NoJournal:
		return o, errors.New("a report is made of the journal, and --no-journal leaves that out; use one of --report and --no-journal")
	case (f.readyFile != "" || o.Listen != "") && !o.Outside(sc):
		return o, fmt.Errorf("%s is for clients from outside, and this run has none; leave it out, or use another --transport", forOutside)
	case o.Insecure && (o.Transport != "tcp" || o.Certificate != (secure.Files{})):
		return o, errors.New("--insecure is for --transport tcp without a certificate; leave it out")
	case o.Certificate != (secure.Files{}) && o.Transport != "quic" && o.Transport != "tls" && o.Transport != "tcp":
		return o, errors.New("--cert, --key and --ca are for --transport tls and quic; leave them out, or use one of these")
	case live.Stall < 0:
		return o, fmt.Errorf("--stall is %v; use a duration such as 10s, or 0 for never", live.Stall)
	case live.Outside && live.HTTP == "":
		return o, errors.New("--http-outside says who may see the page of --http, and there is none; use both, or neither")
	}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("this program cannot find its own file: %w", err)
	}
	o.Self = []string{self}
	return o, o.Validate()
}

// ready returns a function that writes the address of the server to the ready file and, for people who start clients by hand,
// to the terminal.
func (f *runFlags) ready(print bool, std streams) func(url, token, tokens string) error {
	return func(url, token, tokens string) error {
		if print {
			fmt.Fprintf(std.err, "METASIM_SERVER=%s\n", url)
			if token != "" {
				fmt.Fprintf(std.err, "METASIM_TOKEN=%s\n", token)
			}
			if tokens != "" {
				fmt.Fprintf(std.err, "METASIM_TOKEN of each client: %s\n", tokens)
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
