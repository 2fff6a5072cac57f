package monitor

import (
	"cmp"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
	"metasim/server"
)

// The most blamed client comes first, by rank. Clients of one rank are in order of name. Clients that have left come last.
func TestOrder(t *testing.T) {
	rows := []Client{
		{Name: "left", State: "left", rank: 9}, {Name: "b", State: "waiting", place: 1}, {Name: "a", State: "computing", place: 0},
		{Name: "d", State: "waiting", rank: 6, place: 3}, {Name: "c", State: "computing", rank: 6, place: 2},
	}
	slices.SortFunc(rows, blameFirst)
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"c", "d", "a", "b", "left"}, names)
}

// Twice the blame is another rank; a little more or less is not, whatever it was before.
func TestRank(t *testing.T) {
	require.Equal(t, 0, rank(0, 0.049))
	require.Equal(t, 1, rank(0, 0.05))
	require.Equal(t, 0, rank(1, 0.049), "what is not shown has no rank")
	rapid.Check(t, func(t *rapid.T) {
		had, blame := rapid.IntRange(0, 20).Draw(t, "had"), rapid.Float64Range(0, 1e4).Draw(t, "blame")
		now := rank(had, blame)
		require.Equal(t, now, rank(now, blame), "it stays where it is")
		fresh := rank(0, blame)
		require.LessOrEqual(t, max(now, fresh)-min(now, fresh), 1)
		require.GreaterOrEqual(t, rank(0, 2*blame), fresh)
		if blame >= shown {
			require.Equal(t, fresh+1, rank(0, 2*blame))
			require.Equal(t, fresh, rank(fresh, blame*1.1))
			require.Equal(t, fresh, rank(fresh, max(shown, blame/1.1)))
		}
	})
}

// Numbers in names count as numbers, and the order is one.
func TestByName(t *testing.T) {
	names := []string{"robot-10", "robot-9", "camera", "robot-1", "robot-01", "robot-1-arm", "robot-1a", "robot", "robot-2", "9", "10", ""}
	slices.SortFunc(names, byName)
	require.Equal(t, []string{"", "9", "10", "camera", "robot", "robot-01", "robot-1", "robot-1-arm", "robot-1a", "robot-2", "robot-9", "robot-10"}, names)
	name := rapid.StringMatching(`[ab01]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		require.Equal(t, cmp.Compare(0, byName(a, b)), cmp.Compare(byName(b, a), 0))
		require.Equal(t, a == b, byName(a, b) == 0)
		if byName(a, b) <= 0 && byName(b, c) <= 0 {
			require.LessOrEqual(t, byName(a, c), 0)
		}
	})
}

// The most blamed client stays so until another has clearly more blame, or it leaves.
func TestWorse(t *testing.T) {
	shot := server.Snapshot{Clients: make([]server.ClientSnapshot, 3)}
	m := NewMonitor(nil, func(string) Process { return Process{} })
	for _, c := range []struct {
		blame []float64
		want  int
	}{
		{[]float64{0, 0, 0.01}, -1}, {[]float64{1, 0.5, 0.9}, 0}, {[]float64{1, 0.5, 1.2}, 0}, {[]float64{1, 0.5, 1.4}, 2},
		{[]float64{1.5, 0.5, 1.4}, 2}, {[]float64{0, 0, 0.06}, 2}, {[]float64{0, 0, 0.04}, -1},
	} {
		m.blame = c.blame
		m.slowest = m.mostBlamed(&shot)
		require.Equal(t, c.want, m.slowest, "%v", c.blame)
	}
	m.blame, m.slowest = []float64{0.2, 0, 2}, 2
	shot.Clients[2].State = server.Left
	require.Equal(t, 0, m.mostBlamed(&shot))
}

// The process of a client is that at the other end of its connection, if it is known: what was started may be a script.
func TestProcess(t *testing.T) {
	said := func() string { return "word" }
	m := NewMonitor(nil, func(string) Process { return Process{PID: 7, Said: said} })
	for peer, want := range map[string]int{"unix pid 42": 42, "shm pid 42": 42, "tcp 127.0.0.1:80": 7, "unix peer": 7, "": 7} {
		p := m.process(&server.ClientSnapshot{Peer: peer})
		require.Equal(t, want, p.PID, peer)
		require.Equal(t, "word", p.Said())
	}
	m = NewMonitor(nil, func(string) Process { return Process{Inside: true} })
	require.Equal(t, os.Getpid(), m.process(&server.ClientSnapshot{Peer: "in-process"}).PID)
}

// Before a run begins, the clients that it waits for are on top, and the chain names them.
func TestJoining(t *testing.T) {
	m := NewMonitor(nil, func(string) Process { return Process{} })
	shot := server.Snapshot{Clients: []server.ClientSnapshot{
		{Status: metasim.Status{Name: "a"}, State: server.Initializing}, {Status: metasim.Status{Name: "b"}}, {Status: metasim.Status{Name: "c"}},
	}}
	m.take(&shot, time.Now())
	require.Equal(t, "joining", m.view.State)
	require.Equal(t, "b", m.view.Clients[0].Name)
	require.Equal(t, "a", m.view.Clients[2].Name)
	require.Empty(t, m.view.Slowest)
	require.Equal(t, []string{"b has not joined yet; nor have c"}, m.view.Chain)
}
