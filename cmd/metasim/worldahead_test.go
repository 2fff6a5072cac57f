package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metasim world run lets a world be ahead of its camera as its file says: the states and the pictures are those of a run in one process.
func TestWorldRunAheadOfACamera(t *testing.T) {
	s := newStage(t)
	s.file("seen.sdf", strings.Replace(seenWorld, "</update_rate></plugin>", "</update_rate><metasim:behind>5</metasim:behind></plugin>", 1))
	s.file("seen_runtime.config", seenRuntime)
	for _, where := range []string{"in-process", "unix"} {
		e := s.metasim("world", "run", "seen.sdf", "--iterations", "40", "--runtimes", where, "--hashes", where+"-hashes", "--camera", where+"-pictures", "--out", where)
		require.Zero(t, e.status, e.err)
	}
	assert.Equal(t, s.read("in-process-hashes"), s.read("unix-hashes"))
	for _, n := range []string{"00000", "00005", "00010"} {
		assert.Equal(t, s.read("in-process-pictures/world_seen_model_eye_link_link_sensor_s_image-"+n+".png"), s.read("unix-pictures/world_seen_model_eye_link_link_sensor_s_image-"+n+".png"))
	}
	assert.Contains(t, string(s.read("unix/manifest.json")), "30ms", "replies travel one step more")

	s.file("windy.sdf", strings.Replace(windy("windy"), "<update_rate>0</update_rate>", "<metasim:behind>5</metasim:behind>", 1))
	e := s.metasim("world", "run", "windy.sdf", "--iterations", "3")
	assert.Equal(t, 2, e.status)
	assert.Contains(t, e.err, "windy.sdf:5: <metasim:behind> is for systems that only read, in PostUpdate, and metasim::systems::Wind takes part in Configure, PreUpdate; take it out")
}
