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
