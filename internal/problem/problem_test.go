package problem

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The kinds are part of what commands print as JSON.
func TestTheKindsOfAdviceArePinned(t *testing.T) {
	assert.Equal(t, []string{"one-step-link", "missing-promise", "zero-delay-cycle", "unused-subscription"},
		[]string{OneStepLink, MissingPromise, ZeroDelayCycle, UnusedSubscription})
}

func TestProblemsComeInTheOrderOfTheFileAndOnce(t *testing.T) {
	at := func(line, column int, message string) Problem {
		return Problem{File: "f", Line: line, Column: column, Message: message}
	}
	flag := Problem{File: "--set", Path: "a", Message: "wrong"}
	assert.Equal(t, []Problem{at(1, 2, "b"), at(2, 1, "a"), at(2, 1, "c"), flag},
		Sorted([]Problem{flag, at(2, 1, "c"), at(2, 1, "a"), at(1, 2, "b"), at(2, 1, "c")}))

	var many []Problem
	for i := range most + 5 {
		many = append(many, at(i+1, 1, "x"))
	}
	told := Sorted(many)
	assert.Len(t, told, most+1)
	assert.Equal(t, "f: has 5 more problems; mend these first", told[most].String())
}
