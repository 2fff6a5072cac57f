// Package lockstep runs systems of a world in clients of their own, in step with it: a call is a message at (t, k), its reply one at
// (t, k+1), so that simulated time does not move. Which systems run where cannot change the state of the world: package world merges
// what they wrote in one order.
//
// [World] is the client of a world, [Runtime] that of one of its systems. A runtime keeps a copy of the state, which changes only by what
// calls bring. Between the calls of a step and the next one that the world has named it promises to send nothing, so that steps in which it is not
// called cost nothing.
package lockstep

import (
	"fmt"

	"metasim/client"
	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/world"
	"metasim/metasim"
)

// protocolVersion is that of calls and replies. Both ends must have the same.
const protocolVersion = 1

// A call is one phase of a system that runs elsewhere, as it travels.
type call struct {
	phase  world.Phase
	fresh  bool // changes are the whole state
	behind bool // the world does not wait for the reply
	number uint32
	info   world.Info
	next   metasim.Time
	seed   uint64
	plugin *sdf.Plugin // of Configure
	state  []byte
}

// A reply answers it.
type reply struct {
	phase   world.Phase
	phases  uint8
	failed  string // why; empty: it did not
	changes ecm.Changes
}

// A stage is how far a runtime is.
type stage uint8

// The states of a runtime, in their order. A failed one does nothing any more.
const (
	unset       stage = iota
	initialized       // it has joined
	configured        // it was called once, with the whole state
	running           // it was called for a step
	failed
)

func (s stage) String() string {
	if s <= failed {
		return [...]string{"UNSET", "INITIALIZED", "CONFIGURED", "RUNNING", "FAILED"}[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// An acked knows which acknowledgements of a secondary have come: links may deliver a message twice.
type acked struct {
	from string
	next uint64 // behind the number of the last one
}

// A meter is what a world knows of the client of the model world-meter that measures its secondaries. What that says is not the same in each run. It comes as a message, so the journal has
// it, and what the world does with it is a function of its inputs as all else.
type meter struct {
	asks    *client.Publication // nil: nobody measures
	channel string
	from    string
	count   int // of secondaries
}

// A worldResult is what a world leaves with.
type worldResult struct {
	Iterations uint64 `json:"iterations"`
	SimTimeNS  int64  `json:"sim_time_ns"`
	Resets     uint64 `json:"resets,omitempty"`
	Entities   int    `json:"entities"`
	StateHash  string `json:"state_hash"`
	// Encodings counts how often changes were encoded for runtimes, Calls how many calls had them, and Bytes how much that was.
	Encodings uint64         `json:"encodings"`
	Calls     uint64         `json:"calls"`
	Bytes     uint64         `json:"call_bytes"`
	Conflicts uint64         `json:"conflicts"`
	Conflict  string         `json:"first_conflict,omitempty"`
	Fast      uint64         `json:"fast,omitempty"` // how often, in steps, a model was too fast for the step and near another
	FirstFast string         `json:"first_fast,omitempty"`
	Degraded  []goneResult   `json:"degraded,omitempty"` // the systems that it went on without, and from when on
	Systems   []systemResult `json:"systems"`
	Levels    *levelsResult  `json:"levels,omitempty"`
	Runners   []runnerResult `json:"runners,omitempty"`
	Handovers uint64         `json:"handovers,omitempty"`
	Merges    uint64         `json:"merges,omitempty"`
	Splits    uint64         `json:"splits,omitempty"`
	RunAheadS float64        `json:"run_ahead_s,omitempty"`
	Starts    uint64         `json:"starts,omitempty"`  // of secondaries, where their number follows the performers
	Retires   uint64         `json:"retires,omitempty"` // likewise
	Balance   *balanceResult `json:"balance,omitempty"`
}

// A balanceResult says what moved between secondaries because of what they took, in processor time.
type balanceResult struct {
	BeforeNS []int64      `json:"before_ns"` // of a step of the world, by secondary that took part, when it was measured first
	AfterNS  []int64      `json:"after_ns"`  // when it was measured last
	Moves    []moveResult `json:"moves"`
}

type moveResult struct {
	Iteration uint64 `json:"iteration"`
	TimeNS    int64  `json:"time_ns"` // of the world
	Level     string `json:"level,omitempty"`
	Model     string `json:"model,omitempty"` // of no level
	From      string `json:"from"`
	To        string `json:"to"`
}

type goneResult struct {
	System    string `json:"system"`
	Phase     string `json:"phase"`
	Iteration uint64 `json:"iteration"`
}

type systemResult struct {
	Name   string `json:"name"`
	Calls  uint64 `json:"calls"`
	Remote bool   `json:"remote"`
	Behind int    `json:"behind,omitempty"` // steps that the world might be ahead of it
	Module string `json:"module,omitempty"` // SHA-256 of its WebAssembly module, as the world read it
}

// A levelsResult says what a world loaded, since its start or its last reset.
type levelsResult struct {
	Policy  string `json:"policy"`
	Loads   uint64 `json:"loads"` // of levels, behind those at the start
	Unloads uint64 `json:"unloads"`
}

// A runnerResult says what one client simulates of a world at the end.
type runnerResult struct {
	Name       string   `json:"name"`
	Steps      uint64   `json:"steps"`
	Performers []string `json:"performers"`
	Levels     []string `json:"levels"` // that are loaded
}

// An OrderError says that a runtime was called out of order.
type OrderError struct {
	State     string
	Called    world.Phase
	Iteration uint64
	Expected  string
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("%v was called in iteration %d, in state %s; expected %s", e.Called, e.Iteration, e.State, e.Expected)
}
