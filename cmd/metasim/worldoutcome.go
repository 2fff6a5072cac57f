package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"metasim/federates/camera"
	"metasim/internal/atomicfile"
	"metasim/metasim"
	"metasim/record"
	"metasim/run"
)

// worldListener is the client that takes the hashes of a world, for --hashes.
const worldListener = "hashes"

// worldViewer is the client that takes the pictures of cameras, for --camera.
const worldViewer = "viewer"

// A worldPart is the client of a world, and those of its systems.
type worldPart struct {
	name     string // of the world
	client   string
	runtimes []string
	mapper   string           // the client that takes its maps; empty: none
	links    []map[string]any // of runtimes that may be behind the world
	idle     error            // why it has none of the secondaries that were asked for; nil: it has them
}

// A worldOutcome is what metasim world run --json prints. The numbers are those of the first world.
type worldOutcome struct {
	OK             bool             `json:"ok"`
	Error          string           `json:"error"`
	Iterations     uint64           `json:"iterations"`
	SimTimeNS      int64            `json:"sim_time_ns"`
	Entities       int              `json:"entities"`
	StateHash      string           `json:"state_hash"`
	StepsPerS      float64          `json:"steps_per_s"`
	RealTimeFactor float64          `json:"real_time_factor"`
	Runtimes       []runtimeOutcome `json:"runtimes"`
	Runners        []runnerOutcome  `json:"runners,omitempty"` // of worlds with levels or secondaries
	division
	Resets    uint64       `json:"resets,omitempty"`
	Conflicts uint64       `json:"conflicts"`
	Conflict  string       `json:"first_conflict,omitempty"`
	Fast      uint64       `json:"fast,omitempty"`
	FirstFast string       `json:"first_fast,omitempty"`
	Degraded  []goneSystem `json:"degraded,omitempty"` // what the world went on without
	Worlds    []oneWorld   `json:"worlds,omitempty"`   // of a file with several
	Digest    string       `json:"digest"`
	RunDir    string       `json:"run_dir"`

	err error
}

type runtimeOutcome struct {
	Name  string `json:"name"`
	Calls uint64 `json:"calls"`
	Exit  string `json:"exit"`
}

// A division is what became of the models of a world that secondaries move: how often one was handed over at a border, merged with models of another
// secondary, and split from them; and how much simulated time secondaries did ahead of the world.
type division struct {
	Handovers uint64  `json:"handovers"`
	Merges    uint64  `json:"merges"`
	Splits    uint64  `json:"splits"`
	RunAheadS float64 `json:"run_ahead_s"`
	// Starts and Retires count secondaries that began to take part and were not needed any more, with --secondaries auto.
	Starts  uint64          `json:"starts,omitempty"`
	Retires uint64          `json:"retires,omitempty"`
	Balance *balanceOutcome `json:"balance,omitempty"` // with --balance measured
}

// A balanceOutcome says what secondaries took for a step of the world, in nanoseconds of processor time, when it was measured first and last, and what moved between them.
type balanceOutcome struct {
	BeforeNS []int64       `json:"before_ns"`
	AfterNS  []int64       `json:"after_ns"`
	Moves    []moveOutcome `json:"moves"`
}

// A moveOutcome is a level, or a model of no level, that moved.
type moveOutcome struct {
	Iteration uint64 `json:"iteration"`
	TimeNS    int64  `json:"time_ns"` // of the world
	Level     string `json:"level,omitempty"`
	Model     string `json:"model,omitempty"`
	From      string `json:"from"`
	To        string `json:"to"`
}

// print writes a line for each measurement and each move.
func (b *balanceOutcome) print(w io.Writer) {
	for _, m := range b.Moves {
		what := "level " + m.Level
		if m.Level == "" {
			what = "model " + m.Model
		}
		fmt.Fprintf(w, "at %v (iteration %d) %s moved from %s to %s\n", metasim.Time(m.TimeNS), m.Iteration, what, m.From, m.To)
	}
	text := func(all []int64) string {
		var words []string
		for _, ns := range all {
			words = append(words, time.Duration(ns).Round(time.Microsecond).String())
		}
		return listOr(words)
	}
	fmt.Fprintf(w, "cost of a step by secondary: %s when it was measured first, %s when it was measured last\n", text(b.BeforeNS), text(b.AfterNS))
}

// A runnerOutcome is what one client simulated of a world with levels or secondaries.
type runnerOutcome struct {
	Name       string   `json:"name"`
	Steps      uint64   `json:"steps"`
	Performers []string `json:"performers"` // at the end
	Levels     []string `json:"levels"`     // that are loaded because of them, likewise
}

// A goneSystem is one that a world went on without, from a call on.
type goneSystem struct {
	System    string `json:"system"`
	Phase     string `json:"phase"`
	Iteration uint64 `json:"iteration"`
}

// oneWorld is the result of the client of a world, as far as it is shown.
type oneWorld struct {
	Name       string `json:"name"`
	Iterations uint64 `json:"iterations"`
	SimTimeNS  int64  `json:"sim_time_ns"`
	Resets     uint64 `json:"resets,omitempty"`
	Entities   int    `json:"entities"`
	StateHash  string `json:"state_hash"`
	Conflicts  uint64 `json:"conflicts"`
	Conflict   string `json:"first_conflict"`
	Fast       uint64 `json:"fast,omitempty"`
	FirstFast  string `json:"first_fast,omitempty"`

	Runners []runnerOutcome `json:"runners,omitempty"`
	division
	Degraded []goneSystem `json:"degraded,omitempty"`
}

func outcomeOf(done *run.Outcome, worlds []worldPart) (*worldOutcome, error) {
	out := &worldOutcome{OK: done.OK, Error: done.Error, Digest: done.Digest, RunDir: done.RunDir, Runtimes: []runtimeOutcome{}, err: done.Err}
	client := func(name string) run.ClientOutcome {
		i := slices.IndexFunc(done.Clients, func(c run.ClientOutcome) bool { return c.Name == name })
		return done.Clients[i] // the scenario has it
	}
	var all []oneWorld
	for _, w := range worlds {
		one := oneWorld{Name: w.name}
		if err := readResult(client(w.client).Result, &one); err != nil {
			return out, err
		}
		all = append(all, one)
		for _, name := range w.runtimes {
			r := runtimeOutcome{Name: name, Exit: client(name).Exit}
			if err := readResult(client(name).Result, &r); err != nil {
				return out, err
			}
			out.Runtimes = append(out.Runtimes, r)
		}
	}
	first := all[0]
	out.Iterations, out.SimTimeNS, out.Entities, out.StateHash = first.Iterations, first.SimTimeNS, first.Entities, first.StateHash
	out.Resets, out.Degraded = first.Resets, first.Degraded
	out.Runners, out.division = first.Runners, first.division
	out.Fast, out.FirstFast = first.Fast, first.FirstFast
	out.Conflicts, out.Conflict = first.Conflicts, first.Conflict
	if done.WallS > 0 {
		out.StepsPerS, out.RealTimeFactor = float64(first.Iterations)/done.WallS, float64(first.SimTimeNS)/1e9/done.WallS
	}
	if len(all) > 1 {
		out.Worlds = all
	}
	return out, nil
}

// readResult reads what a client left with; one that did not leave has nothing.
func readResult(result json.RawMessage, into any) error {
	if len(result) == 0 {
		return nil
	}
	return json.Unmarshal(result, into)
}

func (p *worldPart) hashChannel() string { return p.client + "/hash" }

// writeHashes writes the hashes that worlds published.
func writeHashes(dir, file string, worlds []worldPart) error {
	log, err := record.ReadLog(dir)
	if err != nil {
		return err
	}
	suffix := map[string]string{}
	for i := range worlds {
		if len(worlds) > 1 {
			suffix[worlds[i].hashChannel()] = " " + worlds[i].name
		}
	}
	var text bytes.Buffer
	for _, m := range log.Messages {
		if m.To == worldListener && len(m.Payload) > 8 {
			fmt.Fprintf(&text, "%d %s%s\n", binary.LittleEndian.Uint64(m.Payload), hex.EncodeToString(m.Payload[8:]), suffix[m.Channel])
		}
	}
	return atomicfile.Write(file, text.Bytes(), 0o644)
}

// writePictures writes the pictures that cameras published, and an animation of those of each.
func writePictures(dir, into string, animated bool) error {
	log, err := record.ReadLog(dir)
	if err == nil {
		err = os.MkdirAll(into, 0o755)
	}
	if err != nil {
		return err
	}
	made := map[string][]camera.Frame{}
	var channels []string
	for _, m := range log.Messages {
		if m.To != worldViewer && !strings.HasSuffix(m.To, "-"+worldViewer) {
			continue
		}
		if made[m.Channel] == nil {
			channels = append(channels, m.Channel)
		}
		name := fmt.Sprintf("%s-%05d.png", pictureName(m.Channel), len(made[m.Channel]))
		if err := atomicfile.Write(filepath.Join(into, name), m.Payload, 0o644); err != nil {
			return err
		}
		made[m.Channel] = append(made[m.Channel], camera.Frame{PNG: m.Payload, Time: m.Sent.Time})
	}
	for _, channel := range channels {
		if !animated {
			break
		}
		var text bytes.Buffer
		if err := camera.WriteAnimation(&text, made[channel]); err != nil {
			return fmt.Errorf("topic %s: %w; leave --animation out", channel, err)
		}
		if err := atomicfile.Write(filepath.Join(into, pictureName(channel)+".apng"), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func pictureName(topic string) string { return fileName(strings.Trim(topic, "/")) }

func (o *worldOutcome) print(w io.Writer) {
	for _, r := range o.Runtimes {
		fmt.Fprintf(w, "%s: called in %d steps, %s\n", r.Name, r.Calls, r.Exit)
	}
	for _, r := range o.Runners {
		fmt.Fprintf(w, "%s: %d steps of the performers %s, with the levels %s\n", r.Name, r.Steps, listOr(r.Performers), listOr(r.Levels))
	}
	if len(o.Runners) > 1 {
		fmt.Fprintf(w, "%d hand-overs at borders, %d merges, %d splits\n", o.Handovers, o.Merges, o.Splits)
	}
	if o.Starts > 0 {
		fmt.Fprintf(w, "secondaries: %d began to take part, %d were not needed any more\n", o.Starts, o.Retires)
	}
	if o.Balance != nil {
		o.Balance.print(w)
	}
	if !o.OK {
		fmt.Fprintf(w, "run     %s\n", o.RunDir)
		return
	}
	for _, g := range o.Degraded {
		fmt.Fprintf(w, "warning: the world went on without %s, whose runtime was lost: from %s of iteration %d on\n", g.System, g.Phase, g.Iteration)
	}
	if o.Conflicts > 0 {
		fmt.Fprintf(w, "warning: %d conflicts: two systems of one phase changed the same component or entity, and one change was dropped; the first: %s\n", o.Conflicts, o.Conflict)
	}
	if o.Fast > 0 {
		fmt.Fprintf(w, "warning: %d times a model moved by more than half its size in a step, near another: they may have passed through one another, or met too soon; the first: %s; "+
			"make max_step_size smaller\n", o.Fast, o.FirstFast)
	}
	fmt.Fprintf(w, "%d steps, %v of simulated time: %s steps/s, %s times real time\n", o.Iterations, metasim.Time(o.SimTimeNS),
		factorText(o.StepsPerS), factorText(o.RealTimeFactor))
	fmt.Fprintf(w, "state   %s of %d entities\ndigest  %s\nrun     %s\n", o.StateHash, o.Entities, o.Digest, o.RunDir)
}

// listOr writes names with commas, or that there are none.
func listOr(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
