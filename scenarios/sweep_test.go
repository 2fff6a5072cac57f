package scenarios

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is varied, as a list and as a range, in a file and in a flag.
func TestAxes(t *testing.T) {
	for text, want := range map[string][]string{
		"seed=1,2,3":                                                {"1", "2", "3"},
		"seed={from: 3, to: 5}":                                     {"3", "4", "5"},
		"seed={from: 1, to: 9, step: 4}":                            {"1", "5", "9"},
		"seed={from: 1, to: 8, step: 4}":                            {"1", "5"},
		"seed={from: -2, to: 2, count: 3}":                          {"-2", "0", "2"},
		"rate={from: 0, to: 0.3, step: 0.1}":                        {"0", "0.1", "0.2", "0.3"},
		"rate={from: 1, to: 2.0, count: 5}":                         {"1", "1.25", "1.5", "1.75", "2"},
		"until={from: 1ms, to: 1.5ms, step: 250us}":                 {`"1ms"`, `"1.25ms"`, `"1.5ms"`},
		"until={from: 1s, to: 2s, count: 3}":                        {`"1s"`, `"1.5s"`, `"2s"`},
		"links[0].delay=1ms, {uniform: {min: 1ms}}":                 {`"1ms"`, `{"uniform":{"min":"1ms"}}`},
		"clients.a.with.text='x, y', \"{from: 1}\"":                 {`"x, y"`, `"{from: 1}"`},
		"clients.a.run=[[sh, -c, 'a=b']], [[other]]":                {`[["sh","-c","a=b"]]`, `[["other"]]`},
		"seed={from: 9223372036854775806, to: 9223372036854775807}": {"9223372036854775806", "9223372036854775807"},
	} {
		a, err := ParseAxis(text)
		require.NoError(t, err, text)
		require.Equal(t, want, a.Values, text)
	}
	for text, want := range map[string]string{
		"seed":                         "varies nothing",
		"seed= ":                       "varies nothing",
		"a..b=1":                       "is no path",
		"sweep.seed=1":                 "varies the sweep itself",
		"seed={from: 5, to: 1}":        "write the smaller one first",
		"seed={from: 1, to: 10000000}": "has 10000000 values, and a sweep has at most 1000000 runs",
		"seed={from: -9223372036854775807, to: 9223372036854775807}": "has 18446744073709551615 values",
		"seed={from: -9223372036854775808, to: 9223372036854775807}": "has 18446744073709551615 values", // one more, in fact
		"seed={from: 1, to: 5, step: 0}":                             "a positive step of the same kind",
		"seed={from: 1, to: 5, step: -1}":                            "a positive step of the same kind",
		"seed={from: 1, to: 5, step: 1ms}":                           "a positive step of the same kind",
		"seed={from: 1, to: 5, count: 3, step: 2}":                   "keep one",
		"seed={from: 1, to: 6, count: 3}":                            "equal whole steps",
		"seed={from: 1, to: 6, count: 1}":                            "equal whole steps",
		"seed={from: 1, to: 6, by: 1}":                               `has "by"`,
		"seed={from: 1}":                                             "without from or to",
		"until={from: 1ms, to: 2ms}":                                 "without step or count",
		"until={from: 1ms, to: 2}":                                   "two numbers or two durations",
		"until={from: x, to: y}":                                     "not a duration",
		"rate={from: 0, to: 1.5}":                                    "needs a positive step",
		"rate={from: 0, to: 1.5, step: .nan}":                        "needs a positive step",
		"rate={from: 0, to: 1.5, step: 1e-9}":                        "at most 1000000 values",
	} {
		_, err := ParseAxis(text)
		require.ErrorContains(t, err, want, text)
	}
}

// The axes of a file come in its order, a run of its own knows nothing of them, and too many runs are refused with their number.
func TestSweepOfAFile(t *testing.T) {
	const clients = "\nclients: [{name: s, model: source, with: {channel: A, period: 1s}}, {name: k, model: sink, with: {channels: [A]}}]\nuntil: 2s\n"
	s, _, err := Parse("x.yaml", []byte("name: x\nsweep: {seed: {from: 1, to: 3}, 'links[0].delay': [1ms, 2ms]}\nlinks: [{delay: 5ms}]"+clients), Overrides{})
	require.NoError(t, err)
	require.Equal(t, []Axis{{"seed", []string{"1", "2", "3"}}, {"links[0].delay", []string{`"1ms"`, `"2ms"`}}}, s.Sweep)
	require.Equal(t, 6, Product(s.Sweep))
	with, err := s.Resolved(true)
	require.NoError(t, err)
	s, _, err = Parse("x.yaml", []byte("name: x\nlinks: [{delay: 5ms}]"+clients), Overrides{})
	require.NoError(t, err)
	without, err := s.Resolved(true)
	require.NoError(t, err)
	require.JSONEq(t, string(without), string(with))
	for text, want := range map[string]string{
		"{seed: {from: 1, to: 1000}, until: {from: 1ms, to: 10000ms, step: 1ms}}": "makes 10000000 runs, and a sweep has at most 1000000",
		"{seed: 5}":      "write, for example",
		"[seed]":         "write, for example",
		"{seed: []}":     "has 0 values",
		"{'a b..': [1]}": "is no path",
	} {
		_, _, err = Parse("x.yaml", []byte("name: x\nsweep: "+text+clients), Overrides{})
		require.ErrorContains(t, err, want, text)
	}
	many := Axis{"a", make([]string, MaxRuns)}
	require.Equal(t, math.MaxInt, Product([]Axis{many, many, many, many}))
}
