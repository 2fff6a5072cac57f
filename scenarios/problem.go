package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Problem is one thing that is wrong with a scenario; or, as a warning, that is probably not meant; or, as advice, that
// makes a run slower than it need be.
type Problem struct {
	// File is the scenario file as it was named, or the flag that is to blame: "--set", "--seed", "--until".
	File string `json:"file"`
	// Line and Column count from 1; both are 0 where no place in a file can be named.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Path is where in the scenario: "clients[0].with.rounds"; empty for the whole of it.
	Path string `json:"path"`
	// Kind is what advice is about: OneStepLink and its like. It is set too in warnings of which a report of the run would
	// make advice, and else empty.
	Kind string `json:"kind,omitempty"`
	// Message is what is wrong, and what to write instead.
	Message string `json:"message"`
}

// String writes "file:line:column: path: message" and leaves out what is not known.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column))
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// An Invalid is the error of a scenario that cannot be used. It holds every problem that was found, in the order of
// the file: there is at least one.
type Invalid struct{ Problems []Problem }

// Error writes one problem a line.
func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is how many problems are told one by one.
const maxProblems = 1000

// sorted puts problems in the order in which a reader meets them, flags last, and drops repetitions. Of very many it
// keeps the first.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			boolean(a.Line == 0)-boolean(b.Line == 0),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Message, b.Message),
		)
	})
	problems = slices.Compact(problems)
	if more := len(problems) - maxProblems; more > 0 {
		last := Problem{File: problems[0].File, Message: fmt.Sprintf("has %d more problems; mend these first", more)}
		problems = append(problems[:maxProblems:maxProblems], last)
	}
	return problems
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
