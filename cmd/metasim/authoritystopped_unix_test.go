//go:build unix

package main

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server whose process stands still keeps its connections and reads nothing more. The others hand entities to each other as fast as before, and what was for it arrives when
// it goes on.
func TestStoppedServerDelaysNobody(t *testing.T) {
	s := newStage(t)
	run := func(name string) *liveServer {
		l := &liveServer{stage: s, name: name}
		flags := []string{"--ready-file", name + ".url", "--retry", "100ms"}
		for i := range 20 {
			flags = append(flags, "--own", fmt.Sprintf("%s-%02d", name, i))
		}
		for _, other := range []string{"a", "b", "c"} {
			if other != name {
				flags = append(flags, "--peer", other+"="+other+".url")
			}
		}
		l.begin(flags...)
		return l
	}
	a, b, c := run("a"), run("b"), run("c")
	s.eventually("each has what is its own", func() bool { return slices.Equal(owned(t, a, b, c), []int{20, 20, 20}) })
	give := func(entity string, to *liveServer) time.Duration {
		began := time.Now()
		a.tell("give " + entity + " " + to.name)
		s.eventually(entity+" arrives", func() bool { return slices.Contains(to.owns(), entity) })
		return time.Since(began)
	}
	give("a-00", b) // they are connected
	give("a-01", c)
	median := func(first int) time.Duration {
		var took []time.Duration
		for i := range 5 {
			took = append(took, give(fmt.Sprintf("a-%02d", first+i), c))
		}
		slices.Sort(took)
		return took[2]
	}
	before := median(2)
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { _ = b.cmd.Process.Signal(syscall.SIGCONT) }) // it may have ended
	for i := range 5 {
		a.tell(fmt.Sprintf("give a-%02d b", 10+i))
	}
	stopped := median(15)
	t.Logf("a handover takes %v, and %v beside a server that stands still", before, stopped)
	require.Less(t, stopped, before+5*time.Second, "nobody waits for b")
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGCONT))
	s.eventually("b has what was for it", func() bool { return slices.Equal(owned(t, a, b, c), []int{3, 26, 31}) })
}
