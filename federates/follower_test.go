package federates

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/metasim"
	"metasim/server"
)

// shown is the result of the model render-node.
type shown struct {
	Frames       uint64 `json:"frames"`
	AsController uint64 `json:"as_controller"`
	DataHash     string `json:"data_hash"`
	Missing      uint64 `json:"missing"`
	FirstMissing string `json:"first_missing"`
	Refused      uint64 `json:"refused"`
	Resets       uint64 `json:"resets"`
	Failed       bool   `json:"failed"`
	Quit         string `json:"quit"`
}

// directed is the result of the model director.
type directed struct {
	Frames    uint64   `json:"frames"`
	Discarded uint64   `json:"discarded"`
	Missing   uint64   `json:"missing"`
	Torn      uint64   `json:"torn_frames"`
	Failovers int      `json:"failovers"`
	Late      uint64   `json:"late"`
	Stopped   string   `json:"stopped"`
	Failed    []string `json:"failed"`
	Warning   string   `json:"warning"`
}

func resultOf[T any](t *testing.T, results map[string]server.ClientResult, name string) (r T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(results[name].Result, &r), name)
	return r
}

// renderers are a controller, an understudy and two followers.
func renderers(direct map[string]any, lead, others map[string]any) testRun {
	s := testRun{seed: 3, parts: []part{{name: "director", model: "director", with: direct}}}
	for i, role := range []string{"controller", "understudy", "follower", "follower"} {
		with := map[string]any{"role": role, "state_bytes": 1000}
		more := others
		if i == 0 {
			more = lead
		}
		for k, v := range more {
			with[k] = v
		}
		s.parts = append(s.parts, part{name: fmt.Sprintf("node-%d", i), model: "render-node", with: with})
	}
	return s
}

// The data is sent at (t,1) and due at (t,2), at all nodes, and its hash is the same everywhere: on links with random delays too, and after every
// failure of the controller.
func TestFollowersShowWhatTheControllerSent(t *testing.T) {
	direct := map[string]any{"frame_rate": "60000/1001", "frames": 60}
	results, seen := renderers(direct, nil, nil).mustRun(t)
	want := resultOf[shown](t, results, "node-0")
	assert.EqualValues(t, 60, want.Frames)
	assert.EqualValues(t, 60, want.AsController)
	sent := 0
	for _, s := range seen {
		if s.Channel == "director/data" {
			frame := uint64(sent / 3)
			at := metasim.Time((frame*1001*1_000_000_000 + 30000) / 60000)
			step := uint32(1)
			if frame == 0 { // after the hellos of the nodes
				step = 2
			}
			require.Equal(t, metasim.Instant{Time: at, Step: step}, s.Sent)
			require.Equal(t, metasim.Instant{Time: at, Step: step + 1}, s.Due)
			sent++
		}
	}
	assert.Equal(t, 180, sent)
	slow := func(s testRun) testRun {
		s.rules = []delay.Rule{{Spec: delay.Spec{Delay: delay.Uniform{Max: 500 * ms}}}}
		return s
	}
	twice := func(s testRun, all delay.Spec) testRun {
		s.rules = []delay.Rule{{Spec: all}}
		return s
	}
	late := map[string]any{"frame_rate": "60000/1001", "frames": 60, "bounded": 1000, "patience": "5s", "nodes": []any{"node-0", "node-1", "node-2", "node-3"}}
	for name, s := range map[string]testRun{
		"whole": renderers(direct, nil, nil), "slow links": slow(renderers(late, nil, nil)),
		"before": renderers(direct, map[string]any{"fail_at": 20}, nil), "half-way": renderers(direct, map[string]any{"fail_at": 20, "fail": "half-way"}, nil),
		"after": renderers(direct, map[string]any{"fail_at": 20, "fail": "after"}, nil), "at the start": renderers(direct, map[string]any{"fail_at": 0}, nil),
		"slow links, before": slow(renderers(late, map[string]any{"fail_at": 20}, nil)),
		"everything twice":   twice(renderers(direct, nil, nil), delay.Spec{Duplicate: 1}), "everything twice, half-way": twice(renderers(direct, map[string]any{"fail_at": 20, "fail": "half-way"}, nil), delay.Spec{Duplicate: 1}),
		"slow links, some twice": twice(renderers(late, map[string]any{"fail_at": 20}, nil), delay.Spec{Delay: delay.Uniform{Max: 500 * ms}, Duplicate: 0.4}),
	} {
		t.Run(name, func(t *testing.T) {
			results, _ := s.mustRun(t)
			d := resultOf[directed](t, results, "director")
			assert.EqualValues(t, 60, d.Frames)
			assert.Zero(t, d.Torn)
			computed := uint64(0)
			for i := range 4 {
				n := resultOf[shown](t, results, fmt.Sprintf("node-%d", i))
				computed += n.AsController
				assert.Equal(t, d.Failovers == 1 && i == 0, n.Failed)
				if !n.Failed {
					assert.Equal(t, want.DataHash, n.DataHash)
					assert.EqualValues(t, 60, n.Frames)
				}
			}
			assert.EqualValues(t, 60, computed, "each frame was computed once")
		})
	}
}

// A frame without a send is told by its name at all nodes, with the reset that was to be in it, and the others go on.
func TestAMissingSendIsToldEverywhere(t *testing.T) {
	results, _ := renderers(map[string]any{"frames": 10, "reset": []any{6}}, map[string]any{"fail_at": 6, "fail": "skip"}, nil).mustRun(t)
	assert.EqualValues(t, 1, resultOf[directed](t, results, "director").Missing)
	hash := resultOf[shown](t, results, "node-0").DataHash
	for i := range 4 {
		n := resultOf[shown](t, results, fmt.Sprintf("node-%d", i))
		assert.EqualValues(t, 9, n.Frames)
		assert.EqualValues(t, 1, n.Missing)
		assert.EqualValues(t, 1, n.Resets)
		assert.Equal(t, hash, n.DataHash)
		if i > 0 {
			assert.Equal(t, "controller node-0 did not send for tTracked 100ms (frame 6)", n.FirstMissing)
		}
	}
}

// Without synchronisation the nodes go their own ways, and the director sees it.
func TestWithoutSynchronisationFramesTear(t *testing.T) {
	results, seen := renderers(map[string]any{"frames": 10, "sync": false}, nil, nil).mustRun(t)
	assert.EqualValues(t, 10, resultOf[directed](t, results, "director").Torn)
	for _, s := range seen {
		assert.NotEqual(t, "director/data", s.Channel, "no data is sent")
	}
	assert.Empty(t, resultOf[shown](t, results, "node-1").DataHash)
}

// A node fails where it is told to, also one that sends nothing: without synchronisation, and as a follower.
func TestWhoSendsNothingFailsToo(t *testing.T) {
	for _, fail := range []string{"before", "half-way", "after"} {
		for name, s := range map[string]testRun{
			"no synchronisation": renderers(map[string]any{"frames": 10, "sync": false}, map[string]any{"fail_at": 5, "fail": fail}, nil),
			"follower":           renderers(map[string]any{"frames": 10}, nil, nil),
		} {
			t.Run(name+", "+fail, func(t *testing.T) {
				failed := "node-0"
				if name == "follower" {
					failed = "node-3"
					s.parts[4].with["fail_at"], s.parts[4].with["fail"] = 5, fail
				}
				results, _ := s.mustRun(t)
				for i := range 4 {
					node := fmt.Sprintf("node-%d", i)
					assert.Equal(t, node == failed, resultOf[shown](t, results, node).Failed)
				}
				d := resultOf[directed](t, results, "director")
				assert.EqualValues(t, 10, d.Frames)
				assert.Equal(t, failed == "node-0", d.Failovers == 1)
			})
		}
	}
}

// A node without time makes the cluster slow, or has frames discarded, the same for all.
func TestANodeWithoutTime(t *testing.T) {
	results, _ := renderers(map[string]any{"frames": 40}, nil, map[string]any{"load": "50ms"}).mustRun(t)
	d := resultOf[directed](t, results, "director")
	assert.EqualValues(t, 40, d.Late)
	assert.Contains(t, d.Warning, "40 of 40 frames took longer than the 16.666667ms of a frame")
	results, _ = renderers(map[string]any{"frames": 40, "bounded": 1}, nil, map[string]any{"load": "40ms"}).mustRun(t)
	d = resultOf[directed](t, results, "director")
	assert.EqualValues(t, 40, d.Discarded+d.Frames)
	assert.InDelta(t, 13, d.Frames, 2)
	for i := range 4 {
		n := resultOf[shown](t, results, fmt.Sprintf("node-%d", i))
		assert.Equal(t, d.Frames, n.Frames)
		assert.Equal(t, resultOf[shown](t, results, "node-0").DataHash, n.DataHash)
	}
}

// What another client publishes reaches all nodes in one frame: it changes the data, and the same for all.
func TestEventsOfAnotherClient(t *testing.T) {
	quiet, _ := renderers(map[string]any{"frames": 20}, nil, nil).mustRun(t)
	s := renderers(map[string]any{"frames": 20, "inputs": []any{"BUTTON"}}, nil, nil)
	s.parts = append(s.parts, part{name: "button", model: "source", with: map[string]any{"channel": "BUTTON", "period": "70ms", "start": "13ms", "count": 3}})
	results, _ := s.mustRun(t)
	hash := resultOf[shown](t, results, "node-0").DataHash
	assert.NotEqual(t, resultOf[shown](t, quiet, "node-0").DataHash, hash)
	for i := range 4 {
		assert.Equal(t, hash, resultOf[shown](t, results, fmt.Sprintf("node-%d", i)).DataHash)
	}
}

// A node that says hello late is told to leave, and nobody else is disturbed: it may have shown frames before it knew.
func TestALateNodeLeaves(t *testing.T) {
	for name, hello := range map[string]metasim.Time{"before the second frame": 10 * ms, "among the frames": 100 * ms} {
		t.Run(name, func(t *testing.T) {
			s := renderers(map[string]any{"frames": 20}, nil, nil)
			s.rules = []delay.Rule{{From: "node-3", To: "director", Spec: delay.Spec{Delay: delay.Constant(hello)}}}
			results, _ := s.mustRun(t)
			d := resultOf[directed](t, results, "director")
			assert.EqualValues(t, 20, d.Frames)
			assert.Zero(t, d.Failovers)
			assert.Empty(t, d.Stopped)
			late := resultOf[shown](t, results, "node-3")
			assert.True(t, late.Failed)
			assert.Equal(t, []string{late.Quit}, d.Failed)
			assert.Contains(t, late.Quit, "node node-3 said hello after the first frame was asked for")
			for i := range 3 {
				assert.EqualValues(t, 20, resultOf[shown](t, results, fmt.Sprintf("node-%d", i)).Frames)
			}
		})
	}
}

// Where nobody is left, all leave, and the reason is told.
func TestNobodyIsLeftToTakeOver(t *testing.T) {
	results, _ := renderers(map[string]any{"frames": 20}, map[string]any{"fail_at": 5}, map[string]any{"fail_at": 9}).mustRun(t)
	want := resultOf[directed](t, results, "director")
	assert.Equal(t, 1, want.Failovers)
	assert.Contains(t, want.Stopped, "no understudy is left")
}
