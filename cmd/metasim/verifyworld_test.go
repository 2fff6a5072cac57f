package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
	"metasim/run"
)

// metasim verify compares the states of a world that is alone with those that secondaries make, which cross borders, and with systems in clients of their own beside them.
func TestVerifyOfAWorld(t *testing.T) {
	s := newStage(t)
	s.file("w.sdf", strings.Replace(rolling(), `<plugin filename="dummy"`, `<plugin filename="f" name="gz::sim::systems::LockStep"><plugin filename="metasim" name="metasim::systems::Odometer"/></plugin>
<plugin filename="dummy"`, 1))
	e := s.metasim("verify", "w.sdf", "--runners", "0,1,3", "--iterations", "120", "--json")
	require.Zero(t, e.status, e.err)
	var v worldVerdict
	require.NoError(t, json.Unmarshal([]byte(e.out), &v))
	assert.True(t, v.Equal)
	require.Len(t, v.Runs, 7, "alone, and each number over mem and unix")
	for _, r := range v.Runs {
		assert.Equal(t, v.Runs[0].StateHash, r.StateHash)
		assert.Zero(t, r.DiffersAt)
		assert.Equal(t, r.Runners > 0, r.RunAheadS > 0, "%+v", r)
	}
	measured := s.metasim("verify", "w.sdf", "--runners", "2", "--iterations", "220", "--transport", "mem", "--balance", "measured")
	require.Zero(t, measured.status, measured.err)
	assert.Contains(t, measured.out, "equal: 2 runs, one state after each of 220 steps\n")
	text := s.metasim("verify", "w.sdf", "--runners", "2", "--iterations", "5", "--transport", "mem")
	require.Zero(t, text.status, text.err)
	assert.Contains(t, text.out, "alone           in-process ")
	assert.Contains(t, text.out, "2 secondaries   mem        ")
	assert.Contains(t, text.out, "equal: 2 runs, one state after each of 5 steps\n")
	s.file("idle.sdf", strings.NewReplacer("SHAPE", "<box><size>8 8 8</size></box>", "gz::sim::systems::Physics", "metasim::systems::Odometer").Replace(roomy))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"idle.sdf", "--iterations", "5"}, "idle.sdf:2: the world has no system that moves models here"},
		{[]string{"w.sdf"}, "nothing says how many steps of the world are compared; use --iterations"},
		{[]string{"w.sdf", "--iterations", "5", "--runners", "-1"}, "--runners has -1; write whole numbers from 0 to 64, as in 0,1,2,3"},
		{[]string{"w.sdf", "--iterations", "5", "--transport", "pigeon"}, `--runtimes is "pigeon"`},
		{[]string{"none.sdf", "--iterations", "5"}, "none.sdf"},
	} {
		e := s.metasim(append([]string{"verify"}, c.args...)...)
		assert.Equal(t, 2, e.status, e.err)
		assert.Contains(t, e.err, c.want)
	}
	s.clean()
}

var worldSteps = flag.Int("world-steps", 400, "how many steps TestAnyNumberOverAnyTransport compares; the acceptance test of distributed worlds wants 10000, which take minutes")

// A world alone, and with any number of secondaries over every transport, started in another order each time: one state after each step, where models cross borders, meet and part all the time.
func TestAnyNumberOverAnyTransport(t *testing.T) {
	s := newStage(t)
	s.file("w.sdf", rollingOver(16, 5))
	s.patience = max(patience, time.Duration(*worldSteps)*100*time.Millisecond)
	runners, transports := "2,8", "mem,shm"
	if *worldSteps >= 10000 {
		runners, transports = "1,2,3,8", strings.Join(run.Transports, ",")
	}
	e := s.metasim("verify", "w.sdf", "--runners", runners, "--transport", transports, "--iterations", strconv.Itoa(*worldSteps), "--json")
	require.Zero(t, e.status, e.err)
	var v worldVerdict
	require.NoError(t, json.Unmarshal([]byte(e.out), &v))
	for _, r := range v.Runs {
		t.Logf("%d secondaries, %s: %d hand-overs, %d merges, %d splits, %.4g s ahead", r.Runners, r.Transport, r.Handovers, r.Merges, r.Splits, r.RunAheadS)
		assert.Zero(t, r.DiffersAt)
		if r.Runners > 1 {
			least := uint64(*worldSteps / 50)
			assert.GreaterOrEqual(t, r.Merges, least)
			assert.GreaterOrEqual(t, r.Splits, least)
			assert.GreaterOrEqual(t, r.Handovers, least/4)
		}
	}
	if *worldSteps >= 10000 {
		require.Len(t, v.Runs, 1+4*len(run.Transports))
		assert.GreaterOrEqual(t, v.Runs[len(v.Runs)-1].Handovers, uint64(200))
	}
}

// The world of TestAnyNumberOverAnyTransport is a file too, for whoever wants to run it.
func TestTheWorldThatRolls(t *testing.T) {
	golden.Equal(t, "../../federates/levels/testdata/rolling.sdf", rollingOver(16, 5)+"\n")
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

// rolling is a world whose balls roll down a slope, bounce off a wall, and come back, over the border of two levels.
func rolling() string { return rollingOver(8, 2) }

// rollingOver is that world with so many balls and levels.
func rollingOver(balls, levels int) string {
	var b strings.Builder
	b.WriteString(`<sdf version="1.9"><world name="rolling"><gravity>3 0 -9</gravity><physics name="5ms" type="ignored"><max_step_size>0.005</max_step_size></physics>
<plugin filename="f" name="gz::sim::systems::Physics"/>`)
	for i, plane := range []string{"<normal>0 0 1</normal>", "<normal>-1 0 0</normal>"} {
		fmt.Fprintf(&b, `<model name="plane%d"><static>true</static><pose>%d 0 0 0 0 0</pose><link name="l"><collision name="c"><geometry><plane>%s</plane></geometry>
<surface><friction><ode><mu>0</mu></ode></friction><bounce><restitution_coefficient>1</restitution_coefficient></bounce></surface></collision></link></model>`, i, 6*i, plane)
	}
	plan, width := "", 16/levels
	for i := range levels {
		plan += fmt.Sprintf(`<level name="L%d"><pose>%g 0 0 0 0 0</pose><geometry><box><size>%d 60 60</size></box></geometry><buffer>1</buffer></level>`, i, 8-(float64(i)+0.5)*float64(width), width)
	}
	for i := range balls {
		fmt.Fprintf(&b, `<model name="b%d"><pose>%g %g 1 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.4</radius></sphere></geometry>
<surface><friction><ode><mu>0</mu></ode></friction><bounce><restitution_coefficient>1</restitution_coefficient></bounce></surface></collision></link></model>`, i, -0.7*float64(i), 0.9*float64(i/2))
		plan += fmt.Sprintf(`<performer name="p%d"><ref>b%d</ref><geometry><box><size>1 1 1</size></box></geometry></performer>`, i, i)
	}
	return b.String() + `<plugin filename="dummy" name="gz::sim">` + plan + "</plugin></world></sdf>"
}
