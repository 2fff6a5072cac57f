package federates

import (
	"fmt"
	"strings"

	"metasim/internal/suggest"
)

// An UnknownModelError names a model that does not exist.
type UnknownModelError struct {
	Model string
	Known []Spec
}

func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("federates: there is no model %q; %s", e.Model, e.Remedy())
}

// Remedy says what to write instead.
func (e *UnknownModelError) Remedy() string {
	names := make([]string, len(e.Known))
	for i, s := range e.Known {
		names[i] = s.Name
	}
	return suggest.Word(e.Model, names)
}

// A ParamError says what is wrong with one parameter of a model, and what to write instead.
type ParamError struct {
	Model  string
	Param  string
	Wrong  string // what is wrong, after the parameter's name: "is -5ms"
	Remedy string // what to do: "write a positive duration such as 10ms"
	Err    error  // what lies below, for errors.Is; may be nil
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("federates: model %s: %s %s; %s", e.Model, e.Param, e.Wrong, e.Remedy)
}

// Unwrap returns what lies below, such as fs.ErrNotExist for a file.
func (e *ParamError) Unwrap() error { return e.Err }

// ParamErrors is everything that is wrong with the parameters of one model: at least one, the written ones in order
// of name, then the missing ones.
type ParamErrors []*ParamError

func (e ParamErrors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes each of them reachable for errors.As and errors.Is.
func (e ParamErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, p := range e {
		errs[i] = p
	}
	return errs
}
