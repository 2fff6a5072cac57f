package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The last client may end while somebody assists, and all workers sleep: they end too.
func TestWorkersEndWithTheLastClientWhoeverLetItGoOn(t *testing.T) {
	w := NewCrew()
	assist := w.Served()
	var s *seat
	w.Go(func(aboard Option) {
		var o options
		aboard(&o)
		s = o.seat
		s.wait()
	})
	workers := func(want, idle int) func() bool {
		return func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.workers == want && w.idle == idle
		}
	}
	const patience = 20 * time.Second
	require.Eventually(t, workers(1, 1), patience, time.Millisecond, "its worker sleeps")
	s.notify(true)
	assist(true)
	w.Wait()
	require.Eventually(t, workers(0, 0), patience, time.Millisecond)
}
