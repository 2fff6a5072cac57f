package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/stretchr/testify/require"

	"metasim/internal/browser"
)

// A person opens the page of four nodes, turns synchronisation off and on, overloads a node, touches the picture, and lets the controller fail.
func TestFollowerDemoOnAPage(t *testing.T) {
	b := browser.Open(t)
	s := raced(t)
	p := s.start(nil, "follower", "demo", "--http", "127.0.0.1:0", "--frames", "100000", "--frame-rate", "15")
	address := regexp.MustCompile(`live: (http://\S+/)wall/#token=\S+`)
	require.Eventually(t, func() bool { return address.MatchString(p.err.String()) }, patience, 10*time.Millisecond)
	b.Show(1000, 1150, false)
	found := address.FindStringSubmatch(p.err.String())
	b.Goto(found[0][len("live: "):])
	const colors = `new Set([...document.querySelectorAll("#wall canvas")].map(c => c.style.getPropertyValue("--state"))).size`
	b.Until(`document.querySelector("#state").textContent === "whole" && document.querySelectorAll("#wall canvas").length === 4`)
	b.Until(`Number(document.querySelector("#frame").textContent) > 20`)
	require.NotEmpty(t, b.Picture("followers-together"))
	require.Equal(t, "0", b.Text("#torn"))

	b.Click("#sync")
	b.Until(`document.querySelector("#state").textContent === "torn" && ` + colors + ` === 4 && Number(document.querySelector("#torn").textContent) > 15`)
	require.Equal(t, "Synchronisation is off", b.Text("#sync"))
	require.NotEmpty(t, b.Picture("followers-torn"))
	b.Click("#sync")
	b.Until(`document.querySelector("#state").textContent === "whole" && ` + colors + ` === 1`)

	b.Click(`.node[data-node=node-02] button`)
	b.Until(`Number(document.querySelector("#rate").textContent) <= 6`)
	b.Click(`.node[data-node=node-02] button`)
	b.Click("#wall")
	b.Until(`document.querySelector("#touched").textContent.startsWith("1 (frame ")`)

	b.Click(`.node[data-node=node-00] button:last-child`)
	b.Until(`document.querySelector(".node[data-node=node-00] .role").textContent === "has failed" && document.querySelector(".node[data-node=node-01] .role").textContent.startsWith("controller")`)
	b.Until(`document.querySelector("#state").textContent === "whole"`)
	require.NotEmpty(t, b.Picture("followers-failed"))
	require.Zero(t, b.Overflows())
	b.Show(390, 900, true)
	require.Zero(t, b.Overflows())
	require.NotEmpty(t, b.Picture("followers-narrow"))
	require.Empty(t, b.Complaints(found[1]))

	require.Zero(t, s.metasim("ctl", "quit", "--http", found[1][:len(found[1])-1]+"/#"+regexp.MustCompile(`token=\S+`).FindString(found[0])).status)
	e := p.wait()
	require.Equal(t, 1, e.status)
	require.Contains(t, e.err, "metasim: it was ended by")
	require.NotContains(t, e.err, "WARN")
	counted := regexp.MustCompile(`(?m)^(\d+) frames, (\d+) of them torn, `).FindStringSubmatch(e.out)
	require.Len(t, counted, 3, e.out)
	require.Greater(t, len(counted[1]), 1, "the page has shown more than 20 frames: %s", e.out)
	require.NotEqual(t, "0", counted[2], "and torn ones")
	require.Contains(t, e.out, "node-01: it was ended, and has not said what it has shown")
}

// The page ends the demo long before its ten minutes: all nodes leave, and so does the page, and the run is a good one.
func TestFollowerDemoIsEndedOnItsPage(t *testing.T) {
	b := browser.Open(t)
	s := raced(t)
	p := s.start(nil, "follower", "demo", "--http", "127.0.0.1:0", "--frame-rate", "15")
	address := regexp.MustCompile(`live: (http://\S+/)wall/#token=\S+`)
	require.Eventually(t, func() bool { return address.MatchString(p.err.String()) }, patience, 10*time.Millisecond)
	b.Show(1000, 1150, false)
	b.Goto(address.FindString(p.err.String())[len("live: "):])
	b.Until(`Number(document.querySelector("#frame").textContent) > 5`)
	require.NotEmpty(t, b.Picture("followers-quit"))
	b.Click("#quit")
	e := p.wait()
	require.Zero(t, e.status, e.err)
	require.Regexp(t, `(?m)^\d+ frames, 0 of them torn, 0 failovers$`, e.out)
	require.Contains(t, e.out, "node-03: ")
	require.NotContains(t, e.out, "it was ended")
	require.NotContains(t, e.err, "WARN")
}

// Three nodes show the world of the document, in processes of their own: what they make together is what the camera of that world sees, and a failure changes nothing
// of what the others show.
func TestFollowerDemoOfAWorld(t *testing.T) {
	s := newStage(t)
	text, err := os.ReadFile("../../docs/followers.md")
	require.NoError(t, err)
	_, world, _ := strings.Cut(string(text), "<!-- file: quarters.sdf -->\n```xml\n")
	world, _, _ = strings.Cut(world, "```")
	s.file("quarters.sdf", world)
	s.file("blind.sdf", strings.ReplaceAll(world, `type="camera"`, `type="imu"`))
	require.Zero(t, s.metasim("world", "picture", "quarters.sdf", "--out", "seen").status)
	var whole, out followerOutcome
	s.metasim("follower", "demo", "--world", "quarters.sdf", "--nodes", "3", "--frames", "21", "--out", "whole", "--json").object(t, &whole)
	s.metasim("follower", "demo", "--world", "quarters.sdf", "--nodes", "3", "--frames", "21", "--out", "out", "--json", "--transport", "unix", "--kill-controller-at", "12").object(t, &out)
	for _, o := range []*followerOutcome{&whole, &out} {
		require.True(t, o.OK, o.Error)
		assert.Equal(t, []string{"frame-00000.png", "frame-00010.png", "frame-00020.png"}, names(o.Pictures))
		assert.Len(t, o.Nodes, 3)
		assert.Equal(t, whole.Nodes[2].DataHash, o.Nodes[2].DataHash)
	}
	seen := pixels(t, filepath.Join(s.dir, "seen", "quarters-tripod-eye.png"))
	assert.Equal(t, seen, pixels(t, filepath.Join(s.dir, "whole", "frame-00000.png")))
	assert.Equal(t, seen, pixels(t, filepath.Join(s.dir, "out", "frame-00000.png")))
	assert.NotEqual(t, seen, pixels(t, filepath.Join(s.dir, "whole", "frame-00020.png")), "the ball falls")
	for _, node := range []string{"01", "02"} {
		part := "frame-00020-node-" + node + ".png"
		assert.Equal(t, pixels(t, filepath.Join(s.dir, "whole", part)), pixels(t, filepath.Join(s.dir, "out", part)))
	}
	assert.NoFileExists(t, filepath.Join(s.dir, "out", "frame-00020-node-00.png"))
	for want, args := range map[string][]string{
		"blind.sdf has no camera for --world; add a": {"--world", "blind.sdf"}, "nothing.sdf: cannot be read": {"--world", "nothing.sdf"},
		"--sync=false has each node compute for itself": {"--world", "quarters.sdf", "--sync=false"},
	} {
		e := s.metasim(append([]string{"follower", "demo", "--out", "none"}, args...)...)
		assert.Equal(t, 2, e.status)
		assert.Contains(t, e.err, want)
	}
}
