package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that has lost its directory counts its requests anew, and its homeserver, which knows the numbers of before, takes them all the same.
func TestServerWithoutItsDirectoryAsksAgain(t *testing.T) {
	w := newLiveWorld(t, 1, "home-a")
	a, b := w.sims[0], w.sims[1]
	for range 2 {
		b.tell("take of-sim-a-00")
		w.until("b has it", func() bool { return slices.Contains(b.owns(), "of-sim-a-00") })
		b.tell("give of-sim-a-00 sim-a")
		w.until("a has it", func() bool { return slices.Contains(a.owns(), "of-sim-a-00") })
	}
	b.kill()
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "sim-b")))
	b.own = nil
	b.run()
	b.tell("take of-sim-a-00")
	w.until("b has it again", func() bool { return slices.Contains(b.owns(), "of-sim-a-00") })
}
