package main

import (
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/follower/scene"
	"metasim/run"
)

// pixels returns a picture as it is, pixel by pixel.
func pixels(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { _ = f.Close() }() // a file that was only read
	m, err := png.Decode(f)
	require.NoError(t, err)
	same := image.NewRGBA(m.Bounds())
	draw.Draw(same, same.Rect, m, m.Bounds().Min, draw.Src)
	return same.Pix
}

// Four nodes draw one picture, over every transport the same; it is the picture that one node draws alone, byte by byte.
func TestFollowerDemo(t *testing.T) {
	s := newStage(t)
	require.Zero(t, s.metasim("follower", "demo", "--nodes", "1", "--frames", "21", "--out", "alone").status)
	digest := ""
	for _, transport := range run.Transports {
		e := s.metasim("follower", "demo", "--frames", "21", "--transport", transport, "--out", transport, "--json")
		require.Zero(t, e.status, e.err)
		var out followerOutcome
		e.object(t, &out)
		assert.True(t, out.OK)
		assert.EqualValues(t, 21, out.Frames)
		assert.Zero(t, out.Torn)
		assert.Zero(t, out.Failovers)
		require.Len(t, out.Nodes, 4)
		for i, n := range out.Nodes {
			assert.EqualValues(t, 21, n.Frames)
			assert.Equal(t, out.Nodes[0].DataHash, n.DataHash)
			assert.Equal(t, i == 0, n.AsController == 21)
		}
		if digest == "" {
			digest = out.Digest
		}
		assert.Equal(t, digest, out.Digest, transport)
		assert.Equal(t, []string{"frame-00000.png", "frame-00010.png", "frame-00020.png"}, names(out.Pictures))
		assert.Equal(t, pixels(t, filepath.Join(s.dir, "alone", "frame-00020.png")), pixels(t, filepath.Join(s.dir, transport, "frame-00020.png")))
		part := pixels(t, filepath.Join(s.dir, transport, "frame-00010-node-03.png"))
		assert.Len(t, part, scene.Width*scene.Height)
	}
}

func names(files []string) (list []string) {
	for _, f := range files {
		list = append(list, filepath.Base(f))
	}
	return list
}

// Without synchronisation every frame is torn, and the picture shows it.
func TestFollowerDemoTears(t *testing.T) {
	s := newStage(t)
	var out followerOutcome
	assert.Contains(t, s.metasim("follower", "demo", "--frames", "31", "--out", "on").out, "31 frames, 0 of them torn, 0 failovers")
	e := s.metasim("follower", "demo", "--frames", "31", "--sync=false", "--out", "off", "--json")
	e.object(t, &out)
	assert.True(t, out.OK)
	assert.EqualValues(t, 31, out.Torn)
	assert.Empty(t, out.Nodes[0].DataHash)
	assert.NotEqual(t, pixels(t, filepath.Join(s.dir, "on", "frame-00030.png")), pixels(t, filepath.Join(s.dir, "off", "frame-00030.png")))
	assert.Contains(t, s.metasim("follower", "demo", "--frames", "9", "--sync=false", "--kill-controller-at", "5", "--out", "killed").out, "1 failovers")
}

// The controller fails half-way through sending: an understudy computes the same frame, and all that is shown is as if nothing had
// happened.
func TestFollowerDemoFailsOver(t *testing.T) {
	s := newStage(t)
	var whole, out followerOutcome
	s.metasim("follower", "demo", "--frames", "31", "--out", "whole", "--json").object(t, &whole)
	for _, transport := range []string{"mem", "unix"} {
		s.metasim("follower", "demo", "--frames", "31", "--kill-controller-at", "15", "--transport", transport, "--out", transport, "--json").object(t, &out)
		assert.True(t, out.OK)
		assert.EqualValues(t, 31, out.Frames)
		assert.Equal(t, 1, out.Failovers)
		assert.Zero(t, out.Torn)
		assert.Equal(t, []string{"controller node-00 did not send for tTracked 250.25ms (frame 15)"}, out.Failed)
		assert.True(t, out.Nodes[0].Failed)
		assert.EqualValues(t, 15, out.Nodes[0].AsController)
		assert.EqualValues(t, 16, out.Nodes[1].AsController)
		for i := 1; i < 4; i++ {
			assert.Equal(t, whole.Nodes[i].DataHash, out.Nodes[i].DataHash)
			part := fmt.Sprintf("frame-00030-node-%02d.png", i)
			assert.Equal(t, pixels(t, filepath.Join(s.dir, "whole", part)), pixels(t, filepath.Join(s.dir, transport, part)))
		}
	}
	alone := s.metasim("follower", "demo", "--nodes", "1", "--frames", "9", "--kill-controller-at", "5", "--out", "alone")
	assert.Equal(t, 1, alone.status)
	assert.Contains(t, alone.err, "controller node-00 did not send for tTracked 83.416667ms (frame 5), and no understudy is left")
}

func TestFollowerDemoBadUsage(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--nodes is 0; use 1 to 64", []string{"--nodes", "0"}},
		{"--nodes is 65; use 1 to 64", []string{"--nodes", "65"}},
		{"--frames is 0; use at least 1", []string{"--frames", "0"}},
		{"--kill-controller-at is 100; use one of the frames, 0 to 99", []string{"--kill-controller-at", "100"}},
		{"--kill-controller-at is -1; use one of the frames, 0 to 99", []string{"--kill-controller-at", "-1"}},
		{`--transport is "smoke"; use mem, `, []string{"--transport", "smoke"}},
		{"is not a number of frames in a second", []string{"--frame-rate", "fast"}},
	} {
		e := s.metasim(append([]string{"follower", "demo", "--out", "none"}, c.args...)...)
		assert.Equal(t, 2, e.status)
		assert.Contains(t, e.err, c.want)
	}
	assert.NoDirExists(t, filepath.Join(s.dir, "none"))
}
