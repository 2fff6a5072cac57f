package dst

import (
	"errors"
	"slices"

	"metasim/metasim"
	"metasim/wire"
)

// draw draws what dies, and when: in the last two runs of each scenario.
func (n *network) draw(schedule uint64) {
	if schedule < Schedules-1 {
		return
	}
	if n.seed%2 == 0 {
		n.cut, n.detach, n.restart = n.moment(0), n.r.IntN(2) == 0, n.r.IntN(2) == 0
	} else {
		n.crash, n.resumes, n.restart = n.moment(0), true, true
		switch n.r.IntN(6) {
		case 0:
			n.cut, n.detach, n.restart = n.moment(0), true, false
		case 1, 2:
			n.cut = n.moment(0)
		}
	}
	if n.restart || n.resumes {
		n.keepJournal()
	}
}

// keepJournal has what a client needs that is started again: a journal, and checkpoints of some.
func (n *network) keepJournal() {
	n.disk, n.every = newDisk(n.r), map[string]metasim.Time{}
	for i := range n.scenario.clients {
		if n.r.IntN(3) > 0 {
			n.every[n.scenario.clients[i].name] = 1 + metasim.Time(n.r.IntN(pick(n.r, 3, 10, 60)))
		}
	}
}

// moment draws one after so much has happened.
func (n *network) moment(after int) moment {
	m := moment{at: after + 1 + n.r.IntN(pick(n.r, 60, 150, 500))}
	if n.r.IntN(3) > 0 {
		m.after = trigger(n.r.IntN(int(triggers)))
	}
	return m
}

// again draws whether what has happened happens once more.
func (n *network) again(m moment) moment {
	if m.at == 0 || n.r.IntN(5) == 0 {
		return moment{}
	}
	return n.moment(n.happened)
}

// occurs notes what the last packet has promised. What a client promises before all of its past has come counts with its next report, unless it waits
// for its past.
func (n *network) occurs(c *conn, p wire.Packet) {
	n.last, n.promised = c, isPromise(p)
	m := c.members[p.Member]
	var floor metasim.Instant
	switch b := p.Body.(type) {
	case *metasim.Promise:
		floor = b.NoSendBefore
	case *metasim.Advance:
		floor = b.NoSendBefore
	}
	if m.vowed.Before(floor) && (!slices.ContainsFunc(n.feeds, func(f feed) bool { return n.clients[f.client] == m }) || n.waits(c, m)) {
		m.vowed = floor
	}
	if _, asks := p.Body.(*metasim.PollWait); asks {
		m.asked = m.phase == returning
	}
}

func (n *network) complain(err error) {
	if err != nil && n.err == nil {
		n.err = err
	}
}

// waits reports whether packets of a client wait for more of its past.
func (n *network) waits(c *conn, m *client) bool {
	held := n.server.Held(metasim.ClientID(slices.Index(n.clients, m)))
	for _, p := range held {
		_, refusal := n.server.Receive(c.session, p) // they wait again
		if refusal != nil {
			n.complain(errors.New(refusal.Text))
		}
	}
	return len(held) > 0
}

// ripe reports whether a moment has come, and on which connection, if it is that of one.
func (n *network) ripe(m moment) bool {
	if m.at == 0 || n.happened < m.at || n.finished {
		return false
	}
	n.victim = nil
	switch m.after {
	case anything:
		return true
	case promised:
		if n.promised {
			n.victim = n.last
		}
	case repeating:
		if len(n.feeds) > 0 {
			n.victim = n.feeds[0].conn
		}
	case unread:
		if i := slices.IndexFunc(n.conns, func(c *conn) bool { return len(c.members) > 0 && slices.ContainsFunc(c.up, isPromise) }); i >= 0 {
			n.victim = n.conns[i]
		}
	default:
		for i, c := range n.clients {
			if c != nil && c.is(m.after, n.dispatcher.Status(metasim.ClientID(i)).Clock) {
				n.victim = c.conn
			}
		}
	}
	return n.victim != nil
}

func isPromise(p wire.Packet) bool {
	_, is := p.Body.(*metasim.Promise)
	return is
}
