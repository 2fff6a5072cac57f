package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// heard reports whether a server has told of something.
func (s *homedServer) heard(event, text string) func() bool {
	return func() bool {
		for line := range strings.SplitSeq(s.out.String(), "\n") {
			if strings.Contains(line, `"event":"`+event+`"`) && strings.Contains(line, text) {
				return true
			}
		}
		return false
	}
}

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

// Nobody is given an entity whom the homeserver does not know: who is named by mistake would own it for ever, and nobody would compute it.
func TestNobodyIsGivenAnEntity(t *testing.T) {
	w := newLiveWorld(t, 1, "home-a")
	a, b := w.sims[0], w.sims[1]
	a.tell("give of-sim-a-00 ghost")
	w.until("it is refused", a.heard("refused", `"no-server"`))
	require.Equal(t, []string{"of-sim-a-00"}, a.owns())
	_, text := w.ask("home-a", "GET", "/v1/entities/of-sim-a-00", "")
	require.Contains(t, text, `"owner":"sim-a"`)
	a.tell("give of-sim-a-00 sim-b") // it goes on
	w.until("b has it", func() bool { return slices.Contains(b.owns(), "of-sim-a-00") })
}
