package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/problem"
)

// Advice comes after the warnings, and metasim run gives none.
func TestValidateAdvises(t *testing.T) {
	s := newStage(t)
	s.file("x.yaml", `name: x
until: 10ms
clients:
  - {name: s, model: source, with: {channel: A, period: 1ms}}
  - {name: k, model: sink, with: {channels: [A, B]}}
`)
	const warns = `^warning: x\.yaml:5:49: clients\[1\]\.with\.channels\[1\]: no client publishes .*\n`
	e := s.metasim("validate", "x.yaml")
	require.Equal(t, 0, e.status)
	require.Equal(t, "x.yaml can be run; it has warnings: 1\n", e.out)
	require.Regexp(t, warns+`advice: x\.yaml:1:1: links: no rule gives a delay to s -> k on A: .*\n$`, e.err)

	e = s.metasim("validate", "x.yaml", "--json")
	require.Empty(t, e.err)
	var v validation
	e.object(t, &v)
	require.True(t, v.OK)
	require.Len(t, v.Warnings, 1)
	require.Equal(t, problem.UnusedSubscription, v.Warnings[0].Kind)
	require.Len(t, v.Advice, 1)
	require.Equal(t, problem.OneStepLink, v.Advice[0].Kind)
	require.Equal(t, "links", v.Advice[0].Path)

	e = s.metasim("run", "x.yaml")
	require.Equal(t, 0, e.status)
	require.Regexp(t, warns, e.err)
	require.NotContains(t, e.out+e.err, "advice:")
}
