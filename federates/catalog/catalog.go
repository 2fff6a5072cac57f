// Package catalog describes the built-in models as data: the name of each, its parameters with their types, defaults and
// bounds, and which of them are channels that it publishes or subscribes to. A scenario is checked against it without
// linking the code of any model; package federates makes the models run.
//
// The table is in models.go. Most of an element is plain data: a parameter of type [Channel] or [Channels] is a publication,
// one of type [Pattern] or [Patterns] is a subscription. Where the ports of a model depend on more (the events of a log, the
// number of clients of an entry) or two parameters must fit together, its element names a function of this package.
//
// [Models] lists the table, and [Make] checks the parameters of one client and returns its [Ports] and what the model needs to
// run.
package catalog

import (
	"cmp"
	"io"

	"metasim/metasim"
)

// A Spec describes a built-in model.
type Spec struct {
	Name   string
	Doc    string // one sentence, after the name
	Params []Param
	// RealTime says that the model takes part in real time: what it publishes comes from outside of the run. A run with it is
	// not deterministic, and needs a rate.
	RealTime bool
	// Measures says that the model tells what is measured while the run goes on. A run with it is not deterministic either, and needs no rate.
	Measures bool
	// Forwards says that every message received makes the model publish at the instant of its delivery.
	Forwards bool
	// Ending is what ends the model's part in a run without `until`, unless refine says otherwise.
	Ending Ending

	// refine checks what the types and bounds of the parameters cannot say, and completes in.Ports. Its error is ParamErrors.
	// Nil: the parameters say everything.
	refine func(in *Instance) error
}

// A Param is one parameter of a model: a key that a scenario may write under `with`.
type Param struct {
	Name     string
	Type     Type
	Required bool
	// Default is the value of a parameter that is not written, as a scenario would write it. Nil: see Doc.
	Default any
	Doc     string // what it is, its unit, and what its absence means where there is no Default
	// Min and Max bound a number; a duration in nanoseconds; the number of elements of a list. Nil: no bound.
	Min, Max *float64
}

// A Type says how a parameter is written.
type Type string

// The types of parameters.
const (
	Int      Type = "int"      // a 64-bit integer
	Float    Type = "float"    // a finite number
	Bool     Type = "bool"     // true or false
	Duration Type = "duration" // "5ms", as package delay reads it
	Channel  Type = "channel"  // the name of a channel, which is published
	Channels Type = "channels" // a list of Channel
	Pattern  Type = "pattern"  // a subscription: a channel name, or an LCM regular expression that matches a whole name
	Patterns Type = "patterns" // a list of Pattern
	Word     Type = "word"     // a name: letters, digits, '-', '_', '.'
	Words    Type = "words"    // a list of Word
	File     Type = "file"     // a path, relative to the scenario's directory
	Start    Type = "start"    // first, recorded, or a duration
	Network  Type = "network"  // the URL of an LCM network, as package lcm/names reads it
	Ints     Type = "ints"     // a list of whole numbers that are not negative
	Rate     Type = "rate"     // frames in a second: a whole number, or a fraction such as 60000/1001
	Streams  Type = "streams"  // a list of Stream
)

// A Stream is what a render node shows: a rectangle of the picture of a camera.
type Stream struct {
	Node   string     `json:"node"`
	Name   string     `json:"name"`
	Camera string     `json:"camera"` // the topic of a camera of the world, whose pose and lens it has; empty: the following
	Pose   [6]float64 `json:"pose"`   // X Y Z, m; roll, pitch and yaw, rad
	FOV    float64    `json:"fov"`    // horizontal angle of view, rad
	Near   float64    `json:"near"`   // m
	Far    float64    `json:"far"`
	Size   [2]int     `json:"size"` // of the whole picture, pixels
	Clip   [4]int     `json:"clip"` // left, top, right, bottom; zeros: all of the size
}

// A Fraction is a parameter of the type Rate. Both numbers are at least 1.
type Fraction struct{ Num, Den uint32 }

// Ports is what a client shows to the rest of a run.
type Ports struct {
	Publications  []string // channel names
	Subscriptions []string // channel names, or regular expressions that match a whole name
	Ending        Ending
	Forwards      bool   // as in Spec
	Network       string // the LCM network that the client connects to the run, as names.Address has it; empty: none
}

// An Ending is what ends a client's part in a run that has no `until`.
type Ending string

// The endings. A run without `until` ends if none of its clients is Endless.
const (
	// Leaves: the client leaves when it has done its work, or when no message can reach it any more.
	Leaves Ending = "leaves"
	// Reacts: the client does nothing unless a message reaches it, and leaves when none can. A cycle of such clients is still
	// endless once a message is in it.
	Reacts Ending = "reacts"
	// Endless: the client goes on until the end of the run.
	Endless Ending = "endless"
)

// An Env is what a client knows beside its parameters.
type Env struct {
	Name  string // of the client in its scenario: Entry, or Entry-Index where the scenario's entry has a count
	Full  string // that in the run, which differs where the scenario is inside of another one; empty: the same. Draws are keyed by it: see Key
	Entry string // the name of the scenario's entry
	Index int    // the client's position among the Count clients of its entry, from 0
	Count int    // how many clients the entry makes; 0 counts as 1
	Seed  uint64 // of the run
	// Open opens a file that a parameter names, and decides what the path is relative to and what it may reach. Nil: no files.
	Open func(path string) (io.ReadCloser, error)
	// Busy returns how much processor time a client of the run has taken so far. Nil: this process does not know.
	Busy func(client string) metasim.Time
	// Dir is where paths begin, for a model that has to read more than one file: what Open does not open it leaves alone.
	Dir string
}

// Key is the name of the client in the run, which no other client has.
func (e *Env) Key() string { return cmp.Or(e.Full, e.Name) }

// An Instance is a model with checked parameters: what one client needs to run.
type Instance struct {
	Env
	Ports  Ports
	Owns   []Owned        // who owns what at the beginning, as this client has it
	Doubts ParamErrors    // what may not be as it was meant, and hinders nothing
	params map[string]any // int64, float64, bool, metasim.Time, Fraction, string, []string, []uint64 or []Stream as the Type says; absent without a default
}

// An Owned is an entity and the client that owns it. All clients of a scenario have to agree on that: two would compute it.
type Owned struct{ Entity, Owner string }

// Get returns a parameter that is required or has a default, as int64, float64, bool, metasim.Time, Fraction, string, []string, []uint64 or []Stream. It
// panics where the table of models has no such parameter, or another type of it: a mistake of metasim.
func Get[T any](in *Instance, name string) T { return in.params[name].(T) }

// Find returns a parameter that may be absent.
func Find[T any](in *Instance, name string) (T, bool) {
	t, ok := in.params[name].(T)
	return t, ok
}

// A ParamError says what is wrong with one parameter of a model, and what to write instead.
type ParamError struct {
	Model  string
	Param  string
	Wrong  string // what is wrong, after the parameter's name: "is -5ms"
	Remedy string // what to do: "write a positive duration such as 10ms"
	Err    error  // the cause, such as fs.ErrNotExist for a file; may be nil
}

// ParamErrors is everything that is wrong with the parameters of one client: at least one. The parameters that are written
// come first, in order of name, then the missing ones.
type ParamErrors []*ParamError
