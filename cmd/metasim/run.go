package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

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
	flags.StringVar(&f.readyFile, "ready-file", "", "write the address for clients from outside to this `file`, once they can join")
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
	cmd.Flags().IntVar(&f.how.Pack, "pack", 0, "let this `number` of clients of one entry of the scenario share a process and a connection")
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

// shownClients is how many clients the table shows; --json has them all.
const shownClients = 40

// printOutcome prints a table of the clients, and the digest.
func printOutcome(w *bytes.Buffer, o *run.Outcome) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.DiscardEmptyColumns)
	fmt.Fprintf(t, "client\texit\tsent\tdelivered\tend\tgrants\tbusy\tblocked\t\n")
	for _, c := range o.Clients[:min(len(o.Clients), shownClients)] {
		end := metasim.Instant{Time: metasim.Time(c.EndNS), Step: c.EndStep}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%v\t%d\t%s\t%s\t\n", c.Name, c.Exit, c.Sent, c.Delivered, end, c.Grants,
			secondsText(c.BusyS), secondsText(c.BlockedS))
	}
	_ = t.Flush() // writing to memory does not fail
	if more := len(o.Clients) - shownClients; more > 0 {
		fmt.Fprintf(w, "... and %d more: see --json\n", more)
	}
	printResults(w, o)
	factor := ""
	if o.WallS > 0 {
		factor = ", " + factorText(float64(o.EndNS)/1e9/o.WallS) + " times real time"
	}
	fmt.Fprintf(w, "\n%s: %v of simulated time in %s%s\n", o.Scenario, metasim.Time(o.EndNS), secondsText(o.WallS), factor)
	m := o.Messages
	fmt.Fprintf(w, "messages: %d sent, %d delivered, %d dropped, %d undelivered\n", m.Sent, m.Delivered, m.Dropped, m.Undelivered)
	fmt.Fprintf(w, "traffic: %d frames in (%s), %d out (%s), %d wake-ups with %s grants each\n", o.FramesIn, bytesText(o.BytesIn),
		o.FramesOut, bytesText(o.BytesOut), o.Wakeups, grantsEach(o))
	printWarnings(w, o)
	printMemory(w, o)
	if l := o.LCM; l != nil {
		fmt.Fprintf(w, "public LCM: %d messages with their companions, %d dropped; %d went out on %s, %d failed\n",
			l.Shown, l.Dropped+l.Refused, l.Sent, l.URL, l.Failed)
		if l.Unheard > 0 {
			fmt.Fprintf(w, "no program had subscribed to %d of these: start it before the run, and let lcm_subscribers wait for it\n", l.Unheard)
		}
		if l.Overflow > 0 {
			fmt.Fprintf(w, "programs that listen lost %d datagrams: their receive buffers were full; %s\n", l.Overflow, l.Remedy)
		}
	}
	switch {
	case len(o.Live) > 0:
		fmt.Fprintf(w, "deterministic: no, %s took part in real time\n", strings.Join(o.Live, ", "))
	case !o.Deterministic:
		fmt.Fprintf(w, "deterministic: no, a client was cut off\n")
	}
	printDigests(w, o.Digest, o.SendsDigest, o.ResultsDigest)
	fmt.Fprintf(w, "run: %s\n", o.RunDir)
	if o.Resumable {
		fmt.Fprintf(w, "it was stopped, and goes on with: metasim resume %s\n", o.RunDir)
	}
}

// printDigests prints what proves a run: of what was delivered, of all that was sent, and of the results.
func printDigests(w io.Writer, deliveries, sends, results string) {
	fmt.Fprintf(w, "digest: %s\nsends digest: %s\nresults digest: %s\n", deliveries, sends, results)
}

// printWarnings prints the warnings, also those that were said when the run began: much may have been printed since.
func printWarnings(w *bytes.Buffer, o *run.Outcome) {
	const most = 5 // of a kind
	kinds := map[string]int{}
	for _, warning := range o.Warnings {
		if kinds[warning.Kind]++; kinds[warning.Kind] <= most {
			fmt.Fprintf(w, "warning: %s\n", warning.Text)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if more := kinds[kind] - most; more > 0 {
			fmt.Fprintf(w, "warning: %d more like these (%s): see --json\n", more, kind)
		}
	}
}

// printMemory prints which clients waited for memory, and whether more was held than the bound allows. It prints nothing if neither
// happened.
func printMemory(w *bytes.Buffer, o *run.Outcome) {
	var waited []string
	for _, c := range o.Clients {
		if c.MemoryS > 0 {
			waited = append(waited, fmt.Sprintf("%s waited %s", c.Name, secondsText(c.MemoryS)))
		}
	}
	more := len(waited) - 3
	if more > 0 {
		waited = append(waited[:3], fmt.Sprintf("%d more waited (see --json)", more))
	}
	if len(waited) > 0 {
		fmt.Fprintf(w, "memory: %s for the slower ones to handle what was sent; at most %s were held, of %s\n", strings.Join(waited, ", "),
			bytesText(uint64(o.HeldBytes)), bytesText(uint64(o.MemoryBytes)))
	}
	if o.MemoryBytes > 0 && o.HeldBytes > o.MemoryBytes {
		fmt.Fprintf(w, "memory: %s had to be on their way at one time, more than the bound of %s; shorten delays, or raise memory\n",
			bytesText(uint64(o.HeldBytes)), bytesText(uint64(o.MemoryBytes)))
	}
}

// printResults prints the results that the models left with.
func printResults(w *bytes.Buffer, o *run.Outcome) {
	withResult := slices.DeleteFunc(slices.Clone(o.Clients), func(c run.ClientOutcome) bool { return len(c.Result) <= len("{}") })
	if len(withResult) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, c := range withResult[:min(len(withResult), shownClients)] {
		var line bytes.Buffer
		if err := json.Compact(&line, c.Result); err != nil {
			line.Reset()
			line.Write(c.Result)
		}
		fmt.Fprintf(w, "%s: %s\n", c.Name, line.Bytes())
	}
}

// grantsEach returns how many grants a wake-up of the server caused, on average.
func grantsEach(o *run.Outcome) string {
	grants := uint64(0)
	for _, c := range o.Clients {
		grants += c.Grants
	}
	return factorText(float64(grants) / float64(max(o.Wakeups, 1)))
}
