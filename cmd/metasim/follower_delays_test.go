package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/run"
)

// fewFrames is for how many frames two transports are enough.
const fewFrames = 40

var delayedFrames = flag.Uint64("frames", fewFrames, "frames of TestFramesOverEveryTransport: 10000 take many minutes; more than 40 go over all transports")

// Acceptance tests 1 and 2, with processes: on links whose delays are drawn from 0 to 500 ms, three followers show what the controller has sent, frame by frame, and over
// every transport the same.
func TestFramesOverEveryTransport(t *testing.T) {
	s := newStage(t)
	s.file("delays.yaml", fmt.Sprintf(`name: delays
seed: 17
clients:
  - {name: director, model: director, with: {frames: %d, patience: 10s, nodes: [lead, one, two, three]}}
  - {name: lead, model: render-node, with: {role: controller, state_bytes: 256}}
  - {name: one, model: render-node}
  - {name: two, model: render-node}
  - {name: three, model: render-node}
links:
  - {delay: {uniform: {min: 0s, max: 500ms}}}
`, *delayedFrames))
	var digest, hash string
	transports := run.Transports
	if *delayedFrames <= fewFrames {
		transports = []string{run.Transports[0], "unix"}
	}
	for _, transport := range transports {
		out, e := s.run("delays.yaml", "--transport", transport, "--out", filepath.Join("runs", transport))
		require.Zero(t, e.status, e.err)
		assert.NotContains(t, e.err, "warning", "the delays are those of all links")
		for _, c := range out.Clients {
			if c.Name == "director" {
				continue
			}
			var n shownByNode
			require.NoError(t, readResult(c.Result, &n))
			if hash == "" {
				digest, hash = out.Digest, n.DataHash
			}
			assert.Equal(t, *delayedFrames, n.Frames, c.Name)
			assert.Equal(t, hash, n.DataHash, c.Name)
		}
		assert.Equal(t, digest, out.Digest, transport)
	}
}
