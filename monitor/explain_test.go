package monitor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
)

// explained is what is said of a chain of hops in which each client waits for the one before it, and the first has been in its state for
// 41 s.
func explained(hops int, first server.State, p Process, v processState) []string {
	var chain []metasim.Hold
	shot := server.Snapshot{Wall: 42 * time.Second, Started: true}
	for i := range hops + 1 {
		shot.Clients = append(shot.Clients, server.ClientSnapshot{
			Status: metasim.Status{Name: fmt.Sprintf("c%d", i), Clock: metasim.At(metasim.Time(i) * metasim.Second)}, State: server.Waiting,
			Since: time.Second,
		})
	}
	shot.Clients[0].State = first
	for i := hops; i > 0; i-- {
		h := metasim.Hold{Hop: metasim.Hop{From: metasim.ClientID(i - 1), To: metasim.ClientID(i)}, Reason: metasim.Heard}
		chain = append(chain, h)
	}
	m := NewMonitor(nil, func(string) Process { return p })
	return m.sentences(&shot, metasim.ClientID(hops), chain, examiner{state: func(int) processState { return v }})
}

// What is said of the client that holds up the others.
func TestDescribe(t *testing.T) {
	// No system numbers its processes so high, so none has a child.
	said := Process{PID: 8000123, Said: func() string { return "relaxing the mesh" }}
	const line = ", last line of its output: relaxing the mesh"
	for _, c := range []struct {
		state server.State
		p     Process
		v     processState
		want  string
	}{
		{server.Computing, said, processState{condition: runs, cores: 0.98}, "c0 at 0s has been computing for 41 s, process 8000123, 98 % of a core" + line},
		{server.Computing, said, processState{condition: unknown, cores: -1}, "c0 at 0s has been computing for 41 s, process 8000123" + line},
		{server.Computing, said, processState{condition: sleeps, in: "it waits for a timer", cores: 0},
			"c0 at 0s has said nothing for 41 s: process 8000123 sleeps in the kernel (it waits for a timer), 0 % of a core" + line},
		{server.Computing, said, processState{condition: stuck, in: "it waits to read from /mnt/far"}, "c0 at 0s has said nothing for 41 s: process 8000123 is stuck in the kernel " +
			"(it waits to read from /mnt/far), where no signal reaches it: it waits for a disk or a network file system" + line},
		{server.Computing, said, processState{condition: traced, tracer: "gdb, process 5"}, "c0 at 0s has said nothing for 41 s: process 8000123 is held by a debugger: gdb, process 5" + line},
		{server.Computing, said, processState{condition: hasEnded, cores: -1}, "c0 at 0s has said nothing for 41 s: process 8000123 has ended" + line},
		{server.Computing, Process{}, processState{}, "c0 at 0s has been computing for 41 s"},
		{server.Initializing, Process{PID: 8000123}, processState{condition: stopped}, "c0 has been initializing for 41 s: process 8000123 was stopped by a signal: kill -CONT 8000123 lets it go on"},
		{server.Absent, said, processState{condition: runs, cores: 1}, "c0 has not joined yet, process 8000123, 100 % of a core" + line},
		{server.Absent, Process{Outside: true}, processState{}, "c0 has not joined yet, and must be started outside of metasim"},
		{server.Waiting, said, processState{}, "c0 at 0s has been waiting for 41 s, until 0s, and no client can send it a message before then"},
		{server.Left, said, processState{}, "c0 has left at 0s"},
		{server.Left, Process{Nested: "cell"}, processState{}, "c0 sends nothing more out of the nested run cell since 0s; what it does inside, the report of that run says at its end"},
		{server.Lost, said, processState{}, "c0 was lost: it was last heard of at 0s"},
	} {
		require.Equal(t, []string{c.want}, explained(0, c.state, c.p, c.v))
	}
}

// Only the ends of a long chain are told.
func TestLongChain(t *testing.T) {
	require.Len(t, explained(8, server.Computing, Process{}, processState{}), 9, "one is not left out: it would take as long to say so")
	said := explained(1000, server.Computing, Process{}, processState{})
	require.Len(t, said, firstHops+1+lastHops+1)
	require.Equal(t, "c997 at 997s waits for c996: c996 may answer at 0s a message that it has not received yet", said[3])
	require.Equal(t, "and so on for 993 more, to c3", said[4])
	require.True(t, strings.HasPrefix(said[5], "c3 at 3s waits for c2: "))
}

// Where clients wait for no other of their run, but for the run around it, that is said, of the one that is furthest behind.
func TestWaitsForTheOuterRun(t *testing.T) {
	shot := &server.Snapshot{Wall: 42 * time.Second, Started: true}
	for i, state := range []server.State{server.Waiting, server.Waiting, server.Computing} {
		shot.Clients = append(shot.Clients, server.ClientSnapshot{
			Status: metasim.Status{Name: fmt.Sprint("c", i), Clock: metasim.At(metasim.Time(3-i) * metasim.Second)}, State: state, Since: time.Second,
		})
	}
	m := NewMonitor(nil, func(string) Process { return Process{} })
	m.places, m.ranks, m.blame = make([]int, 3), make([]int, 3), make([]float64, 3)
	require.Equal(t, 2, m.toExplain(shot), "it has said nothing for longest")
	shot.Clients[0].Halted, shot.Clients[1].Halted = metasim.NoCredit, metasim.NoCredit
	require.Equal(t, 1, m.toExplain(shot))
	const outer = "the run around this one has not come far enough to take more of what this client sends"
	require.Equal(t, []string{"c1 at 2s has been waiting for 41 s, until 0s: " + outer}, m.explainAlone(shot))
	lone := []metasim.Hold{{Hop: metasim.Hop{From: 1, To: 1}, Reason: metasim.NoCredit}}
	require.Equal(t, []string{"c1 at 2s waits: " + outer}, m.sentences(shot, 1, lone, examiner{}))
	require.Equal(t, "credit", m.row(shot, 1).Halted)
	shot.Clients[1].Halted = metasim.Paused
	require.Equal(t, "pace", m.row(shot, 1).Halted)
}
