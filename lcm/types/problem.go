package types

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Position is a place in a file. Lines and columns count from 1, columns in characters.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// A Problem is one thing wrong with a file: what, and what to do.
type Problem struct {
	Position
	Message string
}

func (p Problem) String() string { return p.Position.String() + ": " + p.Message }

// An Invalid is the error of files that cannot be used. It holds the problems that were found, sorted by file and
// place: there is at least one.
type Invalid struct{ Problems []Problem }

// Error writes one problem a line.
func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is how many problems are told: who has more has something else in hand than a .lcm file.
const maxProblems = 100

// problems collects what is wrong.
type problems struct {
	list []Problem
	more int // not kept
}

func (ps *problems) add(at Position, format string, args ...any) {
	if ps.full() {
		ps.more++
		return
	}
	ps.list = append(ps.list, Problem{at, fmt.Sprintf(format, args...)})
}

// full reports whether no more problems are kept.
func (ps *problems) full() bool { return len(ps.list) == maxProblems }

// err returns what was collected, or nil.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	if ps.more > 0 {
		ps.list[maxProblems-1].Message += fmt.Sprintf(" (and %d more problems; mend these first)", ps.more+1)
	}
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Invalid{ps.list}
}
