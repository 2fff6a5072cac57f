package types

import (
	"fmt"

	"metasim/internal/problem"
)

// maxProblems is how many problems are kept: a file with more is probably no .lcm file.
const maxProblems = 100

// problems collects the problems of files.
type problems struct {
	list []problem.Problem
	more int // how many are not kept
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

// err returns the problems as a *[problem.Invalid], or nil if there are none.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	if ps.more > 0 {
		ps.list[maxProblems-1].Message += fmt.Sprintf(" (and %d more problems; mend these first)", ps.more+1)
	}
	return &problem.Invalid{Problems: problem.Sorted(ps.list)}
}
