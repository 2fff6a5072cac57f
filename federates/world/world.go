// Package world steps a world: its state, its systems in their phases, and the changes that they write.
//
// A step has three phases. In each the systems are called in order of priority, smaller first: those of one priority see the same
// state, that at which their turn began, and what they write is merged in order of name, so that a later one stands. Those of the
// next priority see the result. In PostUpdate nobody writes, and all are called at once.
//
// So where a system runs, here or in another process, cannot change the state: it sees what it would see, and what it writes is put
// in at the same place. The package knows no client and no message: what runs a system elsewhere is a [Runtimes].
//
// The caller's duties:
//
//  1. Configure is called once, before the first Step and the first Reset.
//  2. After an error the server is of no use any more.
package world

import (
	"fmt"
	"strings"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/metasim"
)

// Root is the entity of the world itself.
const Root ecm.Entity = 1

// A Phase is one call of a system.
type Phase uint8

// The phases. Configure happens once, Reset when the world goes back to its start, the others at every step.
const (
	Configure  Phase = iota
	PreUpdate        // writes what it wants to happen
	Update           // makes it happen: physics
	PostUpdate       // reads what happened
	Reset
	phases
)

func (p Phase) String() string {
	if p < phases {
		return [...]string{"Configure", "PreUpdate", "Update", "PostUpdate", "Reset"}[p]
	}
	return fmt.Sprintf("phase %d", uint8(p))
}

// PhasesText names phases that are given as bits.
func PhasesText(bits uint8) string {
	var names []string
	for p := Configure; p < phases; p++ {
		if bits&(1<<p) != 0 {
			names = append(names, p.String())
		}
	}
	return strings.Join(names, ", ")
}

// An Info says which step it is.
type Info struct {
	Iteration uint64       // since the start or the last reset: 1 for the first step; 0 in Configure and Reset
	Time      metasim.Time // at the end of the step, likewise
	Step      metasim.Time
}

// A Setup is what a system is configured with.
type Setup struct {
	World  ecm.Entity
	Plugin *sdf.Plugin // where the system is asked for, with its parameters
	Seed   uint64      // of the run
	Topics []string    // to which somebody listens: a Teller need not make anything else
}

// A System takes part in the phases whose interfaces it has, and in at least one. Its view of the state is valid during the call. It is a
// function of what it is given: no clock, no random number that is not drawn from its seed.
type (
	// A Configurer prepares itself. What it writes is there before the first step.
	Configurer interface {
		Configure(s Setup, v *ecm.View) error
	}
	// A PreUpdater writes what it wants to happen in the step: forces, new entities.
	PreUpdater interface {
		PreUpdate(i Info, v *ecm.View) error
	}
	// An Updater makes it happen.
	Updater interface {
		Update(i Info, v *ecm.View) error
	}
	// A PostUpdater reads what happened.
	PostUpdater interface {
		PostUpdate(i Info, v *ecm.View) error
	}
	// A Resetter goes back to what it was after Configure, when the world does. The state has what it wrote then. A system that is no
	// Resetter is made anew instead, and configured.
	Resetter interface {
		Reset(i Info, v *ecm.View) error
	}
	// A Phaser says itself in which phases it takes part: it has the interfaces of more.
	Phaser interface {
		Phases() uint8 // a bit for each
	}
	// A Reader serves others who have the state as it was at a version: what changed since then is kept for it.
	Reader interface {
		Has() (version uint64)
	}
	// A Teller has something to tell that is no part of the state, as the picture of a camera. The world asks its own systems after each
	// step; a runtime asks after each call.
	Teller interface {
		// Told returns what the system has to tell, and forgets it.
		Told() []Told
	}
)

// A Told is what a system tells whoever listens to a topic.
type Told struct {
	Topic   string
	Payload []byte
}

// A Slot is a system of a world, and its place there.
type Slot struct {
	Name     string
	Plugin   *sdf.Plugin
	Priority int
	Rate     float64 // calls in a second of simulated time; 0: at every step
	Exact    bool    // the law of Rate: see due
	System   any     // nil: it runs elsewhere
	// Behind is how many steps the world may be ahead of a system that runs elsewhere; 0: it waits for each reply. Only a system that reads may be
	// behind. Its replies are not waited for, so Reads says in which phases it takes part, a bit for each.
	Behind int
	Reads  uint8
	// Anew makes System again when the world is reset. A system that runs elsewhere, or has Reset, needs none.
	Anew func() (any, error)

	number  uint32 // under which it creates entities
	phases  uint8  // a bit for each that it takes part in
	seen    uint64 // the version that its runtime has
	fresh   bool   // its runtime has no state yet
	last    metasim.Time
	periods float64 // of Rate, that have passed
	called  bool    // in this step
	calls   uint64  // steps in which it was called
	gone    bool    // its runtime is gone, and the world goes on without it

	configured ecm.Changes // of a Resetter: what it wrote in Configure
}

// A Call asks for one phase of a system that runs elsewhere.
type Call struct {
	Slot  *Slot
	Phase Phase
	Info  Info
	Fresh bool   // State is the whole state, and not what changed
	State []byte // encoded changes; of several calls the same memory
	// Next is the earliest time of the next call. Until then the runtime has nothing to say.
	Next metasim.Time
	Seed uint64 // of Configure
}

// A Reply is what a system that runs elsewhere wrote. Errors are returned by Runtimes.
type Reply struct {
	Changes ecm.Changes
	Phases  uint8 // of Configure: a bit for each phase that it takes part in
	Gone    bool  // there is no reply, and never will be: the world goes on without the system
}

// Runtimes run systems elsewhere.
type Runtimes interface {
	// Begin sends calls of one phase. It does not wait.
	Begin(calls []Call) error
	// Replies waits for the replies to the calls of the last Begin whose systems are not behind, and returns them in their order.
	Replies() ([]Reply, error)
}

// A Config says what a server is made of.
type Config struct {
	World    *sdf.World
	Slots    []*Slot
	Runtimes Runtimes // may be nil if all systems run here
	Seed     uint64
	Topics   []string // of Setup
	Resets   bool     // Reset may be called: then no runtime is told that it has nothing to say for longer than a step
}

// A Server is a world that goes on.
type Server struct {
	config  Config
	store   *ecm.Store
	step    metasim.Time
	info    Info
	again   bool    // Configure is done again, because of a reset
	order   []*Slot // of calls: by priority, then by name
	encoded []encoding
	speeds  speeds
	Stats   Stats
}

// Stats count what a server did.
type Stats struct {
	Encodings uint64 // how often changes were encoded for runtimes
	Sends     uint64 // how many calls had them
	Bytes     uint64 // of calls
	Conflicts uint64
	First     *FirstConflict // nil: none
	Fast      uint64         // how often, in steps, a model was too fast and near another
	FirstFast *FirstFast     // nil: none was
	Without   []Gone         // the systems that the world has gone on without
}

// A Gone says from which call on the world has gone on without a system.
type Gone struct {
	System    string
	Phase     Phase
	Iteration uint64
}

// A FirstConflict is where the first conflict was.
type FirstConflict struct {
	Iteration uint64
	Phase     Phase
	ecm.Conflict
}

// An encoding is what changed from a version to the present one, for all runtimes that have that version.
type encoding struct {
	since uint64
	fresh bool
	bytes []byte
}

// A StepError says in which step and phase which system failed.
type StepError struct {
	System    string // empty: the world itself
	Phase     Phase
	Iteration uint64
	Err       error
}

func (e *StepError) Error() string {
	who := "the world"
	if e.System != "" {
		who = "system " + e.System
	}
	if e.Phase == Configure || e.Phase == Reset {
		return fmt.Sprintf("%s, in %v: %v", who, e.Phase, e.Err)
	}
	return fmt.Sprintf("%s, in %v of iteration %d: %v", who, e.Phase, e.Iteration, e.Err)
}
func (e *StepError) Unwrap() error { return e.Err }
