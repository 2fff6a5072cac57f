package sdf

import (
	"fmt"

	"metasim/internal/problem"
	"metasim/internal/suggest"
)

// A complaint is an error at a place: the rest of the file is not read.
type complaint struct {
	at      Place
	message string
}

func (c complaint) Error() string { return c.problem().String() }

func (c complaint) problem() problem.Problem {
	return problem.Problem{File: c.at.File, Line: c.at.Line, Column: c.at.Column, Message: c.message}
}

// problems collects what is wrong with a document, and what is probably not meant.
type problems struct {
	errors, warnings []problem.Problem
	colons           bool // names may have "::" in them, as they could before SDF 1.8
}

func (p *problems) wrong(at Place, format string, args ...any) {
	p.errors = append(p.errors, complaint{at, fmt.Sprintf(format, args...)}.problem())
}

func (p *problems) warn(at Place, format string, args ...any) {
	p.warnings = append(p.warnings, complaint{at, fmt.Sprintf(format, args...)}.problem())
}

// asked says what to write instead of an unknown word.
func asked(word string, known []string) string { return suggest.Word(word, known) }
