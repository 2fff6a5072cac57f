package main

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var largest = flag.Int("largest", 25<<20, "bytes of the largest state of TestStatesOfEverySize: 268435456 takes 20 s of processor time and 2 GiB of memory")

// Acceptance test 8, with processes: a state of no byte, of one, and of several pieces is at all nodes what the controller has sent.
func TestStatesOfEverySize(t *testing.T) {
	s := newStage(t)
	for _, size := range []int{0, 1, 64 << 10, *largest} {
		s.file("sizes.yaml", fmt.Sprintf(`name: sizes
memory: 4GiB
cascade: 2GiB
clients:
  - {name: director, model: director, with: {frames: 2}}
  - {name: lead, model: render-node, with: {role: controller, state_bytes: %d}}
  - {name: one, model: render-node}
  - {name: two, model: render-node}
`, size))
		out, e := s.run("sizes.yaml", "--transport", "unix", "--out", fmt.Sprint(size))
		require.Zero(t, e.status, e.err)
		var shown []shownByNode
		for _, c := range out.Clients {
			if c.Name != "director" {
				var n shownByNode
				require.NoError(t, readResult(c.Result, &n))
				shown = append(shown, n)
			}
		}
		for _, n := range shown {
			assert.EqualValues(t, 2*size, n.DataBytes)
			assert.Equal(t, shown[0].DataHash, n.DataHash)
		}
	}
}
