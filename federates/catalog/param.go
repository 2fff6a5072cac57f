package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"metasim/delay"
	"metasim/internal/suggest"
	"metasim/metasim"
)

// decode reads parameters against the table, and reports all that is wrong as ParamErrors.
func (s Spec) decode(with map[string]any) (map[string]any, error) {
	var wrong ParamErrors
	params := map[string]any{}
	read := func(p Param, written any) {
		value, err := p.read(written)
		if err != nil {
			wrong = append(wrong, err)
			return
		}
		params[p.Name] = value
	}
	names := make([]string, len(s.Params))
	for i, p := range s.Params {
		names[i] = p.Name
	}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		if i := slices.Index(names, name); i >= 0 {
			read(s.Params[i], with[name])
		} else {
			wrong = append(wrong, &ParamError{Param: name, Wrong: "is no parameter of it", Remedy: suggest.Word(name, names)})
		}
	}
	for _, p := range s.Params {
		switch _, written := with[p.Name]; {
		case written:
		case p.Required:
			wrong = append(wrong, &ParamError{Param: p.Name, Wrong: "is missing", Remedy: "write " + p.Type.example(p.Name)})
		case p.Default != nil:
			read(p, p.Default)
		}
	}
	if wrong == nil {
		return params, nil
	}
	for _, w := range wrong {
		w.Model = s.Name
	}
	return nil, wrong
}

// read converts a written value, or says what is wrong with it; the error's Model is still to be filled in.
func (p Param) read(written any) (any, *ParamError) {
	value, size, ok := p.Type.read(written)
	switch {
	case !ok:
		return nil, &ParamError{Param: p.Name, Wrong: fmt.Sprintf("is %s, not %s", show(written), texts[p.Type].noun),
			Remedy: "write " + p.Type.example(p.Name)}
	case p.Min != nil && size < *p.Min:
		return nil, &ParamError{Param: p.Name, Wrong: "is " + show(written), Remedy: "write at least " + p.Type.bound(*p.Min)}
	case p.Max != nil && size > *p.Max:
		return nil, &ParamError{Param: p.Name, Wrong: "is " + show(written), Remedy: "write at most " + p.Type.bound(*p.Max)}
	}
	return value, nil
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
	case Start:
		d, ok := duration(raw)
		switch raw {
		case "first":
			return metasim.Time(0), 0, true
		case "recorded":
			return Recorded, 0, true
		}
		return d, 0, ok
	case Patterns, Channels:
		list, ok := stringList(raw)
		return list, float64(len(list)), ok
	case Words:
		list, ok := stringList(raw)
		return list, float64(len(list)), ok && !slices.ContainsFunc(list, func(w string) bool { return !isWord(w) })
	case Ints:
		list, ok := intList(raw)
		return list, float64(len(list)), ok
	case Streams:
		list, ok := streamList(raw)
		return list, float64(len(list)), ok
	case Rate:
		f, ok := fraction(raw)
		return f, float64(f.Num) / float64(f.Den), ok
	case Word:
		s, ok := raw.(string)
		return s, float64(len(s)), ok && isWord(s)
	}
	s, ok := raw.(string)
	return s, float64(len(s)), ok && s != ""
}

// intList reads numbers that are not negative.
func intList(raw any) (list []uint64, ok bool) {
	given, ok := raw.([]any)
	for _, e := range given {
		n, whole := integer(e)
		if !whole || n < 0 {
			return nil, false
		}
		list = append(list, uint64(n))
	}
	return list, ok
}

// streamList reads streams; what is not written of a camera is that of Gazebo's.
func streamList(raw any) (list []Stream, ok bool) {
	given, ok := raw.([]any)
	for _, e := range given {
		text, err := json.Marshal(e)
		if err != nil {
			return nil, false
		}
		s := Stream{FOV: 1.047, Near: 0.1, Far: 100, Size: [2]int{640, 480}}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if d.Decode(&s) != nil || !isWord(s.Node) {
			return nil, false
		}
		if s.Camera == "" && s.Clip == [4]int{} {
			s.Clip[2], s.Clip[3] = s.Size[0], s.Size[1]
		}
		list = append(list, s)
	}
	return list, ok
}

// fraction reads "60000/1001" and 60.
func fraction(raw any) (Fraction, bool) {
	if n, ok := integer(raw); ok {
		return Fraction{uint32(n), 1}, n >= 1 && n <= math.MaxUint32
	}
	s, _ := raw.(string)
	above, below, divided := strings.Cut(s, "/")
	num, err := strconv.ParseUint(above, 10, 32)
	den := uint64(1)
	if divided && err == nil {
		den, err = strconv.ParseUint(below, 10, 32)
	}
	return Fraction{uint32(num), uint32(den)}, err == nil && num > 0 && den > 0
}

func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}) < 0
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

func stringList(raw any) ([]string, bool) {
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

// texts name each type for a person, and give an example.
var texts = map[Type]struct{ noun, example string }{
	Int:      {"a whole number", "10"},
	Float:    {"a number", "0.5"},
	Bool:     {"true or false", "true"},
	Duration: {"a duration", "5ms"},
	Channel:  {"the name of a channel", "PING"},
	Channels: {"a list of channels", "[PING, PONG]"},
	Pattern:  {"a channel or a regular expression", "PING"},
	Patterns: {"a list of channels or regular expressions", "[PING, PONG]"},
	File:     {"the path of a file", "data/real.lcmlog"},
	Word:     {"a name of letters, digits, '-', '_' and '.'", "wind"},
	Words:    {"a list of names of letters, digits, '-', '_' and '.'", "[wind, physics]"},
	Start:    {"first, recorded or a duration", "recorded"},
	Network:  {"the URL of an LCM network", "udpm://239.255.76.67:7667"},
	Ints:     {"a list of whole numbers from 0 on", "[100, 200]"},
	Rate:     {"a number of frames in a second, or a fraction of two whole numbers", "60000/1001"},
	Streams:  {"a list of streams, each with its node", "[{node: left, camera: /eye, clip: [0, 0, 320, 240]}]"},
}

// example is a line that would be right.
func (t Type) example(param string) string {
	return fmt.Sprintf("for example %s: %s", param, texts[t].example)
}

// bound writes Min or Max.
func (t Type) bound(b float64) string {
	switch t {
	case Duration:
		return metasim.Time(b).String()
	case Patterns, Channels, Words, Ints, Streams:
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
	return errors.Join(e.Unwrap()...).Error()
}

// Unwrap makes each of them reachable for errors.As and errors.Is.
func (e ParamErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, p := range e {
		errs[i] = p
	}
	return errs
}
