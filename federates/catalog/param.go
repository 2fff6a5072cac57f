package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"metasim/delay"
	"metasim/internal/suggest"
	"metasim/metasim"
)

// decode reads parameters against the table, and reports all that is wrong as ParamErrors.
func (s Spec) decode(with map[string]any) (map[string]any, error) {
	var wrong ParamErrors
	v := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name })
		if i < 0 {
			wrong = append(wrong, &ParamError{Model: s.Name, Param: name,
				Wrong: "is no parameter of it", Remedy: suggest.Word(name, s.paramNames())})
			continue
		}
		if err := s.Params[i].decode(v, with[name]); err != nil {
			err.Model = s.Name
			wrong = append(wrong, err)
		}
	}
	for _, p := range s.Params {
		if _, written := with[p.Name]; written {
			continue
		}
		if p.Required {
			wrong = append(wrong, &ParamError{Model: s.Name, Param: p.Name,
				Wrong: "is missing", Remedy: "write " + p.Type.example(p.Name)})
		} else if p.Default != nil {
			if err := p.decode(v, p.Default); err != nil {
				err.Model = s.Name
				wrong = append(wrong, err)
			}
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return v, nil
}

func (s Spec) paramNames() []string {
	names := make([]string, len(s.Params))
	for i, p := range s.Params {
		names[i] = p.Name
	}
	return names
}

// decode puts one written value into v, or says what is wrong with it; the error's Model is still to be filled in.
func (p Param) decode(v map[string]any, raw any) *ParamError {
	value, size, ok := p.Type.read(raw)
	if !ok {
		return &ParamError{Param: p.Name, Wrong: fmt.Sprintf("is %s, not %s", show(raw), p.Type.noun()),
			Remedy: "write " + p.Type.example(p.Name)}
	}
	if p.Min != nil && size < *p.Min {
		return &ParamError{Param: p.Name, Wrong: "is " + show(raw), Remedy: "write at least " + p.Type.bound(*p.Min)}
	}
	if p.Max != nil && size > *p.Max {
		return &ParamError{Param: p.Name, Wrong: "is " + show(raw), Remedy: "write at most " + p.Type.bound(*p.Max)}
	}
	v[p.Name] = value
	return nil
}

// read converts a written value; size is what Min and Max bound.
func (t Type) read(raw any) (value any, size float64, ok bool) {
	switch t {
	case Int:
		n, ok := integer(raw)
		return n, float64(n), ok
	case Float:
		x, ok := number(raw)
		return x, x, ok
	case Bool:
		b, ok := raw.(bool)
		return b, 0, ok
	case Duration:
		d, ok := duration(raw)
		return d, float64(d), ok
	case Patterns, Channels:
		list, ok := texts(raw)
		return list, float64(len(list)), ok
	}
	s, ok := raw.(string)
	return s, float64(len(s)), ok && s != ""
}

func duration(raw any) (metasim.Time, bool) {
	s, ok := raw.(string)
	if !ok {
		return 0, false
	}
	d, err := delay.ParseDuration(s)
	return d, err == nil
}

func integer(raw any) (int64, bool) {
	switch n := raw.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case uint64:
		return int64(n), n <= math.MaxInt64
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	case json.Number:
		i, err := strconv.ParseInt(n.String(), 10, 64)
		return i, err == nil
	}
	return 0, false
}

func number(raw any) (float64, bool) {
	switch n := raw.(type) {
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	case json.Number:
		x, err := n.Float64()
		return x, err == nil
	}
	n, ok := integer(raw)
	return float64(n), ok
}

func texts(raw any) ([]string, bool) {
	if list, ok := raw.([]string); ok {
		return list, !slices.Contains(list, "")
	}
	list, ok := raw.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok || s == "" {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// show writes a value as a person wrote it.
func show(raw any) string {
	if _, ok := raw.(json.Number); ok {
		return fmt.Sprint(raw)
	}
	b, err := json.Marshal(raw)
	if err != nil || len(b) > 60 {
		return fmt.Sprintf("a %T", raw)
	}
	return string(b)
}

// noun names a type for a person.
func (t Type) noun() string {
	switch t {
	case Int:
		return "a whole number"
	case Float:
		return "a number"
	case Bool:
		return "true or false"
	case Duration:
		return "a duration"
	case Channel:
		return "the name of a channel"
	case Pattern:
		return "a channel or a pattern"
	case Patterns:
		return "a list of channels or patterns"
	case Channels:
		return "a list of channels"
	case Network:
		return "the URL of an LCM network"
	}
	return "the path of a file"
}

// example is a line that would be right.
func (t Type) example(param string) string {
	values := map[Type]string{
		Int: "10", Float: "0.5", Bool: "true", Duration: "5ms", Channel: "PING", Pattern: "PING",
		Patterns: "[PING, PONG]", Channels: "[PING, PONG]", Network: "udpm://239.255.76.67:7667", File: "data/real.lcmlog",
	}
	return fmt.Sprintf("for example %s: %s", param, values[t])
}

// bound writes Min or Max.
func (t Type) bound(b float64) string {
	switch t {
	case Duration:
		return metasim.Time(b).String()
	case Patterns, Channels:
		return strconv.FormatFloat(b, 'f', -1, 64) + " of them"
	}
	return strconv.FormatFloat(b, 'g', -1, 64)
}

// Error writes "model ping: rounds is -5; write at least 1".
func (e *ParamError) Error() string {
	return fmt.Sprintf("model %s: %s %s; %s", e.Model, e.Param, e.Wrong, e.Remedy)
}

// Unwrap returns the cause, such as fs.ErrNotExist for a file.
func (e *ParamError) Unwrap() error { return e.Err }

// Error writes one parameter a line.
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
