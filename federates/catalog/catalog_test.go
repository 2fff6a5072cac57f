package catalog

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// needed returns the parameters that a model must have.
func needed(s *Spec) map[string]any {
	with := map[string]any{}
	for _, p := range s.Params {
		if p.Required {
			with[p.Name] = example(p)
		}
	}
	return with
}

func TestEveryModelIsDescribed(t *testing.T) {
	last := ""
	for _, s := range Models() {
		assert.Less(t, last, s.Name, "in order of name")
		last = s.Name
		assert.NotEmpty(t, s.Doc, s.Name)
		v, err := s.decode(needed(&s))
		require.NoError(t, err, s.Name)
		for _, p := range s.Params {
			assert.NotEmpty(t, p.Doc, "%s.%s", s.Name, p.Name)
			assert.False(t, p.Required && p.Default != nil, "%s.%s", s.Name, p.Name)
			if p.Default != nil || p.Required {
				assert.Contains(t, v, p.Name, s.Name)
			}
			right := Spec{Params: []Param{p}}.Check(map[string]any{p.Name: example(p)})
			assert.NoError(t, right, "the example in an error is right")
		}
	}
	assert.NotEmpty(t, last)
}

// example is a value such as an error's remedy proposes.
func example(p Param) any {
	return map[Type]any{Int: 10, Float: 0.5, Bool: true, Duration: "5ms", Channel: "PING", Pattern: "PING",
		Patterns: []any{"PING", "PONG"}, Channels: []any{"PING", "PONG"}, Network: "udpm://239.255.76.67:7667", Start: "recorded", File: "data/real.lcmlog", Word: "wind", Words: []any{"wind", "physics"}, Ints: []any{100, 200}, Rate: "60000/1001",
		Streams: []any{map[string]any{"node": "left", "camera": "/eye", "clip": []any{0, 0, 320, 240}}}}[p.Type]
}

func TestNumbersOfEveryDecoder(t *testing.T) {
	spec, err := Lookup("ping")
	require.NoError(t, err)
	for _, n := range []any{7, int64(7), uint64(7), 7.0, json.Number("7")} {
		v, err := spec.decode(map[string]any{"in": "A", "out": "B", "rounds": n})
		require.NoError(t, err, "%T", n)
		assert.Equal(t, int64(7), v["rounds"], "%T", n)
		assert.Equal(t, int64(8), v["size"], "the default")
	}
	spec, err = Lookup("lcmlog")
	require.NoError(t, err)
	for _, x := range []any{2, uint64(2), 2.0, json.Number("2.0")} {
		v, err := spec.decode(map[string]any{"file": "f", "speed": x})
		require.NoError(t, err, "%T", x)
		assert.Equal(t, 2.0, v["speed"], "%T", x)
	}
	spec, err = Lookup("source")
	require.NoError(t, err)
	v, err := spec.decode(map[string]any{"channel": "A", "period": "2.5ms"})
	require.NoError(t, err)
	assert.Equal(t, 2500*metasim.Microsecond, v["period"])
}

func TestErrorsSayWhatToWrite(t *testing.T) {
	for _, c := range []struct {
		model string
		with  map[string]any
		want  string
	}{
		{"source", map[string]any{"channel": "A", "period": 5},
			"model source: period is 5, not a duration; write for example period: 5ms"},
		{"source", map[string]any{"channel": "A", "period": "0s"},
			`model source: period is "0s"; write at least 1ns`},
		{"source", map[string]any{"channel": "", "perod": "5ms"},
			"model source: channel is \"\", not the name of a channel; write for example channel: PING\n" +
				"model source: perod is no parameter of it; did you mean \"period\"?\n" +
				"model source: period is missing; write for example period: 5ms"},
		{"sink", map[string]any{"channels": "A"},
			`model sink: channels is "A", not a list of channels or regular expressions; ` +
				`write for example channels: [PING, PONG]`},
		{"sink", map[string]any{"channels": []any{}},
			"model sink: channels is []; write at least 1 of them"},
		{"ping", map[string]any{"in": "A", "out": "B", "rounds": 2.5},
			"model ping: rounds is 2.5, not a whole number; write for example rounds: 10"},
		{"ping", map[string]any{"in": "A", "out": "B", "rounds": "3"},
			`model ping: rounds is "3", not a whole number; write for example rounds: 10`},
		{"phold", map[string]any{"lps": 8, "population": 1, "remote": 1.5, "mean": "1ms", "lookahead": "2ms"},
			"model phold: remote is 1.5; write at most 1"},
		{"phold", map[string]any{"lps": 8, "population": 1, "remote": 1, "mean": "1ms", "lookahead": "2ms"},
			"model phold: lookahead is 2ms, more than the mean of 1ms; " +
				"write a lookahead of at most the mean"},
		{"cartpole-plant", map[string]any{"sample": "1.5ms"},
			"model cartpole-plant: sample is 1.5ms, no multiple of the period of 1ms; write 1ms"},
		{"bridge", map[string]any{"url": "udp://x", "in": []any{"A"}},
			`model bridge: url is no LCM network: "udp://x" has the scheme "udp"; use udpm, tcpq or file; ` +
				`write udpm://group:port?ttl=N or tcpq://host:port`},
		{"bridge", map[string]any{"url": "file://x", "in": []any{"A"}},
			"model bridge: url is an event log, which no program joins in real time; play one with the model lcmlog; " +
				"make one with metasim run --lcm or metasim log --lcm"},
		{"bridge", map[string]any{"url": "udpm://", "serve": true},
			"model bridge: serve is true, and udpm:// has no server; leave it out\n" +
				"model bridge: in and out name no channel; name what goes in, what goes out, or both: " +
				"for example in: [PING, PONG]"},
		{"bridge", map[string]any{"url": "tcpq://", "in": []any{"A", strings.Repeat("x", 64), "A"}},
			`model bridge: in cannot be: the channel "` + strings.Repeat("x", 64) +
				"\" has 64 bytes, and LCM allows 63; shorten it; mend the name\n" +
				"model bridge: in names A twice; name it once"},
		{"bridge", map[string]any{"url": "tcpq://", "out": []any{"A"}, "period": "1us"},
			`model bridge: period is "1us"; write at least 100us`},
		{"pong", nil, `there is no model "pong"; did you mean "ping"?`},
	} {
		_, err := Make(c.model, c.with, Env{})
		assert.EqualError(t, err, c.want)
	}
	_, err := Make("source", map[string]any{"channel": "A", "period": 5}, Env{})
	var p *ParamError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, "period", p.Param)
}

func TestPortsFollowTheParameters(t *testing.T) {
	enough := map[string]map[string]any{
		"source": {"channel": "A", "period": "5ms"},
		"sink":   {"channels": []any{"A", "B.*"}},
		"ping":   {"in": "A", "out": "B", "rounds": 10},
		"ring":   {"in": "A", "out": "B", "first": true},
		"phold":  {"lps": 8, "population": 2, "remote": 0.5, "mean": "1ms", "lookahead": "100us"},
		"bridge": {"url": "udpm://:7700", "in": []any{"A"}, "out": []any{"B.*"}},
	}
	for _, c := range []struct {
		model string
		more  map[string]any
		want  Ports
	}{
		{"source", nil, Ports{Publications: []string{"A"}, Ending: Endless}},
		{"source", map[string]any{"count": 3}, Ports{Publications: []string{"A"}, Ending: Leaves}},
		{"sink", nil, Ports{Subscriptions: []string{"A", "B.*"}, Ending: Reacts}},
		{"ping", nil, Ports{Publications: []string{"B"}, Subscriptions: []string{"A"}, Ending: Leaves}},
		{"ring", nil, Ports{Publications: []string{"B"}, Subscriptions: []string{"A"}, Ending: Endless, Forwards: true}},
		{"ring", map[string]any{"first": false},
			Ports{Publications: []string{"B"}, Subscriptions: []string{"A"}, Ending: Reacts, Forwards: true}},
		{"phold", nil, Ports{Publications: []string{"lp-0", "lp-2"}, Subscriptions: []string{"lp-1"}, Ending: Endless}},
		{"bridge", nil, Ports{Publications: []string{"A"}, Subscriptions: []string{"B.*"}, Ending: Endless,
			Network: "udpm://239.255.76.67:7700"}},
		{"cartpole-estimator", nil, Ports{Publications: []string{"CARTPOLE_STATE"},
			Subscriptions: []string{"CARTPOLE_SENSORS"}, Ending: Reacts, Forwards: true}},
	} {
		with := map[string]any{}
		maps.Copy(with, enough[c.model])
		maps.Copy(with, c.more)
		got, err := Make(c.model, with, Env{Name: "lp-1", Entry: "lp", Index: 1, Count: 3})
		require.NoError(t, err)
		assert.Equal(t, c.want, got.Ports, c.model)
	}
}

// An order is of understudies: who writes one for another node hears that it counts for nothing.
func TestAnOrderOfWhoIsNoUnderstudy(t *testing.T) {
	for _, c := range []struct {
		with map[string]any
		want string
	}{
		{map[string]any{"order": 3}, "order: is 3, and counts for nothing, as the role is follower; write role: understudy, or leave order out"},
		{map[string]any{"role": "controller", "order": -1}, "order: is -1, and counts for nothing, as the role is controller; write role: understudy, or leave order out"},
		{map[string]any{"role": "understudy", "order": 3}, ""},
		{map[string]any{"role": "controller", "order": 0}, ""},
	} {
		in, err := Make("render-node", c.with, Env{})
		require.NoError(t, err)
		told := ""
		for _, d := range in.Doubts {
			told += d.Param + ": " + d.Wrong + "; " + d.Remedy
		}
		assert.Equal(t, c.want, told)
	}
}
