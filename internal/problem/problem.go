// Package problem says what is wrong with a file that a person wrote: where, what, and what to write instead.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/internal/plain"
)

// A Problem is one thing that is wrong with a file; or, as a warning, that is probably not meant; or, as advice, that makes
// a run slower than it need be.
type Problem struct {
	// File is the file as it was named, or the flag that gave the value: "--set", "--seed", "--until".
	File string `json:"file"`
	// Line and Column count from 1, columns in characters; both are 0 where no place in a file can be named.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Path is where in a scenario: "clients[0].with.rounds"; empty for the whole of it, and in other files.
	Path string `json:"path"`
	// Kind is what advice is about: OneStepLink and its like. It is set too in warnings of which a report of the run would
	// make advice, and else empty.
	Kind string `json:"kind,omitempty"`
	// Message is what is wrong, and what to write instead.
	Message string `json:"message"`
}

// The kinds of advice, on a scenario before it runs and on a run.
const (
	// OneStepLink is a rule, or the lack of one, that leaves links without a least delay: their ends take turns.
	OneStepLink = "one-step-link"
	// MissingPromise is a client of which it is not known when it sends next.
	MissingPromise = "missing-promise"
	// ZeroDelayCycle is a cycle of links without a least delay.
	ZeroDelayCycle = "zero-delay-cycle"
	// UnusedSubscription is a channel that a client subscribes to and no client publishes.
	UnusedSubscription = "unused-subscription"
)

// String writes "file:line:column: path: message" and leaves out what is not known.
func (p Problem) String() string {
	where := p.File
	if p.Line > 0 {
		where += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	if p.Path != "" && "--"+p.Path != p.File { // --seed: seed: says nothing more
		where += ": " + p.Path
	}
	return plain.Text(where + ": " + p.Message)
}

// An Invalid is the error of a file that cannot be used. It holds at least one problem, in the order of the file.
type Invalid struct{ Problems []Problem }

// Error writes one problem a line.
func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// most is how many problems Sorted returns one by one.
const most = 1000

// Sorted orders problems by file and place, those of flags last, and drops repetitions. Of more than most it returns the first,
// and one that says how many more there are.
func Sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.ofFlag(), b.ofFlag()), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Message, b.Message))
	})
	problems = slices.Compact(problems)
	if more := len(problems) - most; more > 0 {
		last := Problem{File: problems[0].File, Message: fmt.Sprintf("has %d more problems; mend these first", more)}
		problems = append(problems[:most:most], last)
	}
	return problems
}

// ofFlag is 1 for a problem of a flag, which has no line, and 0 for others.
func (p Problem) ofFlag() int {
	if p.Line == 0 {
		return 1
	}
	return 0
}
