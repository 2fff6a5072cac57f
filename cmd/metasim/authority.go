package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metasim/federates/authority"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

// authorityDemo has the flags of metasim authority demo.
type authorityDemo struct {
	number, hops         int
	rule, answer         string
	seed, transport, out string
	delay                string
	json                 bool
}

// The clients of the demo, and what is handed over.
const (
	oneServer   = "sim-a"
	otherServer = "sim-b"
	masterOf    = "master"
	demoEntity  = "ball"
	maxDemoHops = 64
)

// An authorityOutcome is what metasim authority demo --json prints.
type authorityOutcome struct {
	OK          bool             `json:"ok"`
	Error       string           `json:"error"`
	Case        int              `json:"case"`
	Messages    int              `json:"messages"`
	Hops        int              `json:"hops"` // the sum of what the envelopes travelled
	LatencyNS   int64            `json:"latency_ns"`
	OwnerBefore string           `json:"owner_before"`
	OwnerAfter  string           `json:"owner_after"`
	Effective   *record.Instant  `json:"effective"` // null: the owner is the same
	Refused     string           `json:"refused,omitempty"`
	Trace       []authorityTrace `json:"trace"`
	Digest      string           `json:"digest"`
	RunDir      string           `json:"run_dir"`
	err         error
}

// An authorityTrace is one message between two servers.
type authorityTrace struct {
	From string          `json:"from"`
	To   string          `json:"to"`
	Kind transfer.Kind   `json:"kind"`
	Sent record.Instant  `json:"sent"`
	Due  *record.Instant `json:"due"`
}

func newAuthority(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "authority",
		Short: "Who may change an entity, and how it is handed over",
		Long: "An entity has one owner, the simulation server that computes its state, and one master, whose rule says who may become the owner.\n" +
			"The models homeserver and simserver do so in any scenario; serve is a homeserver of its own.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuthorityDemo(std), newAuthorityShow(std), newAuthorityServe(std), newAuthorityExport(std), newAuthorityImport(std), newAuthoritySimserver(std),
		newAuthorityList(std), newAuthorityTake(std), newAuthorityGive(std), newAuthorityRule(std), newAuthorityAnswer(std))
	return cmd
}

func newAuthorityDemo(std streams) *cobra.Command {
	var d authorityDemo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Hand an entity over between two simulation servers, and count the messages",
		Long: "Hand an entity over between two simulation servers, and print each message with when it was sent and received.\n\n" +
			"Case 1: the servers have different homeservers, so many hops apart; the owner gives the entity away (3 + 2 hops messages).\n" +
			"Case 2: they have the same homeserver; the other server takes the entity (3 messages).\n" +
			"Case 3: the owner hands over directly (2 messages).\n\n" +
			"With --rule ask the master is a server of its own: its word takes 2 messages more. With --rule deny the entity stays.\n" +
			"--hops counts in case 1 only.\n\n" +
			"It is a run as any other, in the directory of --out: metasim log, report, replay and diff read it.",
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.carryOut(cmd, std) },
	}
	flags := cmd.Flags()
	flags.IntVar(&d.number, "case", 1, "which `case`: 1, 2 or 3")
	flags.IntVar(&d.hops, "hops", 1, "the `number` of hops from one homeserver to the other, in case 1; the others have no such hops")
	flags.StringVar(&d.rule, "rule", string(transfer.Allow), "what the master's `rule` is: deny, ask or allow")
	flags.StringVar(&d.answer, "answer", "yes", "what the master says when it is asked: yes, no or never")
	flags.StringVar(&d.delay, "delay", "10ms", "how long each hop takes, in simulated `time`")
	flags.StringVar(&d.seed, "seed", "1", "the seed of the run: a whole `number`")
	flags.StringVar(&d.transport, "transport", "mem", "where the servers run: mem, in this process; "+processTransports()+", in processes of their own, over this transport")
	flags.StringVar(&d.out, "out", "", "put the run into this `directory` (default: one below the directory for temporary files)")
	flags.BoolVar(&d.json, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
	return cmd
}

func (d *authorityDemo) carryOut(cmd *cobra.Command, std streams) error {
	out, err := d.run(cmd, std)
	if out == nil {
		out = &authorityOutcome{Error: err.Error(), Case: d.number, Trace: []authorityTrace{}}
	} else if err == nil {
		err = failed(out.err)
	}
	if d.json {
		return errors.Join(err, printJSON(std.out, out))
	}
	if out.OK {
		out.print(std)
	}
	return err
}

// check says which flag is wrong.
func (d *authorityDemo) check(cmd *cobra.Command) error {
	switch {
	case d.number < 1 || d.number > 3:
		return fmt.Errorf("--case is %d; use 1, 2 or 3", d.number)
	case d.hops < 1 || d.hops > maxDemoHops:
		return fmt.Errorf("--hops is %d; use 1 to %d", d.hops, maxDemoHops)
	case !slices.Contains([]string{"deny", "ask", "allow"}, d.rule):
		return fmt.Errorf("--rule is %q; use deny, ask or allow", d.rule)
	case !slices.Contains([]string{"yes", "no", "never"}, d.answer):
		return fmt.Errorf("--answer is %q; use yes, no or never", d.answer)
	case !slices.Contains(run.Transports, d.transport):
		return fmt.Errorf("--transport is %q; use %s", d.transport, strings.Join(run.Transports, ", "))
	}
	return nil
}

// run carries the demo out, and returns no outcome where there was no run.
func (d *authorityDemo) run(cmd *cobra.Command, std streams) (*authorityOutcome, error) {
	if err := d.check(cmd); err != nil {
		return nil, badUsage(err)
	}
	if d.number != 1 && cmd.Flags().Changed("hops") {
		fmt.Fprintf(std.err, "--hops changes nothing in case %d: it counts the hops between two homeservers, which only case 1 has\n", d.number)
	}
	text, err := json.MarshalIndent(d.scenario(), "", "  ") // JSON is YAML
	if err != nil {
		return nil, err
	}
	sc, _, err := scenarios.Parse("the demo", text, scenarios.Overrides{Seed: d.seed})
	if err != nil {
		return nil, badUsage(err)
	}
	self, err := os.Executable()
	if err == nil && d.out == "" {
		d.out, err = os.MkdirTemp("", "metasim-authority-")
		d.out = filepath.Join(d.out, "run")
	}
	if err != nil {
		return nil, failed(err)
	}
	done, err := run.Scenario(cmd.Context(), sc, run.Options{Transport: d.transport, Out: d.out, Self: []string{self}, Log: newLogger(std.err, false), Command: commandLine(cmd)})
	if err != nil {
		return nil, failed(err)
	}
	out, err := d.outcome(done)
	return out, failed(err)
}

// scenario is the scenario of a case.
func (d *authorityDemo) scenario() map[string]any {
	one, other := map[string]any{"neighbours": []string{otherServer}}, map[string]any{"neighbours": []string{oneServer}}
	clients := []map[string]any{{"name": oneServer, "model": "simserver", "with": one}, {"name": otherServer, "model": "simserver", "with": other}}
	add := func(name, model string, with map[string]any) {
		clients = append(clients, map[string]any{"name": name, "model": model, "with": with})
	}
	last := map[string]any{"entities": []string{demoEntity}, "rule": d.rule, "neighbours": []string{otherServer}}
	switch d.number {
	case 1:
		one["home"], one["give"], one["to"], one["entities"] = "home-a", demoEntity, otherServer, []string{demoEntity}
		other["home"] = "home-b"
		way := []string{"home-a"}
		for i := 1; i < d.hops; i++ {
			way = append(way, fmt.Sprintf("hop-%02d", i))
		}
		way = append(way, "home-b")
		for i, name := range way[:len(way)-1] {
			near := []string{way[i+1]}
			if i > 0 {
				near = append(near, way[i-1])
			} else {
				near = append(near, oneServer)
			}
			add(name, "homeserver", map[string]any{"neighbours": near, "path": way[i+1:]})
		}
		last["owner"], last["neighbours"] = oneServer, []string{otherServer, way[len(way)-2]}
		d.addMaster(last, add)
		add("home-b", "homeserver", last)
	case 2:
		one["home"], one["take"] = "home", demoEntity
		other["home"], other["entities"] = "home", []string{demoEntity}
		last["owner"], last["neighbours"] = otherServer, []string{oneServer, otherServer}
		d.addMaster(last, add)
		add("home", "homeserver", last)
	case 3:
		one["give"], one["to"], one["entities"] = demoEntity, otherServer, []string{demoEntity}
		if d.rule == string(transfer.Allow) {
			break
		}
		one["rule"], one["asks"] = d.rule, masterOf
		add(masterOf, "simserver", map[string]any{"neighbours": []string{oneServer}, "answers": d.answer})
	}
	return map[string]any{"name": "authority", "clients": clients, "links": []map[string]any{{"delay": d.delay}}}
}

// addMaster adds a master beside the homeserver that keeps the entity.
func (d *authorityDemo) addMaster(home map[string]any, add func(name, model string, with map[string]any)) {
	if d.rule != string(transfer.Ask) {
		return
	}
	home["master"], home["neighbours"] = masterOf, append(home["neighbours"].([]string), masterOf)
	name := "home-b"
	if d.number == 2 {
		name = "home"
	}
	add(masterOf, "simserver", map[string]any{"home": name, "answers": d.answer})
}

// outcome reads what was said, and who owns the entity now.
func (d *authorityDemo) outcome(done *run.Outcome) (*authorityOutcome, error) {
	out := &authorityOutcome{OK: done.OK, Error: done.Error, Case: d.number, Trace: []authorityTrace{}, Digest: done.Digest, RunDir: done.RunDir, err: done.Err}
	out.OwnerBefore = oneServer
	if d.number == 2 {
		out.OwnerBefore = otherServer
	}
	for _, c := range done.Clients {
		if c.Name != oneServer && c.Name != otherServer {
			continue
		}
		var r authority.SimResult
		if err := readResult(c.Result, &r); err != nil {
			return out, err
		}
		if _, owns := r.Entities[demoEntity]; owns {
			out.OwnerAfter = c.Name
		}
		for _, e := range r.Effective {
			out.Effective = new(record.Instant(metasim.Instant{Time: e.NS, Step: e.Step}))
		}
		for _, refused := range r.Refused {
			out.Refused = string(refused.Reason)
		}
	}
	return out, out.follow(done.RunDir)
}

// follow reads the messages of the run.
func (o *authorityOutcome) follow(dir string) error {
	log, err := record.ReadLog(dir)
	if err != nil {
		return err
	}
	travelled := map[string]int{} // hops, by kind and trail
	for i := range log.Messages {
		m := &log.Messages[i]
		said, err := transfer.Decode(m.Payload)
		if err == nil && len(said.Trail) == 0 {
			err = errors.New("a message between servers has no trail")
		}
		if err != nil {
			return err
		}
		o.Trace = append(o.Trace, authorityTrace{m.From, m.To, said.Kind, m.Sent, m.Due})
		o.Messages++
		// What is passed on has the trail of what came, and one name more.
		o.Hops += len(said.Trail) - travelled[string(said.Kind)+strings.Join(said.Trail[:len(said.Trail)-1], " ")]
		travelled[string(said.Kind)+strings.Join(said.Trail, " ")] = len(said.Trail)
		if m.Due != nil {
			o.LatencyNS = max(o.LatencyNS, int64(m.Due.Time-log.Messages[0].Sent.Time))
		}
	}
	return nil
}

func (o *authorityOutcome) print(std streams) {
	for _, t := range o.Trace {
		fmt.Fprintf(std.out, "%-8v  %-8v  %s -> %s  %s\n", t.Sent, t.Due, t.From, t.To, t.Kind)
	}
	switch {
	case o.Refused != "":
		fmt.Fprintf(std.out, "%s keeps %s: %s\n", o.OwnerAfter, demoEntity, o.Refused)
	case o.Effective == nil:
		fmt.Fprintf(std.out, "%s keeps %s\n", o.OwnerAfter, demoEntity)
	default:
		fmt.Fprintf(std.out, "%s had %s, and %s has it from %v on\n", o.OwnerBefore, demoEntity, o.OwnerAfter, o.Effective)
	}
	fmt.Fprintf(std.out, "%d messages, %v; run: %s\n", o.Messages, metasim.Time(o.LatencyNS), o.RunDir)
}
