package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What looks endless, or like a circle, and is not. The bad scenarios of testdata are the other half of this test.
func TestWhatCanEndIsLetThrough(t *testing.T) {
	const (
		once   = "  - {name: start, model: source, with: {channel: A, period: 1s, count: 1}}\n"
		always = "  - {name: start, model: source, with: {channel: A, period: 1s}}\n"
		there  = "  - {name: a, model: echo, with: {in: A, out: B}}\n"
		back   = "  - {name: b, model: echo, with: {in: B, out: A}}\n"
		ping   = "  - {name: p, model: ping, with: {out: A, in: B, rounds: 3}}\n"
		ear    = "  - {name: e, model: sink, with: {channels: [\".*\"]}}\n"
		shell  = "  - {name: s, run: [go]}\n"
		slow   = "links:\n  - {delay: 1ms}\n"
	)
	for name, text := range map[string]string{
		"a ping and its echo":           "clients:\n" + ping + there + slow,
		"a circle that loses":           "clients:\n" + once + there + back + "links:\n  - {delay: 1ms, loss: 0.1}\n",
		"a circle that nobody feeds":    "clients:\n" + there + back + slow,
		"a circle with a command":       "clients:\n" + once + there + back + shell + slow,
		"a circle with an end":          "until: 1s\nclients:\n" + always + there + back + slow,
		"a circle slowed by bandwidth":  "until: 1s\nclients:\n" + once + there + back + "links:\n  - {bandwidth: 1Mbit}\n",
		"a circle slowed in one place":  "until: 1s\nclients:\n" + once + there + back + "links:\n  - {channel: B, delay: 1ns}\n",
		"a source without end, and end": "until: 1s\nclients:\n" + always + ear,
		"a chain without delay":         "clients:\n" + once + there + ear,
	} {
		_, warnings, err := Parse("x.yaml", []byte("name: x\n"+text), Overrides{})
		assert.NoError(t, err, name)
		assert.Empty(t, warnings, name)
	}
}
