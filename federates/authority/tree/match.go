package tree

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
)

// A Comparison compares what is there with what a condition says.
type Comparison string

// The comparisons.
const (
	Equal          Comparison = "eq"
	NotEqual       Comparison = "ne"
	Less           Comparison = "lt"
	LessOrEqual    Comparison = "le"
	Greater        Comparison = "gt"
	GreaterOrEqual Comparison = "ge"
)

// holds reports whether an order (-1, 0, 1) satisfies a comparison.
func (c Comparison) holds(order int) bool {
	switch c {
	case Equal:
		return order == 0
	case NotEqual:
		return order != 0
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	}
	return order >= 0
}

func (c Comparison) valid() bool {
	switch c {
	case Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual:
		return true
	}
	return false
}

// A Guard compares what a variable of a pattern of data matched: both must be numbers, or both texts; truth values and null are only equal or not.
type Guard struct {
	Variable string     `json:"variable"` // as in the pattern: "$1"
	Compare  Comparison `json:"compare"`
	Value    string     `json:"value"` // JSON: 18, "oak", true, null
}

// A guard is one that is ready to be used.
type guard struct {
	Guard
	value any
}

// readyData reads a pattern of data and its guards.
func readyData(text string, guards []Guard) (pattern any, ready []guard, err error) {
	if pattern, err = readJSON([]byte(text)); err != nil {
		return nil, nil, fmt.Errorf("%w: the pattern of data %q is not JSON: %w", ErrCondition, clip(text), err)
	}
	if len(guards) > maxParts {
		return nil, nil, fmt.Errorf("%w: there are %d guards, at most %d", ErrCondition, len(guards), maxParts)
	}
	for _, g := range guards {
		value, err := readJSON([]byte(g.Value))
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("%w: guard of %s: the value %q is not JSON: %w", ErrCondition, clip(g.Variable), clip(g.Value), err)
		case !isVariable(g.Variable):
			return nil, nil, fmt.Errorf("%w: guard of %q: a variable is $ and digits", ErrCondition, clip(g.Variable))
		case !g.Compare.valid():
			return nil, nil, fmt.Errorf("%w: guard of %s compares with %q; it is eq, ne, lt, le, gt or ge", ErrCondition, g.Variable, clip(string(g.Compare)))
		case !strings.Contains(text, g.Variable):
			return nil, nil, fmt.Errorf("%w: guard of %s: the pattern %q has no such variable", ErrCondition, g.Variable, clip(text))
		}
		ready = append(ready, guard{g, value})
	}
	return pattern, ready, nil
}

// maxValueNesting bounds arrays and objects within each other.
const maxValueNesting = 100

// A member is a name and a value of an object. Members are in the order of their names.
type member struct {
	name  string
	value any
}

// readJSON reads one value: nil, bool, json.Number, string, []any, or []member.
func readJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after the value")
	}
	return v, nil
}

func readValue(d *json.Decoder, nesting int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if nesting > maxValueNesting {
		return nil, fmt.Errorf("values are nested more than %d deep", maxValueNesting)
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := readValue(d, nesting+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		object := []member{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readValue(d, nesting+1)
			if err != nil {
				return nil, err
			}
			at, found := find(object, name.(string))
			if found {
				object[at].value = v
			} else {
				object = slices.Insert(object, at, member{name.(string), v})
			}
		}
		_, err := d.Token()
		return object, err
	}
	return token, nil
}

// find returns where a member is, or would be.
func find(object []member, name string) (int, bool) {
	return slices.BinarySearchFunc(object, name, func(m member, name string) int { return cmp.Compare(m.name, name) })
}

func isVariable(s string) bool {
	return len(s) > 1 && s[0] == '$' && strings.Trim(s[1:], "0123456789") == ""
}

// A binding is what a variable matched.
type binding struct {
	variable string
	value    any
}

// matchData reports whether data are JSON that matches a pattern and its guards.
func matchData(pattern any, guards []guard, data []byte) bool {
	value, err := readJSON(data)
	if err != nil {
		return false // data that are no JSON match nothing
	}
	var bound []binding
	if !matchValue(pattern, value, &bound) {
		return false
	}
	for _, g := range guards {
		for _, b := range bound {
			if b.variable == g.Variable && !g.holds(b.value) {
				return false
			}
		}
	}
	return true
}

// matchValue matches a value, and notes what the variables are.
func matchValue(pattern, value any, bound *[]binding) bool {
	switch p := pattern.(type) {
	case string:
		if isVariable(p) {
			for _, b := range *bound {
				if b.variable == p && !equal(b.value, value) {
					return false
				}
			}
			*bound = append(*bound, binding{p, value})
			return true
		}
		return p == "_" || equal(p, value)
	case []any:
		v, ok := value.([]any)
		if !ok || len(v) != len(p) {
			return false
		}
		for i := range p {
			if !matchValue(p[i], v[i], bound) {
				return false
			}
		}
		return true
	case []member:
		v, ok := value.([]member)
		if !ok {
			return false
		}
		for _, m := range p {
			if at, found := find(v, m.name); !found || !matchValue(m.value, v[at].value, bound) {
				return false
			}
		}
		return true
	}
	return equal(pattern, value)
}

// equal compares two values; numbers by what they are, not by how they are written.
func equal(a, b any) bool {
	if order, ok := compare(a, b); ok {
		return order == 0
	}
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case []member:
		y, ok := b.([]member)
		return ok && slices.EqualFunc(x, y, func(x, y member) bool { return x.name == y.name && equal(x.value, y.value) })
	case bool, nil:
		return a == b
	}
	return false
}

// compare orders two numbers or two texts.
func compare(a, b any) (order int, ok bool) {
	switch x := a.(type) {
	case json.Number:
		y, isNumber := b.(json.Number)
		return compareNumbers(x, y), isNumber
	case string:
		y, isText := b.(string)
		return cmp.Compare(x, y), isText
	}
	return 0, false
}

// compareNumbers compares exactly; numbers with a large exponent, which would take much memory exactly, as floating-point numbers.
func compareNumbers(a, b json.Number) int {
	x, okX := exact(a)
	y, okY := exact(b)
	if okX && okY {
		return x.Cmp(y)
	}
	f, _ := a.Float64() // an infinity if it is too large
	g, _ := b.Float64() // likewise
	return cmp.Compare(f, g)
}

func exact(n json.Number) (*big.Rat, bool) {
	if len(n) > 100 || strings.ContainsAny(string(n), "eE") {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

// holds reports whether a value satisfies a guard.
func (g *guard) holds(value any) bool {
	if order, ok := compare(value, g.value); ok {
		return g.Compare.holds(order)
	}
	switch g.Compare {
	case Equal:
		return equal(value, g.value)
	case NotEqual:
		return !equal(value, g.value)
	}
	return false
}
