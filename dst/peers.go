package dst

import (
	"fmt"
	"slices"

	"metasim/metasim"
	"metasim/record/past"
	"metasim/wire"
	"metasim/wire/session"
)

// read lets the server read some packets of a connection.
func (n *network) read(c *conn, packets int) {
	for _, p := range c.up[:packets] {
		if n.failed == nil {
			n.packet(c, p)
		}
	}
	c.up = append(c.up[:0], c.up[packets:]...)
}

// packet takes one packet to the server's end, and what follows from it to the dispatcher.
func (n *network) packet(c *conn, p wire.Packet) {
	if len(c.members) > 0 { // else it is that of a gateway
		n.occurs(c, p)
	}
	ev, refusal := n.server.Receive(c.session, p)
	switch {
	case refusal == nil:
	case refusal.Gone:
		n.wentAway(refusal.Client)
	default:
		n.complain(refused(refusal))
	}
	if id, saved := n.server.Saved(); saved != nil && saved.Failed == "" {
		n.count[countSaved]++
		account := n.ledger.Account(id)
		n.complain(n.disk.keep(id, &session.Saved{Checkpoint: *saved, Sent: account.Sent, Sends: n.ledger.SendsOf(id)}))
	}
	if join, ok := ev.(*metasim.Join); ok && n.server.Presence(join.Client) == session.Away {
		n.comeBack(c, join)
		return
	}
	for ev != nil && n.err == nil {
		n.observe(ev, n.dispatcher.Step(ev))
		n.dirty = true
		if n.failed != nil {
			n.complain(n.failed)
			return
		}
		ev = n.server.Answer(ev)
	}
}

// lose ends a connection on which somebody takes part, or one client of it: a part of what was written still arrives at the server. The connection of a
// gateway has no members here: it is that of a dispatcher, without which its run is over.
func (n *network) lose() {
	reads := n.cut.after != unread
	n.cut = n.again(n.cut)
	for _, k := range n.r.Perm(len(n.conns)) {
		c := n.conns[k]
		if n.victim != nil {
			c = n.victim
		}
		if len(c.members) == 0 || len(n.server.Disconnect(c.session)) == 0 {
			continue
		}
		if n.relayed && n.r.IntN(3) == 0 && n.loseOne(c) {
			return
		}
		if reads {
			n.read(c, n.r.IntN(len(c.up)+1))
		}
		lost := n.server.Disconnect(c.session)
		for i, m := range n.clients { // whoever starts processes sees the death of one that was still to say Hello
			if id := metasim.ClientID(i); m != nil && m.conn == c && n.server.Presence(id) == session.Away {
				lost = append(lost, id)
			}
		}
		*c = conn{session: c.session, members: c.members, closed: true}
		for _, m := range c.members {
			m.phase = over
		}
		if n.restart {
			n.startAgain(c)
			return
		}
		n.count[countLost] = 1
		n.feeds = slices.DeleteFunc(n.feeds, func(f feed) bool { return f.conn == c })
		for _, id := range lost {
			n.lost(id)
		}
		return
	}
}

// lost goes on without a client, or ends the run.
func (n *network) lost(id metasim.ClientID) {
	if n.finished || !n.server.Lose(id) {
		return
	}
	if n.detach && n.server.Started() {
		n.dirty = true
		n.count[countDetached]++
		ev := n.server.Cut(id, n.dispatcher.Status(id).Clock)
		n.observe(ev, n.dispatcher.Step(ev))
		return
	}
	n.count[countFailed] = 1
	n.finished, n.failed = true, fmt.Errorf("lost client %d", id)
	n.server.Farewell(n.failed)
}

// startAgain starts again who was on a connection that has ended: each on a connection of its own, or some on one. Another one may end later.
func (n *network) startAgain(ended *conn) {
	var begun []*conn
	for i, c := range n.clients {
		id := metasim.ClientID(i)
		if c == nil || c.conn != ended || n.server.Presence(id) == session.Left {
			continue
		}
		own := n.shared(begun)
		begun = append(begun, own)
		n.replace(id, own)
	}
}

// replace starts a client again, over a connection.
func (n *network) replace(id metasim.ClientID, own *conn) {
	n.count[countRestarted]++
	n.server.Vacate(id)
	n.feeds = slices.DeleteFunc(n.feeds, func(f feed) bool { return f.client == id })
	n.complain(n.join(int(id), own))
	n.clients[id].repeats = true
	n.use(own)
}

// loseOne ends one client of a connection that others share and that goes on, as behind a relay: of what the client has written after its Hello the end is
// lost, and then the relay says that it is gone. It reports false if nobody shares the connection.
func (n *network) loseOne(c *conn) bool {
	joined := n.server.Disconnect(c.session)
	var there []*client
	for i, m := range n.clients {
		if m == nil || m.conn != c || m.phase == over {
			continue
		}
		if slices.Contains(joined, metasim.ClientID(i)) || slices.ContainsFunc(c.up, m.saysHello) {
			there = append(there, m)
		}
	}
	if len(there) < 2 {
		return false
	}
	m := there[n.r.IntN(len(there))]
	lost := n.r.IntN(3)
	for i := len(c.up) - 1; i >= 0 && lost > 0; i-- {
		if c.up[i].Member == m.member && !m.saysHello(c.up[i]) {
			c.up = slices.Delete(c.up, i, i+1)
			lost--
		}
	}
	m.phase, m.gone = over, true
	c.up = append(c.up, wire.Packet{Member: m.member, Body: wire.Failed{Reason: "it is gone", Gone: true}})
	n.count[countAlone]++
	return true
}

func (c *client) saysHello(p wire.Packet) bool {
	_, says := p.Body.(wire.Hello)
	return says && p.Member == c.member
}

// wentAway takes the word that a client is gone whose connection goes on. It is started again over that one, or is lost.
func (n *network) wentAway(id metasim.ClientID) {
	if n.restart {
		n.replace(id, n.clients[id].conn)
		return
	}
	n.count[countLost] = 1
	n.feeds = slices.DeleteFunc(n.feeds, func(f feed) bool { return f.client == id })
	n.lost(id)
}

// comeBack lets a client in again. What it was given before the run had started is nothing.
func (n *network) comeBack(c *conn, join *metasim.Join) {
	if refusal := n.server.Return(join); refusal != nil {
		n.complain(refused(refusal))
		return
	}
	if n.server.Repeats(join.Client) {
		p, err := n.recall(join.Client)
		if err != nil {
			n.complain(err)
			return
		}
		n.feeds = append(n.feeds, feed{client: join.Client, conn: c, past: p, slow: n.r.IntN(3) == 0})
	}
}

// recall opens what the journal has of a client by now; if it makes checkpoints, of what follows the last one.
func (n *network) recall(id metasim.ClientID) (*past.Reader, error) {
	p, size, err := n.disk.past(id)
	if err == nil && n.server.Saves(id) {
		unfit := func(err error) {
			if !n.disk.damaged {
				n.complain(err)
			}
		}
		p.From(func() []*past.Kept { return n.disk.kept.Last(id, size, unfit) }, unfit)
	}
	return p, err
}

// remember gives the server a part of the past of a client that has come back, as from a journal.
func (n *network) remember() {
	f := n.feeds[0]
	most := 6
	if f.slow {
		most = 2
	}
	f.past.Parts(n.r.IntN(most))
	part, whole, err := f.past.Next()
	if err != nil {
		n.complain(err)
		return
	}
	if whole {
		n.feeds = n.feeds[1:]
	}
	id, conn := f.client, f.conn
	n.server.Remember(id, part, whole)
	if !whole { // what waited for this part may be from its past, and its next report says it again
		n.clients[id].vowed = metasim.Start
	}
	for _, p := range n.server.Held(id) {
		n.packet(conn, p)
	}
	if c, s := n.clients[id], n.dispatcher.Status(id); whole && c.phase != over && !s.Gone && s.NoSendBefore.Before(c.vowed) {
		n.complain(fmt.Errorf("%s has promised to send nothing before %v, and the dispatcher knows of %v", c.name, c.vowed, s.NoSendBefore))
	}
}

func refused(r *session.Refusal) error {
	if d := r.Difference; d != nil {
		return fmt.Errorf("a client is not what it was: %s: %s, now %s", d.Where, d.Then, d.Now)
	}
	return fmt.Errorf("the server refuses: %s %s", r.Text, r.Cause)
}
