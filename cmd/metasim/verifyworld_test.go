package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metasim verify compares the states of a world that is alone with those that secondaries make, which cross borders, and with systems in clients of their own beside them.
func TestVerifyOfAWorld(t *testing.T) {
	s := newStage(t)
	s.file("w.sdf", strings.Replace(rolling(), `<plugin filename="dummy"`, `<plugin filename="f" name="gz::sim::systems::LockStep"><plugin filename="metasim" name="metasim::systems::Odometer"/></plugin>
<plugin filename="dummy"`, 1))
	e := s.metasim("verify", "w.sdf", "--runners", "1,3", "--iterations", "120", "--json")
	require.Zero(t, e.status, e.err)
	var v worldVerdict
	require.NoError(t, json.Unmarshal([]byte(e.out), &v))
	assert.True(t, v.Equal)
	require.Len(t, v.Runs, 5, "alone, and each number over mem and unix")
	for _, r := range v.Runs {
		assert.Equal(t, v.Runs[0].StateHash, r.StateHash)
		assert.Zero(t, r.DiffersAt)
		assert.Equal(t, r.Runners > 0, r.RunAheadS > 0, "%+v", r)
	}
	text := s.metasim("verify", "w.sdf", "--runners", "2", "--iterations", "5", "--transport", "mem")
	require.Zero(t, text.status, text.err)
	assert.Contains(t, text.out, "2 secondaries   mem   ")
	assert.Contains(t, text.out, "equal: 2 runs, one state after each of 5 steps\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"w.sdf"}, "nothing says how many steps of the world are compared; use --iterations"},
		{[]string{"w.sdf", "--iterations", "5", "--runners", "0"}, "--runners has 0; write whole numbers from 1 to 64, as in 1,2,3"},
		{[]string{"w.sdf", "--iterations", "5", "--transport", "pigeon"}, `--runtimes is "pigeon"`},
		{[]string{"none.sdf", "--iterations", "5"}, "none.sdf"},
	} {
		e := s.metasim(append([]string{"verify"}, c.args...)...)
		assert.Equal(t, 2, e.status, e.err)
		assert.Contains(t, e.err, c.want)
	}
	s.clean()
}

// Where texts begin to differ, by line.
func TestFirstDifference(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"1 a\n2 b\n", "1 a\n2 b\n", 0}, {"1 a\n2 b\n", "1 a\n2 c\n", 2}, {"1 a\n", "1 a\n2 b\n", 2}, {"", "1 a\n", 1}} {
		assert.Equal(t, c.want, firstDifference([]byte(c.a), []byte(c.b)))
	}
	v := worldVerdict{Runs: []worldRun{{}, {Runners: 2, Transport: "shm", DiffersAt: 7}}}
	assert.ErrorContains(t, v.failure(), "with 2 secondaries over shm they differ from iteration 7 on")
}
