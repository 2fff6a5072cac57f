package run

import (
	"context"
	"sync"
	"time"

	"metasim/server"
)

// Clients that hang are looked for a few times within their hang_timeout, as often as this at most and at least.
const (
	minHangCheck = 10 * time.Millisecond
	maxHangCheck = time.Second
)

// hangTimeouts returns for how long clients may compute without a word that have a process, by name, and the shortest of these times.
func (c *clients) hangTimeouts() (limits map[string]time.Duration, shortest time.Duration) {
	limits = map[string]time.Duration{}
	for _, cl := range c.scenario.Clients {
		switch {
		case cl.HangTimeout == 0 || c.options.Serve:
		case c.options.inside(cl):
			c.log().Warn("a client with hang_timeout runs in this process, where nothing can end it; let it run in a process of its own, with another --transport", "client", cl.Name)
		default:
			limits[cl.Name] = cl.HangTimeout
			if shortest == 0 || cl.HangTimeout < shortest {
				shortest = cl.HangTimeout
			}
		}
	}
	return limits, shortest
}

// silence returns for how long a client has computed and said nothing. One that has not waited yet computes since the run began: before, it waited for others to join.
func silence(shot *server.Snapshot, c *server.ClientSnapshot) time.Duration {
	silent := shot.Wall - c.Since
	switch {
	case c.CatchesUp:
		return 0
	case c.State == server.Computing:
		return silent
	case c.State == server.Initializing && shot.Started:
		return min(silent, shot.Running)
	}
	return 0
}

// endHung ends the processes of clients that compute for longer than their hang_timeout without a word, also of those that are stopped. For the
// server they die then, and their on_exit says what follows.
func (c *clients) endHung(ctx context.Context) {
	limits, shortest := c.hangTimeouts()
	if len(limits) == 0 {
		return
	}
	tick := time.NewTicker(max(minHangCheck, min(shortest/4, maxHangCheck)))
	defer tick.Stop()
	var ends sync.WaitGroup
	defer ends.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		shot := c.server.Snapshot()
		for i := range shot.Clients {
			s := &shot.Clients[i]
			limit := limits[s.Name]
			if limit == 0 || silence(&shot, s) < limit {
				continue
			}
			if p := c.placeOf(s.Name).process; p != nil && p.hung.CompareAndSwap(0, int64(limit)) {
				c.log().Warn("a client computes for too long and says nothing; its process is ended", "client", s.Name, "hang_timeout", limit)
				ends.Go(func() { p.end(0) })
			}
		}
	}
}
