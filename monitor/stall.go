package monitor

import (
	"context"
	"fmt"
	"time"
)

// WatchStall says why a run does not go on, each time nothing was heard from any client for a length of real time: then,
// and again after twice as long, and so on, until something is heard. A run that is paused, or waits for its pace, is no
// such run. It returns when the run is over, or ctx is done; it ends nobody.
func (m *Monitor) WatchStall(ctx context.Context, after time.Duration, say func(text string)) {
	tick := time.NewTicker(max(quickest, min(after/4, time.Second)))
	defer tick.Stop()
	w := stall{after: after, next: after, since: time.Now()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.over:
			return
		case now := <-tick.C:
			p := m.server.Progress()
			if p.Over {
				return
			}
			if silent, due := w.look(now, p.Heard, p.Still); due {
				why, err := m.Why(ctx, "")
				if err != nil {
					why = err.Error()
				}
				say(fmt.Sprintf("nothing was heard for %s: %s", span(silent), why))
			}
		}
	}
}

// quickest is how often it is looked at most.
const quickest = 10 * time.Millisecond

// A stall knows since when nothing was heard.
type stall struct {
	after, next time.Duration
	since       time.Time
	heard       uint64
}

// look reports for how long nothing was heard, and whether that is to be said now.
func (w *stall) look(now time.Time, heard uint64, held bool) (silent time.Duration, due bool) {
	if heard != w.heard || held {
		w.heard, w.since, w.next = heard, now, w.after
		return 0, false
	}
	silent = now.Sub(w.since)
	if silent < w.next {
		return silent, false
	}
	for w.next <= silent {
		w.next *= 2
	}
	return silent, true
}
