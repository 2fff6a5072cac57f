package server

import (
	"slices"
	"time"
)

// A peer is a visitor until it shows the token of the run. Visitors must not harm the run, whatever they do: there are few
// of them at a time, each takes little memory (see wire.Guarded), and each is turned away after a short time.
//
// Time is counted in looks at all visitors, because a process that is stopped in a debugger does not look: then no visitor is turned
// away when it goes on.
const (
	lookEvery    = 10 * time.Millisecond
	helloLooks   = 200 // after so many looks a visitor is turned away: two seconds
	crowdedLooks = 2   // the same if others wait for its place: enough to read the Hello that a client sends at once
	endedLooks   = 2   // the transport lets go of a visitor within one look
	maxRefusals  = 16  // how many messages of a visitor are answered
)

// look lets time go by. It returns who is to be turned away, and who is gone and was removed. more is false if nobody is left:
// then the goroutine ends.
func (t *visitors) look() (late, gone []*connection, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := helloLooks
	if len(t.places) == cap(t.places) || t.short {
		limit, t.short = crowdedLooks, false
	}
	t.all = slices.DeleteFunc(t.all, func(a *visitor) bool {
		a.looks++
		if !a.ended && a.looks >= limit {
			late = append(late, a.connection)
		}
		if !a.ended || a.looks < endedLooks {
			return false
		}
		gone = append(gone, a.connection)
		<-t.places
		return true
	})
	t.looking = len(t.all) > 0
	return late, gone, t.looking
}

// crowd notes that a connection could not be taken in: visitors make room.
func (t *visitors) crowd() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.short = true
}

// known notes that a visitor has shown the token.
func (t *visitors) known(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.all, c.visitor); i >= 0 {
		t.all = slices.Delete(t.all, i, i+1)
		<-t.places
	}
	c.visitor = nil
}

// ended notes that nothing comes from a visitor any more.
func (t *visitors) ended(a *visitor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !a.ended {
		a.ended, a.looks = true, 0
	}
}
