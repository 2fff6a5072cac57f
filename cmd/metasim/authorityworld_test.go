package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/balls"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

// runBalls starts a server of three that move balls together; it hears of another one through a network, where there is one.
func runBalls(s *stage, name string, through map[string]string) *liveServer {
	l := &liveServer{stage: s, name: name}
	flags := []string{"--ready-file", name + ".url", "--world", "a,b,c", "--balls", "8", "--reach", "0", "--retry", "100ms"}
	for _, other := range []string{"a", "b", "c"} {
		if other != name {
			flags = append(flags, "--peer", other+"="+cmp.Or(through[other], other+".url"))
		}
	}
	l.begin(flags...)
	return l
}

// keeps reads the states that a server has written down.
func (l *liveServer) keeps() map[string]transfer.State {
	text, err := os.ReadFile(filepath.Join(l.dir, l.name, l.name+".json"))
	require.NoError(l, err)
	var kept struct {
		State struct{ Held map[string]transfer.State }
	}
	require.NoError(l, json.Unmarshal(text, &kept))
	return kept.State.Held
}

// Three servers move balls and hand them over, through a network that loses packets, delays each differently and is black for a while, and one is killed: each ball
// has one owner in the end, and is where its steps have brought it, none of them left out or done twice. What a late datagram says changes nothing.
func TestBallsThroughABadNetwork(t *testing.T) {
	s := newStage(t)
	a, b, c := runBalls(s, "a", nil), runBalls(s, "b", nil), (*liveServer)(nil)
	url := func(name string) string { return strings.TrimSpace(string(s.read(name + ".url"))) }
	ready := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(s.dir, name+".url")); return err == nil }
	}
	require.Eventually(t, ready("a"), time.Minute, 5*time.Millisecond)
	require.Eventually(t, ready("b"), time.Minute, 5*time.Millisecond)
	toA, throughA := newBadNetwork(t, 3, url("a"))
	toB, throughB := newBadNetwork(t, 4, url("b"))
	c = runBalls(s, "c", map[string]string{"a": throughA, "b": throughB})
	all := []*liveServer{a, b, c}
	owners := func() map[string]string {
		owner := map[string]string{}
		for _, l := range all {
			for _, e := range l.owns() {
				if strings.Contains(e, "-") {
					owner[e] = l.name
				}
			}
		}
		return owner
	}
	settled := func() bool { return len(owners()) == 24 }
	require.Eventually(t, settled, time.Minute, 5*time.Millisecond)
	began := map[string]transfer.State{}
	for _, l := range all {
		maps.Copy(began, l.keeps())
	}
	for i := range 12 {
		if i == 6 {
			c.kill()
			c = runBalls(s, "c", map[string]string{"a": throughA, "b": throughB})
			all[2] = c
		}
		ball := balls.Name("c", int64(i%8))
		from := all[slices.IndexFunc(all, func(l *liveServer) bool { return l.name == owners()[ball] })]
		to := all[(slices.Index(all, from)+1+i%2)%3].name
		require.Eventually(t, func() bool { from.tell("give " + ball + " " + to); return owners()[ball] == to }, time.Minute, 100*time.Millisecond, "round %d: %s to %s", i, ball, to)
	}
	require.Eventually(t, settled, time.Minute, 5*time.Millisecond)
	for _, n := range []*badNetwork{toA, toB} {
		n.mu.Lock()
		require.Positive(t, n.lost)
		require.Positive(t, n.overtaken)
		n.mu.Unlock()
	}
	for _, l := range all {
		require.NoError(t, l.cmd.Process.Signal(os.Interrupt))
		require.NoError(t, l.cmd.Wait())
	}
	seen := 0
	for _, l := range all {
		for name, is := range l.keeps() {
			was := began[name]
			require.Greater(t, is.Steps, was.Steps)
			was.Integrate(metasim.Time(is.Steps)*metasim.Millisecond, metasim.Millisecond)
			require.Equal(t, was, is, "%s of %s", name, l.name)
			seen++
		}
	}
	require.Equal(t, 24, seen)
}
