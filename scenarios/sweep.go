package scenarios

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"metasim/delay"
	"metasim/internal/problem"
	"metasim/metasim"
)

// MaxRuns is how many runs a sweep may have, and how many values an axis.
const MaxRuns = 1_000_000

// Product returns how many runs a sweep over some axes has: one for each combination of their values, or the largest int if there are more.
func Product(axes []Axis) int {
	n := 1
	for _, a := range axes {
		if n > math.MaxInt/max(1, len(a.Values)) {
			return math.MaxInt
		}
		n *= len(a.Values)
	}
	return n
}

// ParseAxis reads an axis as the flag --vary takes it: "seed=1,2,3", or "seed={from: 1, to: 100}".
func ParseAxis(text string) (Axis, error) {
	target, values, ok := strings.Cut(text, "=")
	if !ok || strings.TrimSpace(values) == "" {
		return Axis{}, varyError(text, "varies nothing; write path=value,value, such as seed=1,2,3, or path={from: 1, to: 100}")
	}
	n, problems := parse(varyFlag, []byte("["+values+"]"))
	if problems != nil {
		return Axis{}, varyError(target, problems[0].Message)
	}
	if items := n.items(); len(items) == 1 && items[0].child("from") != nil {
		n = items[0]
	}
	a, err := newAxis(target, n)
	if err != nil {
		return Axis{}, varyError(target, err.Error())
	}
	return a, nil
}

// varyFlag names the flag in problems.
const varyFlag = "--vary"

func varyError(target, message string) error {
	return &problem.Invalid{Problems: []problem.Problem{{File: varyFlag, Path: target, Message: message}}}
}

// sweep checks and reads what a sweep varies. A run of the scenario alone does not use it.
func (c *checker) sweep() (axes []Axis) {
	p := path{"sweep"}
	n := c.sound(p)
	if n == nil {
		return nil
	}
	m, _ := n.value.(*mapping) // the schema lets nothing else pass
	for _, e := range m.entries {
		a, err := newAxis(e.key, e.value)
		if err != nil {
			c.fail(p.to(e.key), "%s", err)
			continue
		}
		axes = append(axes, a)
	}
	if n := Product(axes); n > MaxRuns {
		c.fail(p, "makes %d runs, and a sweep has at most %d; leave values out", n, MaxRuns)
	}
	return axes
}

// newAxis reads the values at which a path is tried.
func newAxis(target string, n *node) (Axis, error) {
	a := Axis{Path: target}
	switch {
	case !targetSyntax.MatchString(target):
		return a, errors.New("is no path; write keys with dots and numbers in brackets, such as links[1].delay")
	case target == "sweep" || strings.HasPrefix(target, "sweep."):
		return a, errors.New("varies the sweep itself; name another value of the scenario")
	}
	if m, ok := n.value.(*mapping); ok {
		values, err := rangeOf(m)
		a.Values = values
		return a, err
	}
	seen := map[string]bool{}
	for _, item := range n.items() {
		text, err := json.Marshal(item.plain())
		if err != nil {
			return a, fmt.Errorf("has a value that cannot be written as JSON: %w", err)
		}
		if seen[string(text)] {
			return a, fmt.Errorf("has %s twice; write each value once", text)
		}
		seen[string(text)] = true
		a.Values = append(a.Values, string(text))
	}
	if len(a.Values) == 0 || len(a.Values) > MaxRuns {
		return a, fmt.Errorf("has %d values; write 1 to %d, as in [1, 2, 3] or {from: 1, to: 100}", len(a.Values), MaxRuns)
	}
	return a, nil
}

// A valueRange is what a file writes as {from, to} with step or count.
type valueRange struct {
	from, to, step, count *node
}

// rangeOf returns the values of a range: both ends belong to it.
func rangeOf(m *mapping) ([]string, error) {
	var r valueRange
	for _, e := range m.entries {
		switch e.key {
		case "from":
			r.from = e.value
		case "to":
			r.to = e.value
		case "step":
			r.step = e.value
		case "count":
			r.count = e.value
		default:
			return nil, fmt.Errorf("has %q, and a range is from, to, and step or count; write, for example, {from: 1, to: 100}", e.key)
		}
	}
	if r.from == nil || r.to == nil {
		return nil, errors.New("is a range without from or to; write, for example, {from: 1, to: 100}")
	}
	if r.step != nil && r.count != nil {
		return nil, errors.New("has step and count; keep one of them")
	}
	if a, b, ok := integers(r.from, r.to); ok {
		return r.whole(a, b, strconvInt)
	}
	from, isText := r.from.text()
	to, both := r.to.text()
	if isText && both {
		a, errA := delay.ParseDuration(from)
		b, errB := delay.ParseDuration(to)
		if err := cmp.Or(errA, errB); err != nil {
			return nil, err
		}
		return r.whole(int64(a), int64(b), func(ns int64) string { return strconv.Quote(metasim.Time(ns).String()) })
	}
	return r.real()
}

// integers returns two whole numbers; false if one is something else.
func integers(from, to *node) (a, b int64, ok bool) {
	a, okA := from.value.(int64)
	b, okB := to.value.(int64)
	return a, b, okA && okB
}

func strconvInt(i int64) string { return strconv.FormatInt(i, 10) }

// whole returns the values of a range of whole numbers, or of durations in nanoseconds.
func (r *valueRange) whole(from, to int64, write func(int64) string) (values []string, err error) {
	if from > to {
		return nil, fmt.Errorf("goes from %s to %s; write the smaller one first", write(from), write(to))
	}
	span := uint64(to) - uint64(from) // right also where to - from is more than an int64 holds
	step, err := r.wholeStep(span)
	if err != nil {
		return nil, err
	}
	if n := span / step; n >= MaxRuns {
		return nil, fmt.Errorf("has %d values, and a sweep has at most %d runs; leave some out, as in {from: 1, to: 100}", max(n, n+1), MaxRuns) // n+1 is 0 where a uint64 ends
	}
	for i := range span/step + 1 {
		values = append(values, write(int64(uint64(from)+i*step)))
	}
	return values, nil
}

// wholeStep is the distance between two values of a range, never 0; span is that between the first and the last.
func (r *valueRange) wholeStep(span uint64) (uint64, error) {
	_, isTime := r.from.text()
	step := int64(1)
	switch {
	case r.count != nil:
		count, isWhole := r.count.value.(int64)
		if !isWhole || count < 2 || count > MaxRuns || span%uint64(count-1) != 0 || span == 0 {
			return 0, fmt.Errorf("has count %s; write a whole number from 2 on that divides the range into equal whole steps, or write step", show(r.count.value))
		}
		return span / uint64(count-1), nil
	case r.step != nil && isTime:
		t, err := delay.ParseDuration(r.step.word())
		if err != nil {
			return 0, err
		}
		step = int64(t)
	case r.step != nil:
		step, _ = r.step.value.(int64) // anything else is refused below, as 0
	case isTime:
		return 0, errors.New("is a range of durations without step or count; write, for example, {from: 1ms, to: 9ms, step: 2ms}")
	}
	if step <= 0 {
		return 0, errors.New("needs a positive step of the same kind as from and to: a whole number, or a duration")
	}
	return uint64(step), nil
}

// real returns the values of a range of other numbers, to twelve digits: 0.3 and not 0.30000000000000004.
func (r *valueRange) real() (values []string, err error) {
	from, to := r.from.number(math.NaN()), r.to.number(math.NaN())
	if !(from <= to) {
		return nil, fmt.Errorf("goes from %s to %s; write two numbers or two durations, the smaller one first", show(r.from.value), show(r.to.value))
	}
	var steps, step float64
	switch {
	case r.count != nil:
		steps = r.count.number(0) - 1
		step = (to - from) / steps
	case r.step != nil:
		step = r.step.number(0)
		steps = math.Floor((to-from)/step + 1e-9)
	}
	if !(step > 0) || !(steps >= 1) || steps >= MaxRuns || steps != math.Trunc(steps) {
		return nil, fmt.Errorf("needs a positive step, or a count of 2 or more, with at most %d values", MaxRuns)
	}
	for i := range int(steps) + 1 {
		values = append(values, strconv.FormatFloat(from+float64(i)*step, 'g', 12, 64))
	}
	return values, nil
}
