package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/metasim"
)

const ms = metasim.Millisecond

func load(t *testing.T, file string, set ...string) *Scenario {
	t.Helper()
	s, _, err := Load(file, Overrides{Set: set})
	require.NoError(t, err)
	return s
}

func TestTheShippedScenariosLoadWithoutAWarning(t *testing.T) {
	files, err := filepath.Glob("*.metasim.yaml")
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		s, warnings, err := Load(file, Overrides{})
		require.NoError(t, err)
		assert.Empty(t, warnings, file)
		assert.Equal(t, strings.TrimSuffix(file, ".metasim.yaml"), s.Name)
		for i := range s.Clients {
			assert.NotEmpty(t, s.Clients[i].Model, "%s needs nothing but metasim", file)
		}
		_, err = delay.NewTable(s.Seed, s.Rules)
		assert.NoError(t, err, file)
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"authority", "cart-pole", "cell", "cells", "lcmlog-replay", "mix-200", "phold", "ping-pong", "ring", "star"}, names)
	assert.Len(t, load(t, "mix-200.metasim.yaml").Clients, 200)
}

func TestPingPongIsWhatTheReadmePromises(t *testing.T) {
	s := load(t, "ping-pong.metasim.yaml")
	assert.Equal(t, uint64(1), s.Seed)
	assert.Equal(t, []Client{
		{Name: "pinger", Entry: "pinger", Dir: s.Dir, Count: 1, Model: "ping",
			With: map[string]any{"rounds": int64(10), "out": "PING", "in": "PONG"}},
		{Name: "ponger", Entry: "ponger", Dir: s.Dir, Count: 1, Model: "echo", With: map[string]any{"in": "PING", "out": "PONG"}},
	}, s.Clients)
	assert.Equal(t, []delay.Rule{
		{From: "pinger", To: "ponger", Spec: delay.Spec{Delay: delay.Constant(5 * ms)}},
		{From: "ponger", To: "pinger", Spec: delay.Spec{Delay: delay.Constant(50 * ms)}},
	}, s.Rules)
}

func TestDefaults(t *testing.T) {
	s := load(t, "ping-pong.metasim.yaml", "seed=0")
	assert.Zero(t, s.Until)
	assert.Zero(t, s.Rate)
	assert.Equal(t, uint32(metasim.DefaultMaxSteps), s.MaxSteps)
	assert.Equal(t, 30*time.Second, s.StartTimeout)
	assert.False(t, s.Clients[0].Detach)
	assert.Equal(t, metasim.DefaultMemory, s.Memory)
	assert.Equal(t, metasim.DefaultCascade, s.Cascade)
	assert.Nil(t, s.AheadOf())
}

func TestEveryKeyArrives(t *testing.T) {
	s := load(t, "testdata/good/everything.metasim.yaml")
	assert.Equal(t, uint64(0xdeadbeefdeadbeef), s.Seed)
	assert.Equal(t, 1500*ms, s.Until)
	assert.Equal(t, 0.5, s.Rate)
	assert.Equal(t, uint32(20), s.MaxSteps)
	assert.Equal(t, 2*time.Minute, s.StartTimeout)
	assert.Equal(t, 64<<20, s.Memory)
	assert.Equal(t, 1<<30, s.Cascade)
	assert.Equal(t, map[string]int{"tick": 64 << 10}, s.AheadOf())
	dir, err := filepath.Abs("testdata/good")
	require.NoError(t, err)
	ears := map[string]any{"channels": []any{"T.*"}}
	for i := range s.Clients {
		assert.Equal(t, dir, s.Clients[i].Dir)
		s.Clients[i].Dir = ""
	}
	assert.Equal(t, []Client{
		{Name: "tick", Entry: "tick", Count: 1, Model: "source", Detach: true, Ahead: 64 << 10, With: map[string]any{
			"channel": "TICK", "period": "10ms", "start": "1ms", "count": int64(5), "size": int64(0)}},
		{Name: "ear-0", Entry: "ear", Index: 0, Count: 2, Model: "sink", With: ears},
		{Name: "ear-1", Entry: "ear", Index: 1, Count: 2, Model: "sink", With: ears},
		{Name: "shell", Entry: "shell", Count: 1, Run: []string{"sh", "-c", "exit 0", "1"}, HangTimeout: time.Minute,
			Env: []string{"RATE=100", "EMPTY=", "Path=a=b"}, WorkDir: filepath.Join(dir, "data")},
		{Name: "robot.arm_1-0", Entry: "robot.arm_1", Count: 1, External: true},
	}, s.Clients)
	least, bursts := 10*ms, delay.GilbertElliott{GoodToBad: 0.1, BadToGood: 0.5, LossBad: 1}
	assert.Equal(t, []delay.Spec{
		{Delay: delay.Constant(5 * ms)},
		{Delay: delay.Constant(250 * metasim.Microsecond), Loss: delay.Bernoulli(0.001), Order: delay.FIFO,
			Bandwidth: 1_500_000, Duplicate: 0.25},
		{Delay: delay.Uniform{Max: ms}, Loss: delay.Bernoulli(0)},
		{Delay: delay.Normal{Mean: 20 * ms, StdDev: 4 * ms, Min: &least}, Loss: bursts},
		{Delay: delay.Exponential{Mean: 20 * ms, Min: &least},
			Loss: delay.GilbertElliott{GoodToBad: 0.1, BadToGood: 0.5, LossGood: 0.01, LossBad: 0.9}},
		{Delay: delay.LogNormal{Mean: 20 * ms, StdDev: 4 * ms, Min: &least}},
		{Delay: delay.Gamma{Mean: 20 * ms, StdDev: 4 * ms, Min: &least}},
		{Delay: delay.Empirical{5 * ms, 7250 * metasim.Microsecond, 6 * ms}},
		{Delay: delay.Empirical{ms, 2500 * metasim.Microsecond}},
	}, specs(s.Rules))
	assert.Equal(t, delay.Rule{From: "tick", To: "ear-*", Channel: "T*K", Spec: s.Rules[1].Spec}, s.Rules[1])
}

func specs(rules []delay.Rule) []delay.Spec {
	specs := make([]delay.Spec, len(rules))
	for i, r := range rules {
		specs[i] = r.Spec
	}
	return specs
}

// All keys of the language are lower-case words, and an override splits a path on dots: parameters are no exception.
func TestParametersOfModelsAreLowerCaseWords(t *testing.T) {
	for _, m := range catalog.Models() {
		for _, p := range m.Params {
			assert.Regexp(t, `^[a-z][a-z0-9_]*$`, p.Name, m.Name)
		}
	}
}

func TestSourcesThatAreNoScenario(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	require.NoError(t, os.WriteFile(large, []byte(strings.Repeat("#\n", 1<<19)+"x"), 0o600))
	nuls := filepath.Join(dir, "nuls.yaml")
	require.NoError(t, os.WriteFile(nuls, make([]byte, 100_000), 0o600))
	latin1 := filepath.Join(dir, "latin1.yaml")
	require.NoError(t, os.WriteFile(latin1, []byte("name: caf\xe9\n"), 0o600))
	for file, says := range map[string]string{
		dir:                           dir + ": is a directory; name the *.metasim.yaml file in it",
		filepath.Join(dir, "no.yaml"): filepath.Join(dir, "no.yaml") + ": there is no such file; check the path",
		large:                         large + ": is larger than 1 MiB; use count for many clients, and patterns for many links",
		nuls:                          nuls + ":1:1: has a control character (0x00) here; a scenario is plain text",
		latin1:                        latin1 + ":1:10: is no UTF-8 text here; save the file as UTF-8",
		os.DevNull:                    os.DevNull + ": is no regular file; copy the scenario into a file first",
	} {
		_, _, err := Load(file, Overrides{})
		assert.EqualError(t, err, says)
	}
}

// A hundred thousand clients are the limit, and are still looked through in no time worth mentioning.
func TestManyClients(t *testing.T) {
	s, warnings, err := Parse("many.yaml", []byte(`
name: many
until: 1s
clients:
  - {name: s, model: source, count: 50000, with: {channel: A, period: 1s}}
  - {name: e, model: sink, count: 50000, with: {channels: [A]}}
links:
  - {from: s-4*9, to: e-49999, delay: 1ms}
`), Overrides{})
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Len(t, s.Clients, 100_000)
	assert.Equal(t, "e-49999", s.Clients[99_999].Name)
}

func TestWhatIsTooLargeToLookThroughIsSaid(t *testing.T) {
	_, warnings, err := Parse("huge.yaml", []byte(`
name: huge
until: 1s
clients:
  - {name: p, model: phold, count: 20000, with: {lps: 20000, population: 1, remote: 0.1, mean: 1s, lookahead: 1ms}}
`), Overrides{})
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	assert.Contains(t, warnings[0].Message, "too large to look for rules that match no link")
}

// A byte order mark, which some editors write, is no part of the text.
func TestAByteOrderMarkIsNoMistake(t *testing.T) {
	const text = "name: x\nuntil: 1s\nclients: [{name: a, model: sink, with: {channels: [A]}}]\n"
	s, _, err := Parse("x.yaml", []byte("\ufeff"+text), Overrides{})
	require.NoError(t, err)
	require.Equal(t, "x", s.Name)
	_, _, err = Parse("x.yaml", []byte("\ufeffnam: x\n"+text), Overrides{})
	require.ErrorContains(t, err, `x.yaml:1:1: nam: "nam" is unknown here`)
}

// Whatever a distribution has and lacks, what a message says to add is then accepted.
func TestWhatIsSuggestedIsAccepted(t *testing.T) {
	add := regexp.MustCompile(`; add (\w+: \w[\w.]*)`)
	for _, has := range []string{
		"normal: {mean: 1ms}", "normal: {mean: 1ms, stddev: 100us}", "normal: {min: 3s, stddev: 1ms}", "normal: {stddev: 1ms}",
		"exponential: {mean: 1ms}", "exponential: {mean: 1ns}", "exponential: {min: 5s}", "lognormal: {mean: 2ms, stddev: 1ms}",
		"lognormal: {min: 2s}", "gamma: {mean: 7us}", "gamma: {min: 300ms, stddev: 1s}", "uniform: {max: 3ms}", "uniform: {min: 1h}",
		"uniform: {max: 0s}", "uniform: {max: 1ns}", "uniform: {min: 0s}",
	} {
		text := "name: x\nuntil: 1s\nclients: [{name: a, model: sink, with: {channels: [A]}}]\nlinks: [{delay: {" + has + "}}]\n"
		_, _, err := Parse("x.yaml", []byte(text), Overrides{})
		found := add.FindAllStringSubmatch(fmt.Sprint(err), -1)
		require.NotEmpty(t, found, "%s: %v", has, err)
		for _, f := range found {
			text = strings.TrimSuffix(text, "}}}]\n") + ", " + f[1] + "}}}]\n"
		}
		_, _, err = Parse("x.yaml", []byte(text), Overrides{})
		require.NoError(t, err, text)
	}
}

// A host may be silent as long as the transport says, unless the scenario does.
func TestPeerTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "peer_timeout: 5s": 5 * time.Second, "peer_timeout: off": NoPeerTimeout} {
		s, _, err := Parse("x.yaml", []byte("name: x\nuntil: 1s\nclients: [{name: a, external: true}]\n"+text), Overrides{})
		require.NoError(t, err)
		require.Equal(t, want, s.PeerTimeout, text)
	}
}
