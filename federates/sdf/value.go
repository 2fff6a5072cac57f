package sdf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Values are read as Gazebo reads them, with C++'s functions: of text that only begins with a number that number counts. A vector is
// read number by number, a pose and a color word by word. Only a single number may be nan or infinite.

// A kind is the type of a value, with its bounds.
type kind struct {
	name        string
	least, most *float64
}

func newKind(text string) *kind {
	name, bounds, _ := strings.Cut(text, "[")
	least, most, _ := strings.Cut(strings.TrimSuffix(bounds, "]"), ",")
	return &kind{name, bound(least), bound(most)}
}

func bound(text string) *float64 {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return &f
	}
	return nil
}

// beginning matches a number at the beginning of text.
var beginning = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?`)

// dangling matches an exponent without digits, which makes a number of a list unreadable.
var dangling = regexp.MustCompile(`^[eE][+-]?`)

// special matches what a single number may be beside digits.
var special = regexp.MustCompile(`^(?i)[+-]?(nan|inf(inity)?)`)

// hexadecimal matches a single number of that base.
var hexadecimal = regexp.MustCompile(`^(?i)[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?\d+)?`)

// numbers reads the numbers of a vector, at most as many as are asked for.
func numbers(text string, most int) (list []float64) {
	for rest := strings.TrimLeft(text, " \t\r\n"); len(list) < most; {
		found := beginning.FindString(rest)
		f, err := strconv.ParseFloat(found, 64)
		if found == "" || err != nil || dangling.MatchString(rest[len(found):]) {
			break
		}
		list = append(list, f)
		rest = strings.TrimLeft(rest[len(found):], " \t\r\n")
	}
	return list
}

// Numbers reads so many finite numbers of a plugin, with spaces between them, as Go writes them.
func Numbers(text string, n int) ([]float64, bool) {
	words := strings.Fields(text)
	xs := make([]float64, len(words))
	for i, w := range words {
		x, err := strconv.ParseFloat(w, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		xs[i] = x
	}
	return xs, len(words) == n
}

// words reads the numbers of a pose or a color, one a word; none if a word is no finite number.
func words(text string) (list []float64) {
	for word := range strings.FieldsSeq(text) {
		f, _, ok := number(word)
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		list = append(list, f)
	}
	return list
}

// number reads a single number, and says whether it is the whole of the text.
func number(text string) (f float64, whole bool, ok bool) {
	text = strings.TrimSpace(text)
	found := hexadecimal.FindString(text)
	if found == "" {
		found = beginning.FindString(text)
	}
	if found == "" {
		found = special.FindString(text)
	}
	written := found
	if strings.ContainsAny(found, "xX") && !strings.ContainsAny(found, "pP") {
		written += "p0"
	}
	f, err := strconv.ParseFloat(written, 64)
	return f, found == text, err == nil
}

// truth reads a bool.
func truth(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// value notes what is wrong with a value of some kind. What names it in a message.
func (p *problems) value(at Place, what, text string, k *kind, required bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		if required {
			p.wrong(at, "%s is empty; write %s", what, k.example())
		}
		return
	}
	switch k.name {
	case "bool":
		if _, ok := truth(text); !ok {
			p.wrong(at, "%s is %q; write true or false", what, text)
		}
	case "double", "float", "int", "uint", "uint64":
		p.single(at, what, text, k)
	case "vector3", "vector2d", "vector2i", "time":
		want := map[string]int{"vector3": 3}[k.name]
		want = max(want, 2)
		if len(numbers(text, want)) < want {
			p.wrong(at, "%s is %q; write %s", what, text, k.example())
		}
	case "color":
		if list := words(text); len(list) < 3 || len(list) > 4 || outside(list) {
			p.wrong(at, "%s is %q; write %s", what, text, k.example())
		}
	}
}

// outside reports whether a part of a color is not between 0 and 1.
func outside(list []float64) bool {
	for _, f := range list {
		if f < 0 || f > 1 {
			return true
		}
	}
	return false
}

// single notes what is wrong with one number.
func (p *problems) single(at Place, what, text string, k *kind) {
	f, whole, ok := number(text)
	integer := k.name != "double" && k.name != "float"
	switch {
	case !ok, integer && (math.IsNaN(f) || !fits(f, k.name)):
		p.wrong(at, "%s is %q; write %s", what, text, k.example())
	case k.least != nil && f < *k.least || k.most != nil && f > *k.most:
		p.wrong(at, "%s is %s; write a number %s", what, text, k.bounds())
	case math.IsNaN(f) || math.IsInf(f, 0):
		p.warn(at, "%s is %s, with which nothing can be computed, so the default counts; write a number", what, text)
	case !whole || integer && f != math.Trunc(f):
		p.warn(at, "%s is %q, of which only the number at the beginning counts; remove the rest", what, text)
	}
}

// fits reports whether an integer type of C++ holds a number.
func fits(f float64, kind string) bool {
	if kind == "uint64" {
		return math.Abs(f) < 1<<64
	}
	if kind == "uint" {
		return math.Abs(f) < 1<<64 // strtoul takes it, and the upper bits are lost
	}
	return f >= math.MinInt32 && f <= math.MaxInt32
}

// example says what a value of a kind is like.
func (k *kind) example() string {
	switch k.name {
	case "bool":
		return "true or false"
	case "double", "float":
		return "a number, as in 0.5" + strings.TrimSuffix(" "+k.bounds(), " ")
	case "int", "uint", "uint64":
		return "a whole number, as in 5" + strings.TrimSuffix(" "+k.bounds(), " ")
	case "vector3":
		return "three numbers, as in 0 0 1"
	case "vector2d", "vector2i", "time":
		return "two numbers, as in 1 1"
	case "pose":
		return "six numbers, as in 0 0 1 0 0 0"
	case "color":
		return "three or four numbers from 0 to 1: red, green, blue, and 1 for opaque"
	}
	return "some text"
}

func (k *kind) bounds() string {
	switch {
	case k.least != nil && k.most != nil:
		return fmt.Sprintf("from %g to %g", *k.least, *k.most)
	case k.least != nil:
		return fmt.Sprintf("from %g on", *k.least)
	case k.most != nil:
		return fmt.Sprintf("up to %g", *k.most)
	}
	return ""
}
