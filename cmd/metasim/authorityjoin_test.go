package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

// eventually waits for a condition; a busy machine may take long.
func (s *stage) eventually(what string, is func() bool) {
	s.Helper()
	require.Eventually(s, is, time.Minute, 10*time.Millisecond, what)
}

// owned counts what servers own, and fails where two own one. Who owned an entity when its file was read may have handed it over since: two looks that agree count.
func owned(t *testing.T, all ...*liveServer) (counts []int) {
	t.Helper()
	look := func() (held [][]string) {
		for _, l := range all {
			held = append(held, l.owns())
		}
		return held
	}
	before, after := look(), look()
	seen := map[string]string{}
	for i, l := range all {
		if !slices.Equal(before[i], after[i]) {
			return make([]int, len(all))
		}
		for _, e := range before[i] {
			require.Empty(t, seen[e], "%s is at %s too", e, l.name)
			seen[e] = l.name
		}
		counts = append(counts, len(before[i]))
	}
	return counts
}

// A balanced world is one of programs, a, b and c, who share their work.
type balanced struct {
	*stage
	balls string // that a server brings
}

// run starts a server.
func (w *balanced) run(name string) *liveServer {
	l := &liveServer{stage: w.stage, name: name}
	flags := []string{"--ready-file", name + ".url", "--world", "a,b,c", "--balls", w.balls, "--reach", "0", "--balance", "400ms", "--retry", "100ms"}
	for _, other := range []string{"a", "b", "c"} {
		if other != name {
			flags = append(flags, "--peer", other+"="+other+".url")
		}
	}
	l.begin(flags...)
	return l
}

// A world of programs goes on while a server begins late, and gets its part of the work; while one leaves, which then owns nothing and may be ended; and while that comes back.
func TestLiveServersJoinAndLeave(t *testing.T) {
	s := newStage(t)
	s.program = testprogram.Shipped(t)
	w := balanced{s, "12"}
	a := w.run("a")
	w.balls = "0"
	b := w.run("b")
	c := &liveServer{stage: s, name: "c"} // named in the world, and not there
	shared := func(counts []int) bool { return counts[0]+counts[1]+counts[2] == 12 }
	s.eventually("b has a part, and c none", func() bool { n := owned(t, a, b, c); return shared(n) && n[1] >= 4 && n[2] == 0 })

	c = w.run("c")
	s.eventually("c has a part, too", func() bool { n := owned(t, a, b, c); return shared(n) && n[0] >= 3 && n[1] >= 3 && n[2] >= 3 })

	a.tell("leave")
	s.eventually("a says that it has left", func() bool { return strings.Contains(a.out.String(), `"event":"left"`) })
	require.Empty(t, a.owns())
	require.NoError(t, a.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, a.cmd.Wait())
	s.eventually("b and c have all", func() bool { n := owned(t, a, b, c); return shared(n) && n[0] == 0 })

	w.balls = "12"
	a = w.run("a") // its balls are known, and others own them
	s.eventually("a is back", func() bool { n := owned(t, a, b, c); return shared(n) && n[0] >= 3 && n[1] >= 3 && n[2] >= 3 })
}

// A server without balls, or without balance, does not know who is to have what it owns, and says what to do. A line that is no command is told all that are.
func TestLiveServerCannotLeave(t *testing.T) {
	s := newStage(t)
	s.program = testprogram.Shipped(t)
	for name, flags := range map[string][]string{"a": {"--own", "ball"}, "b": {"--world", "b", "--balls", "1"}} {
		l := &liveServer{stage: s, name: name}
		l.begin(flags...)
		l.tell("leave")
		why := map[string]string{"a": "a cannot leave: it owns 1 entities, and without --world nothing says who gets them", "b": "b cannot leave: it owns 1 entities, and its --balance is 0"}[name]
		s.eventually("it is refused", func() bool {
			return strings.Contains(l.out.String(), why) && strings.Contains(l.out.String(), "give each away (give ENTITY SERVER)")
		})
		require.Len(t, l.owns(), 1)
	}
}

// A server of which nobody has heard gets an account while the others work: they find it by its name, hand over to it, and get all of it back before it goes.
func TestNewcomerAtAHomeserver(t *testing.T) {
	w := newLiveWorld(t, 1, "home-a")
	s := &homedServer{&liveServer{stage: w.stage, name: "sim-e"}, "home-a", nil, nil}
	w.write("sim-e.token", w.account("home-a", "sim-e"))
	s.run()
	w.sims[0].tell("give of-sim-a-00 sim-e")
	s.tell("take of-sim-b-00")
	w.until("it has both", func() bool { return slices.Equal(s.owns(), []string{"of-sim-a-00", "of-sim-b-00"}) })
	w.until("what it heard was sealed", func() bool { return strings.Contains(s.out.String(), `"sealed":true`) })

	s.tell("give of-sim-a-00 sim-c")
	w.sims[3].tell("take of-sim-b-00")
	w.until("it has nothing", func() bool { return len(s.owns()) == 0 })
	s.tell("leave")
	w.until("who got it has said so", func() bool { return strings.Contains(s.out.String(), `"event":"left"`) })
	s.kill()
	w.until("all is with the others", func() bool { return w.total() == 4 })
	_, text := w.ask("home-a", "GET", "/v1/entities?limit=10", "")
	var list struct {
		Items []struct{ ID, Owner string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	owners := map[string]string{}
	for _, e := range list.Items {
		owners[e.ID] = e.Owner
	}
	require.Equal(t, map[string]string{"of-sim-a-00": "sim-c", "of-sim-b-00": "sim-d", "of-sim-c-00": "sim-c", "of-sim-d-00": "sim-d"}, owners)
}
