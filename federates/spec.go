package federates

import (
	"io"
	"slices"
	"strings"
)

// A Spec describes a built-in model: what a scenario may write under `with`.
type Spec struct {
	Name   string
	Doc    string // one sentence
	Params []Param
	// Live says that it takes part in real time: what it publishes comes from outside of the run, so the run is not
	// deterministic, and it needs a rate.
	Live bool

	ports func(v values, env Env) (Ports, error)
	build func(v values, env Env, ports Ports) Model
}

// A Param is one parameter of a model.
type Param struct {
	Name     string
	Type     Type
	Required bool
	// Default is what counts when the parameter is not written, as a scenario would write it. Nil: see Doc.
	Default any
	Doc     string // what it is, in what unit, and what its absence means where there is no Default
	// Min and Max bound numbers; for a duration they are nanoseconds, for a list the number of its elements. Nil: no
	// bound.
	Min, Max *float64
}

// A Type says how a parameter is written.
type Type string

// The types of parameters.
const (
	String   Type = "string"
	Int      Type = "int"      // a 64-bit integer
	Float    Type = "float"    // a finite number
	Bool     Type = "bool"     // true or false
	Duration Type = "duration" // "5ms", as package delay reads it
	Channel  Type = "channel"  // the name of a channel, not empty
	Pattern  Type = "pattern"  // a channel name, or an LCM regular expression that matches the whole name
	Patterns Type = "patterns" // a list of Pattern
	File     Type = "file"     // a path, relative to the scenario's directory
	Channels Type = "channels" // a list of Channel
	Network  Type = "network"  // the URL of an LCM network, as package lcm/names reads it
)

// Ports is what an instance of a model shows to the rest of a run.
type Ports struct {
	Publications  []string // channel names
	Subscriptions []string // channel names, or regular expressions that match a whole name
	Ending        Ending
	Network       string // the LCM network that it joins to the run: as names.Address has it. Empty: none
}

// An Ending tells what ends a client's part in a run that has no end of its own.
type Ending string

// The endings. A run without `until` ends if none of its clients is Endless.
const (
	// Leaves: the client leaves when it has done what it had to do. (A ping whose answer was lost leaves when nothing
	// can come any more.)
	Leaves Ending = "leaves"
	// Reacts: the client does nothing unless a message reaches it, and leaves when none can come any more. A cycle of
	// such clients is still endless once a message is in it.
	Reacts Ending = "reacts"
	// Endless: the client goes on until the end of the run.
	Endless Ending = "endless"
)

// An Env is what a model instance is told beside its parameters.
type Env struct {
	Name  string // the client's name: Entry, or Entry-Index where the scenario's entry has a count
	Entry string // the name of the scenario's entry
	Index int    // the client's position among the Count clients of its entry, from 0
	Count int    // how many clients the entry makes; 0 counts as 1
	Seed  uint64 // the run's
	Dir   string // the scenario's directory; for messages
	// Open opens a file parameter. The path is as the scenario writes it; what it is relative to, and what it may
	// reach, is the caller's to decide. Nil: no files.
	Open func(path string) (io.ReadCloser, error)
}

// count returns how many clients the entry makes, at least one.
func (e Env) count() int { return max(e.Count, 1) }

// Models describes all built-in models, in order of name.
func Models() []Spec {
	specs := []Spec{
		sourceSpec(), sinkSpec(), echoSpec(), pingSpec(), ringSpec(), pholdSpec(), lcmlogSpec(), bridgeSpec(),
		plantSpec(), estimatorSpec(), controllerSpec(),
	}
	slices.SortFunc(specs, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs
}

// Lookup returns the model of that name.
func Lookup(name string) (Spec, error) {
	specs := Models()
	for _, s := range specs {
		if s.Name == name {
			return s, nil
		}
	}
	return Spec{}, &UnknownModelError{Model: name, Known: specs}
}

// Check reads the parameters as a scenario wrote them (strings, numbers of any Go type, json.Number, booleans, lists)
// and returns everything that is wrong with them as ParamErrors, or nil. It opens no file.
func (s Spec) Check(with map[string]any) error {
	_, err := s.decode(with)
	return err
}

// Inspect says what an instance publishes and subscribes to, and how it ends. Errors are those of New.
func Inspect(model string, with map[string]any, env Env) (Ports, error) {
	_, _, ports, err := inspect(model, with, env)
	return ports, err
}

func inspect(model string, with map[string]any, env Env) (Spec, values, Ports, error) {
	spec, err := Lookup(model)
	if err != nil {
		return Spec{}, nil, Ports{}, err
	}
	v, err := spec.decode(with)
	if err != nil {
		return Spec{}, nil, Ports{}, err
	}
	ports, err := spec.ports(v, env)
	return spec, v, ports, err
}
