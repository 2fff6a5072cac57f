package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/internal/problem"
	"metasim/metasim"
)

const dotted = `
name: dotted
until: 1s
clients:
  - {name: robot, model: source, with: {channel: A, period: 1s}}
  - {name: robot.arm, model: source, with: {channel: B, period: 1s}}
  - {name: ear, model: sink, with: {channels: [A, B]}}
links:
  - {delay: 5ms}
  - {from: robot, delay: 6ms}
`

func overridden(t *testing.T, o Overrides) *Scenario {
	t.Helper()
	s, _, err := Parse("dotted.yaml", []byte(dotted), o)
	require.NoError(t, err)
	return s
}

func TestOverrides(t *testing.T) {
	with := func(client int, param string) func(*Scenario) any {
		return func(s *Scenario) any { return s.Clients[client].With[param] }
	}
	rule := func(i int) func(*Scenario) any { return func(s *Scenario) any { return s.Rules[i].Spec.Delay } }
	for _, c := range []struct {
		set  []string
		get  func(*Scenario) any
		want any
	}{
		{[]string{"until=3s"}, func(s *Scenario) any { return s.Until }, 3 * metasim.Second},
		{[]string{"name = spaced "}, func(s *Scenario) any { return s.Name }, nil},
		{[]string{"clients[0].with.period=2s"}, with(0, "period"), "2s"},
		{[]string{"clients.robot.with.period=2s"}, with(0, "period"), "2s"},
		{[]string{"clients.robot.arm.with.period=2s"}, with(1, "period"), "2s"},
		{[]string{"clients[robot.arm].with.period=2s"}, with(1, "period"), "2s"},
		{[]string{"clients.robot.with.count=4"}, with(0, "count"), int64(4)},
		{[]string{"clients.ear.with.channels=[A, 'B|C']"}, with(2, "channels"), []any{"A", "B|C"}},
		{[]string{"clients.ear.with.channels[1]=.*"}, with(2, "channels"), []any{"A", ".*"}},
		{[]string{"links[1].delay=50ms"}, rule(1), delay.Constant(50 * ms)},
		{[]string{"links[0].delay={uniform: {min: 1ms, max: 2ms}}"}, rule(0), delay.Uniform{Min: ms, Max: 2 * ms}},
		{[]string{"links[0].delay=1ms", "links[0].delay=2ms"}, rule(0), delay.Constant(2 * ms)},
		{[]string{"links[0].from=a=b"}, func(s *Scenario) any { return s.Rules[0].From }, "a=b"},
		{[]string{"links=[]"}, func(s *Scenario) any { return len(s.Rules) }, 0},
		{[]string{"clients.ear.on_exit=detach"}, func(s *Scenario) any { return s.Clients[2].Detach }, true},
		{[]string{"clients.ear.count=2"}, func(s *Scenario) any { return s.Clients[3].Name }, "ear-1"},
	} {
		s, _, err := Parse("dotted.yaml", []byte(dotted), Overrides{Set: c.set})
		if c.want == nil {
			assert.Error(t, err, c.set)
			continue
		}
		if assert.NoError(t, err, c.set) {
			assert.Equal(t, c.want, c.get(s), c.set)
		}
	}
}

func TestSeedAndUntilComeAfterSet(t *testing.T) {
	s := overridden(t, Overrides{Set: []string{"seed=3", "until=3s"}, Seed: "0x10", Until: "4s"})
	assert.Equal(t, uint64(16), s.Seed)
	assert.Equal(t, 4*metasim.Second, s.Until)
}

// An override repairs what the file has wrong: it is applied before the checks.
func TestAnOverrideMendsTheFile(t *testing.T) {
	text := []byte("name: x\nclients:\n  - {name: s, model: source, with: {channel: A, period: soon}}\n")
	_, _, err := Parse("x.yaml", text, Overrides{})
	require.Error(t, err)
	_, _, err = Parse("x.yaml", text, Overrides{Set: []string{"clients.s.with.period=1s", "clients.s.with.count=3"}})
	assert.NoError(t, err)
}

func TestAnErrorOfAnOverrideNamesTheFlag(t *testing.T) {
	_, _, err := Parse("dotted.yaml", []byte(dotted), Overrides{Set: []string{"clients.robot.with.period=5"}})
	var invalid *problem.Invalid
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, []problem.Problem{{File: "--set", Path: "clients[0].with.period", Message: "5 has no unit; write 5ms, 5s, ..."}},
		invalid.Problems)
}

func TestOfTwoNamesThatFitTheLongerIsMeant(t *testing.T) {
	for _, order := range [][2]string{{"a", "a.b"}, {"a.b", "a"}} {
		text := "name: x\nclients:\n  - {name: " + order[0] + ", external: true}\n  - {name: " + order[1] + ", external: true}\n"
		s, _, err := Parse("x.yaml", []byte(text), Overrides{Set: []string{"clients.a.b.on_exit=detach"}})
		require.NoError(t, err)
		for _, c := range s.Clients {
			assert.Equal(t, c.Name == "a.b", c.Detach, c.Name)
		}
	}
}
