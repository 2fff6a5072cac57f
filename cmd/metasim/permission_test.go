package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client uses the channels that the scenario allows it, and is told what it may do if it asks for others: a command by its lists, and a
// client from elsewhere, in another language.
func TestPermissions(t *testing.T) {
	echo := pythonEcho(t)
	s := raced(t)
	const text = `name: x
until: 1s
clients:
  - {name: sim, model: source, with: {channel: STATE, period: 100ms}}
  - {name: plant, run: [ECHO, "STATE", "OUT"], publish: [CMD, "LOG_.*"], subscribe: [STATE]}
  - {name: log, model: sink, with: {channels: [".*"]}}
`
	for out, refused := range map[string]bool{"CMD": false, "LOG_1": false, "CMDS": true} {
		s.file("c.yaml", strings.NewReplacer("ECHO", echo, "OUT", out).Replace(text))
		o, e := s.run("c.yaml")
		if !refused {
			require.Equal(t, 0, e.status, e.err)
			continue
		}
		require.Equal(t, 1, e.status)
		require.Contains(t, o.Error, `client "plant" publishes "CMDS" (did you mean "CMD"?), which the scenario does not allow: it may publish CMD or LOG_.*; `+
			"use these, or add it to the client's publish")
	}
	s.file("c.yaml", strings.NewReplacer("ECHO", echo, "OUT", "CMD", "subscribe: [STATE]", "subscribe: []").Replace(text))
	o, _ := s.run("c.yaml")
	require.Contains(t, o.Error, `client "plant" subscribes to "STATE", which the scenario does not allow: it may subscribe to nothing`)
	s.clean()
}

// An external client without lists may use what the scenario names, where the scenario names the channels of everybody else.
func TestStrangeChannels(t *testing.T) {
	s := newStage(t)
	s.file("c.yaml", `name: x
until: 1s
clients:
  - {name: sim, model: source, with: {channel: STATE, period: 100ms}}
  - {name: plant, external: true}
  - {name: log, model: sink, with: {channels: ["LOG_.*"]}}
links:
  - {channel: "VIDEO_*", delay: 5ms}
`)
	for _, c := range []struct {
		in, out, refused string
	}{
		{"STATE", "LOG_1", ""}, {"'.*'", "VIDEO_L", ""},
		{"STATE", "CMD", `client "plant" publishes "CMD", which the scenario does not allow: it may publish LOG_.*, STATE or VIDEO_.*`},
		{"STAET", "LOG_1", `client "plant" subscribes to "STAET" (did you mean "STATE"?)`},
	} {
		served := s.serve("c.yaml")
		sim, log := served.join("sim", "source", "--with", "channel=STATE", "--with", "period=100ms"),
			served.join("log", "sink", "--with", "channels=['LOG_.*']")
		plant := served.join("plant", "echo", "--with", "in="+c.in, "--with", "out="+c.out)
		said := plant.wait()
		if c.refused == "" {
			require.Equal(t, 0, said.status, said.err)
		} else {
			require.Equal(t, 1, said.status)
			require.Contains(t, said.err, c.refused)
			again := served.join("plant", "echo", "--with", "in=STATE", "--with", "out=LOG_2")
			require.Equal(t, 0, again.wait().status, "a refusal ends nothing")
		}
		require.Equal(t, 0, served.wait().status)
		sim.wait()
		log.wait()
	}
}
