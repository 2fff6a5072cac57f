package monitor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"metasim/internal/suggest"
	"metasim/metasim"
	"metasim/server"
)

// examineTime is for how long Why watches a process.
const examineTime = 200 * time.Millisecond

// Why says why a client does not go on, or for an empty name why the run does not. It watches the process of the client that causes it
// for a moment.
func (m *Monitor) Why(ctx context.Context, client string) (string, error) {
	chain, err := m.why(ctx, client)
	return strings.Join(chain, "; "), err
}

// why is Why as a list, one sentence a hop.
func (m *Monitor) why(ctx context.Context, client string) ([]string, error) {
	shot := m.server.Snapshot()
	id := slices.IndexFunc(shot.Clients, func(c server.ClientSnapshot) bool { return c.Name == client })
	switch {
	case client != "" && id < 0:
		return nil, unknownClient(client, &shot)
	case shot.Over:
		return []string{"the run is over"}, nil
	case shot.Record.Now:
		return []string{forDisk(&shot)}, nil
	case id < 0:
		m.View() // updates the blame
		m.mu.Lock()
		id = m.toExplain(&shot)
		m.mu.Unlock()
	}
	switch {
	case id >= 0:
	case shot.Halt.Still:
		return []string{"no client waits for another: " + halted(&shot, metasim.Paused)}, nil
	default:
		return []string{fmt.Sprintf("no client waits: the run is %s at %v", state(&shot), shot.Now)}, nil
	}
	e := examiner{state: func(pid int) processState { return examine(ctx, pid, examineTime) }}
	return m.chain(&shot, metasim.ClientID(id), e), nil
}

func unknownClient(client string, shot *server.Snapshot) error {
	var known []string
	for i := range shot.Clients {
		known = append(known, shot.Clients[i].Name)
	}
	return fmt.Errorf("the run of %q has no client %q; %s", shot.Scenario, client, suggest.Word(client, known))
}

// WatchStall says why a run does not go on when no client has reported anything for a length of real time; again after twice as long,
// and so on. A run that is paused or waits for its rate does not stall. It returns when the run is over or ctx is done. It ends no
// client.
func (m *Monitor) WatchStall(ctx context.Context, after time.Duration, say func(text string)) {
	tick := time.NewTicker(max(minCheck, min(after/4, time.Second)))
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
			if silent, due := w.check(now, p.Heard, p.Still); due {
				why, err := m.Why(ctx, "")
				if err != nil {
					why = err.Error()
				}
				say(fmt.Sprintf("nothing was heard for %s: %s", span(silent), why))
			}
		}
	}
}

// minCheck is the least time between two checks for a stall.
const minCheck = 10 * time.Millisecond

// A stall measures since when no client has reported anything.
type stall struct {
	after, next time.Duration
	since       time.Time
	heard       uint64
}

// check reports for how long nothing was heard, and whether to say so now.
func (w *stall) check(now time.Time, heard uint64, held bool) (silent time.Duration, due bool) {
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
