package dst

import (
	"errors"
	"fmt"

	"metasim/metasim"
	"metasim/wire/session"
)

// tooMuch is how much may happen in a run.
const tooMuch = 200_000

// run lets things happen, one at a time, until nothing can.
func (n *network) run() error {
	for ; n.happened < tooMuch; n.happened++ {
		if n.ripe(n.cut) {
			n.lose()
		}
		if n.ripe(n.crash) {
			n.die()
		}
		if n.err != nil {
			return n.err
		}
		if !n.one(true) && !n.one(false) {
			n.count[countHappened] = n.happened
			if n.books.short {
				n.count[countShort] = 1
			}
			return n.end()
		}
	}
	return fmt.Errorf("no end after %d things", n.happened)
}

// one lets one of the things happen that can, and reports whether there was one. If patient, some things are put off.
func (n *network) one(patient bool) bool {
	slots := 2*len(n.clients) + 3*len(n.conns) + 5
	first := n.r.IntN(slots)
	for k := range slots {
		if n.try((first+k)%slots, patient) {
			return true
		}
	}
	return false
}

// try lets the thing of a slot happen, if it can.
func (n *network) try(slot int, patient bool) bool {
	if slot < 2*len(n.clients) {
		c := n.clients[slot/2]
		switch {
		case c == nil || c.phase == over:
			return false
		case slot%2 == 0 && c.able():
			c.compute()
			return true
		case slot%2 == 1 && len(c.out.Packets()) > 0:
			c.write()
			return true
		}
		return false
	}
	slot -= 2 * len(n.clients)
	if slot >= 3*len(n.conns) {
		return n.serverDoes(slot-3*len(n.conns), patient)
	}
	c := n.conns[slot/3]
	switch slot % 3 {
	case 0:
		if len(c.up) == 0 || n.failed != nil {
			return false
		}
		n.read(c, 1+n.r.IntN(len(c.up)))
	case 1:
		if len(c.batch) == 0 || n.held(c) {
			return false
		}
		c.down = append(c.down, c.batch...)
		c.batch = c.batch[:0]
	case 2:
		if len(c.down) == 0 || c.slow && patient && n.r.IntN(20) > 0 {
			return false
		}
		n.arrive(c, 1+n.r.IntN(len(c.down)))
	}
	return true
}

// serverDoes lets the server do something beside reading and writing, if it can.
func (n *network) serverDoes(slot int, patient bool) bool {
	switch slot {
	case 0:
		if !n.dirty || n.finished || patient && n.r.IntN(100) < n.lazy {
			return false
		}
		n.settle()
	case 1:
		if n.reached == nil || n.finished || n.led {
			return false
		}
		n.onward()
	case 2:
		if len(n.feeds) == 0 || patient && (n.r.IntN(3) > 0 || n.feeds[0].slow && n.r.IntN(20) > 0) {
			return false
		}
		n.remember()
	case 3:
		if n.disk == nil || len(n.disk.keeping) == 0 || patient && n.r.IntN(3) > 0 {
			return false
		}
		n.complain(n.disk.write(1))
	default:
		if n.disk == nil || n.disk.synced == n.disk.entries || patient && n.r.IntN(100) < n.disk.lazy {
			return false
		}
		n.complain(n.disk.sync())
	}
	return true
}

// end checks a run in which nothing can happen any more.
func (n *network) end() error {
	if !n.finished {
		return errors.New("nothing can happen any more, and the run is not over")
	}
	acts := 0
	for i, c := range n.clients {
		if c == nil {
			continue
		}
		acts += max(len(c.transcript), len(c.old)) // it may have died while it repeated its past
		presence := n.server.Presence(metasim.ClientID(i))
		switch {
		case c.conn.closed || c.gone || n.failed != nil && (presence == session.Absent || presence == session.Away): // its connection closes
		case n.failed == nil && !errors.Is(c.Err(), session.ErrLeft):
			return fmt.Errorf("the run is over, and %s at %v is not: %v", c.name, c.Now(), c.Err())
		case c.phase != over:
			return fmt.Errorf("the run has failed, and %s at %v does not know it", c.name, c.Now())
		}
	}
	if n.tap != nil {
		return nil // two runs together: see nested.go
	}
	if most := creep * (acts + len(n.clients)); n.books.grants > most {
		return fmt.Errorf("%d authorizations for %d things that clients saw or did: they creep", n.books.grants, acts)
	}
	if n.flood && n.dispatcher.Held() > n.memory {
		return fmt.Errorf("%d bytes were held; the bound is %d", n.dispatcher.Held(), n.memory)
	}
	return nil
}

// creep is how many authorizations there may be for each thing that clients see or do: there is less than one, as an idle system
// jumps to its next event.
const creep = 2
