//go:build unix

package main

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var engineKills = flag.Int("engine-kills", 1, "how often TestAnEngineIsKilled kills the controller at each point of a frame")

// Acceptance test 6 with processes: the engine that is the controller is killed by SIGKILL. Each frame has one state all the same.
func TestAnEngineIsKilled(t *testing.T) {
	s := newStage(t)
	for i := range 3 * *engineKills {
		where := []string{"before", "sent", "after"}[i%3]
		s.file("e.yaml", fmt.Sprintf(`name: engines
clients:
  - {name: director, model: director, with: {frames: 30, patience: 100ms}}
  - {name: a, %s, on_exit: detach}
  - {name: b, %s}
  - {name: c, %s}
`, engineOf("controller", "17", where), engineOf("understudy", "-1", "-"), engineOf("follower", "-1", "-")))
		out, e := s.run("e.yaml", "--transport", "unix", "--out", fmt.Sprint(where, i))
		require.Zero(t, e.status, e.err)
		var want []byte
		for i := range 30 {
			want = append(want, byte(i+1))
		}
		leads := 0
		for _, c := range out.Clients[:3] {
			var r struct {
				States []byte `json:"states"`
				Leads  int    `json:"leads"`
			}
			if c.Name == "a" {
				assert.Equal(t, "detached", c.Exit)
				continue
			}
			require.NoError(t, readResult(c.Result, &r))
			assert.Equal(t, want, r.States, "%s, killed %s", c.Name, where)
			leads += r.Leads
		}
		assert.Equal(t, map[string]int{"before": 13, "sent": 13, "after": 12}[where], leads, where)
	}
}

// engineOf is an engine as an entry of a scenario names it.
func engineOf(args ...string) string {
	return fmt.Sprintf(`run: ["BIN", "%s"], env: [TEST_PROGRAM=engine]`, strings.Join(args, `", "`))
}
