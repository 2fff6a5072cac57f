package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// However many clients share the cores, and whenever they report, there is no more work than the cores can do; but for what was estimated
// since the last report with a processor time.
func TestWorkIsNoMoreThanCoresCanDo(t *testing.T) {
	type client struct {
		waits               coreWaits
		left                int // to compute; 0: it waits to be authorized
		computed, cpu, work int64
	}
	rapid.Check(t, func(t *rapid.T) {
		cores := rapid.IntRange(1, 4).Draw(t, "cores")
		clients := make([]client, rapid.IntRange(1, 8).Draw(t, "clients"))
		steps := rapid.IntRange(1, 300).Draw(t, "steps")
		crowded := int64(0)
		for step := range steps {
			running := 0
			for i := range clients {
				c := &clients[i]
				if c.left == 0 && rapid.IntRange(0, 3).Draw(t, "begins") == 0 {
					c.left = rapid.IntRange(1, 30).Draw(t, "job")
					c.waits.begin(crowded)
				}
				running += min(1, c.left)
			}
			if running > cores {
				crowded++
			}
			busy := 0
			for k := range clients {
				c := &clients[(k+step)%len(clients)]
				if c.left == 0 {
					continue
				}
				c.computed++
				if busy < cores {
					busy++
					c.left--
					c.cpu++
				}
				last := c.left == 0
				if !last && rapid.IntRange(0, 4).Draw(t, "reports") > 0 {
					continue
				}
				l := lap{computed: c.computed, last: last}
				if last {
					l.cpu, c.cpu = c.cpu, 0
				}
				work, asleep := c.waits.work(l, c.computed, crowded, running, cores)
				require.LessOrEqual(t, asleep, work)
				c.work += work
				c.computed = 0
			}
		}
		work, estimated := int64(0), int64(0)
		for i := range clients {
			work += clients[i].work
			estimated += max(0, clients[i].waits.given-clients[i].waits.due)
		}
		require.LessOrEqual(t, work, int64(cores*steps)+estimated)
	})
}

// The processor time that is reported at the end of a grant decides.
func TestCoreWaits(t *testing.T) {
	grant := func(w *coreWaits, cpu int64, running int, computed ...int64) (work int64) {
		crowded := w.crowded
		w.begin(crowded)
		for i, c := range computed {
			if running > 2 {
				crowded += c
			}
			l := lap{computed: c}
			if l.last = i == len(computed)-1; l.last {
				l.cpu = cpu
			}
			did, _ := w.work(l, c, crowded, running, 2)
			work += did
		}
		return work
	}
	for name, c := range map[string]struct {
		cpu     int64
		running int
		work    int64
	}{
		"it computed": {1000, 2, 1000},
		"it waited for something else, as cores idled":    {300, 2, 1000},
		"it waited for one of two cores that eight share": {250, 8, 250},
		"it slept":               {10, 8, 1000},
		"nobody knows":           {0, 8, 1000},
		"it had several threads": {3000, 8, 1000},
	} {
		require.Equal(t, c.work, grant(&coreWaits{}, c.cpu, c.running, 1000), name)
	}
	w := &coreWaits{}
	for name, c := range map[string]struct{ cpu, waited, work, asleep int64 }{
		"it computed":                          {1000, 1, 1000, 0},
		"it slept, and said so":                {10, 1, 999, 989},
		"it slept, and waited for a core":      {10, 190, 810, 800},
		"others had all cores":                 {1, 999, 1, 0},
		"several threads waited":               {400, 5000, 400, 0},
		"nobody knows whether it waited":       {250, 0, 250, 0},
		"it took no core and nothing is known": {0, 0, 1000, 0},
	} {
		w := &coreWaits{}
		work, asleep := w.work(lap{cpu: c.cpu, waited: c.waited, last: true}, 1000, 1000, 8, 2)
		require.Equal(t, c.work, work, name)
		require.Equal(t, c.asleep, asleep, name)
	}
	require.Equal(t, int64(800), grant(w, 500, 4, 800, 200), "the end of it comes too late")
	require.Equal(t, int64(200), grant(w, 500, 4, 800, 200), "what was too much is paid back")
	require.Equal(t, int64(500), grant(w, 500, 4, 800, 200), "now it is known how it goes")
}
