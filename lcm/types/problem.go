package types

import (
	"fmt"

	"metasim/internal/problem"
)

// A Position is a place in a file. Lines and columns count from 1, columns in characters.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// maxProblems is how many problems are kept: with more than that the file is probably no .lcm file.
const maxProblems = 100

// problems collects what is wrong.
type problems struct {
	list []problem.Problem
	more int // not kept
}

func (ps *problems) add(at Position, format string, args ...any) {
	if ps.full() {
		ps.more++
		return
	}
	ps.list = append(ps.list, problem.Problem{File: at.File, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)})
}

// full reports whether no more problems are kept.
func (ps *problems) full() bool { return len(ps.list) == maxProblems }

// err returns what was collected as a *[problem.Invalid], or nil.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	if ps.more > 0 {
		ps.list[maxProblems-1].Message += fmt.Sprintf(" (and %d more problems; mend these first)", ps.more+1)
	}
	return &problem.Invalid{Problems: problem.Sorted(ps.list)}
}
