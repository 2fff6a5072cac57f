package sched

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The last task may end in an Assist while all workers sleep: they end too.
func TestWorkersEndWithTheLastTask(t *testing.T) {
	s := New()
	s.Assisted = true
	var task *Task
	s.Go(func(t *Task) {
		task = t
		t.Pause()
	})
	workers := func(want, idle int) func() bool {
		return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.workers == want && s.idle == idle
		}
	}
	const patience = 20 * time.Second
	require.Eventually(t, workers(1, 1), patience, time.Millisecond, "its worker sleeps")
	require.Same(t, s, task.Scheduler)
	task.Notify(true)
	s.Assist(true)
	s.Wait()
	require.Eventually(t, workers(0, 0), patience, time.Millisecond)
}
