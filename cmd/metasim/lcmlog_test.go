package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/lcm"
)

// What a run sent goes back in at its own times, and is sent again as it was.
func TestARunGoesBackInAtItsOwnTimes(t *testing.T) {
	s := newStage(t)
	s.file("later.yaml", "name: later\nuntil: 1s\nclients:\n"+
		"  - {name: s, model: source, with: {channel: A, period: 30ms, start: 70ms}}\n  - {name: k, model: sink, with: {channels: [A]}}\n")
	o, e := s.run("later.yaml")
	require.Equal(t, 0, e.status)
	require.Equal(t, 0, s.metasim("log", o.RunDir, "--lcm", "one.lcmlog").status)
	s.file("again.yaml", "name: again\nuntil: 1s\nclients:\n"+
		"  - {name: s, model: lcmlog, with: {file: one.lcmlog, start: recorded}}\n  - {name: k, model: sink, with: {channels: [A]}}\n")
	again, e := s.run("again.yaml")
	require.Equal(t, 0, e.status)
	require.Equal(t, o.Digest, again.Digest, "the same messages at the same times")
	require.Equal(t, 0, s.metasim("log", again.RunDir, "--lcm", "two.lcmlog").status)
	require.Equal(t, s.read("one.lcmlog"), s.read("two.lcmlog"))
}

// What of a log is not published is said before the run, and in its result.
func TestALogWithEventsThatCannotBePublished(t *testing.T) {
	s := newStage(t)
	eventLog(s, "odd.lcmlog", lcm.Event{Time: 1_000_000, Channel: "A"}, lcm.Event{Time: 1 << 60, Channel: "A"},
		lcm.Event{Time: 1_500_000, Channel: "\xff"}, lcm.Event{Time: 2_000_000, Channel: "A"})
	s.file("odd.yaml", "name: odd\nuntil: 3s\nclients:\n"+
		"  - {name: p, model: lcmlog, with: {file: odd.lcmlog}}\n  - {name: k, model: sink, with: {channels: [A]}}\n")
	e := s.metasim("validate", "odd.yaml")
	require.Equal(t, 0, e.status)
	require.Contains(t, e.err, "odd.yaml:4:43: clients[0].with.file: has events whose time is none of the recording's: 1, "+
		"the first event 1 on \"A\" at 1152921504606846976 us, after 1000000 us; they are skipped and counted")
	require.Contains(t, e.err, `names are no UTF-8: 1, the first event 2 on "\xff"; they are`)
	o, e := s.run("odd.yaml")
	require.Equal(t, 0, e.status)
	require.JSONEq(t, `{"published":2,"skipped_bytes":0,"stray_events":1,"unnamed_events":1}`, string(o.Clients[1].Result))
}
