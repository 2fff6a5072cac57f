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

// A server lets go of what is removed from its homeserver, and no other one enters it before that. Who enters it again owns it, also where it knows the entity of before; at no time do two own it.
func TestRemovedEntityIsEnteredAgain(t *testing.T) {
	w := newLiveWorld(t, 1, "home-a")
	a, b := w.sims[0], w.sims[1]
	b.tell("take of-sim-a-00")
	w.until("b has it", func() bool { return slices.Contains(b.owns(), "of-sim-a-00") })
	a.kill()
	b.kill()
	status, text := w.ask("home-a", "DELETE", "/v1/entities/of-sim-a-00", "")
	require.Equal(t, 204, status, text)
	status, text = w.ask("home-a", "POST", "/v1/entities", `{"id":"of-sim-a-00"}`)
	require.Equal(t, 409, status)
	require.Contains(t, text, "not-let-go")

	a.run() // it brings it again
	w.until("it waits for b", a.heard("wrong", "not-let-go"))
	require.Empty(t, a.owns())
	b.run()
	w.until("b lets go of it", b.heard("removed", "of-sim-a-00"))
	w.until("a has it", func() bool { w.total(); return slices.Contains(a.owns(), "of-sim-a-00") })
	b.tell("take of-sim-a-00")
	w.until("b has it", func() bool { w.total(); return slices.Contains(b.owns(), "of-sim-a-00") })

	b.kill()
	status, text = w.ask("home-a", "DELETE", "/v1/entities/of-sim-a-00", "")
	require.Equal(t, 204, status, text)
	b.own = append(b.own, "of-sim-a-00")
	b.run() // whom the removal waits for may bring it itself
	w.until("b has it anew", b.heard("got", `"of-sim-a-00"`))
	a.tell("take of-sim-a-00")
	w.until("a has it", func() bool { w.total(); return slices.Contains(a.owns(), "of-sim-a-00") })

	a.kill()
	status, text = w.ask("home-a", "DELETE", "/v1/entities/of-sim-a-00", "")
	require.Equal(t, 204, status, text)
	status, text = w.ask("home-a", "POST", "/v1/entities", `{"id":"of-sim-a-00","owner":"sim-a"}`)
	require.Equal(t, 201, status, text)
	a.run() // it is entered already, as where the server has died before it wrote that down
	w.until("a has it anew", a.heard("got", `"of-sim-a-00"`))
	b.tell("take of-sim-a-00")
	w.until("b has it in the end", func() bool { w.total(); return slices.Contains(b.owns(), "of-sim-a-00") })
}

// What was handed over, and removed before it arrived, is acknowledged: else it would be said for ever, and its old owner could not leave.
func TestRemovedOnItsWay(t *testing.T) {
	w := newLiveWorld(t, 1, "home-a")
	a, b := w.sims[0], w.sims[1]
	b.kill()
	a.tell("give of-sim-a-00 sim-b")
	w.until("a hands it over", a.heard("gave", "of-sim-a-00"))
	status, text := w.ask("home-a", "DELETE", "/v1/entities/of-sim-a-00", "")
	require.Equal(t, 204, status, text)
	b.run()
	w.until("b has heard that it is removed", b.heard("heard", `"removal"`))
	w.until("it comes late", b.heard("heard", `"handover"`))
	w.until("nobody owns it", func() bool { return !slices.Contains(b.owns(), "of-sim-a-00") })
	a.tell("leave")
	w.until("nothing needs a any more", a.heard("left", ""))
}

// Server a enters an entity that b had, and b enters one that a had. Each waits until the other one has let go. Both read their mail while they wait; there they hear of the removals, and let go.
// Then each enters its entity.
func TestTwoServersWaitForEachOther(t *testing.T) {
	w := newLiveWorld(t, 1, "home-a")
	a, b := w.sims[0], w.sims[1]
	a.tell("take of-sim-b-00")
	b.tell("take of-sim-a-00")
	w.until("each has what the other brings", func() bool {
		return slices.Equal(a.owns(), []string{"of-sim-b-00"}) && slices.Equal(b.owns(), []string{"of-sim-a-00"})
	})
	a.kill()
	b.kill()
	for _, entity := range []string{"of-sim-a-00", "of-sim-b-00"} {
		status, text := w.ask("home-a", "DELETE", "/v1/entities/"+entity, "")
		require.Equal(t, 204, status, text)
	}
	a.run()
	b.run()
	w.until("each has what it brings", func() bool {
		return slices.Equal(a.owns(), []string{"of-sim-a-00"}) && slices.Equal(b.owns(), []string{"of-sim-b-00"})
	})
}

// A process ends when another one has registered as the same server: of two that own the same one is too many.
func TestSecondProcessOfAServer(t *testing.T) {
	w := newLiveWorld(t, 1, "home-a")
	a := w.sims[0]
	first := a.cmd
	a.more = append(a.more, "--data", "elsewhere") // else the lock of the directory keeps the second one out
	a.run()
	var ended error
	done := make(chan struct{})
	go func() { ended = first.Wait(); close(done) }()
	w.until("the first has ended", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	require.Equal(t, 1, first.ProcessState.ExitCode(), ended)
	w.sims[1].tell("take of-sim-a-00")
	w.until("the second hands over", func() bool { return slices.Contains(w.sims[1].owns(), "of-sim-a-00") })
}
