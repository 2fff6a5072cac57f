package dst

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/wire/session"
)

// die ends the server, and every client that does not outlive it. A new server goes on from what the disk has of the journal.
func (n *network) die() {
	n.count[countCrashes]++
	for _, c := range n.conns {
		n.arrive(c, n.r.IntN(len(c.down)+1))
		*c = conn{session: c.session, members: c.members, closed: true}
	}
	caughtUp := make([]bool, len(n.clients))
	for i := range n.clients {
		caughtUp[i] = !n.server.Repeats(metasim.ClientID(i))
	}
	n.conns, n.feeds, n.reached, n.past, n.promised = nil, nil, nil, metasim.Start, false
	n.crash, n.cut = n.again(n.crash), n.again(n.cut)
	if n.r.IntN(2) == 0 {
		n.cut = moment{at: n.happened + n.r.IntN(60), after: catching}
	}
	n.complain(n.disk.tear(n.r))
	n.complain(n.serve())
	n.complain(n.resume())
	for i, c := range n.clients {
		if n.err == nil {
			n.complain(n.comeHome(i, c, caughtUp[i]))
		}
	}
}

// resume brings the new server to where the journal ends, as server.Config.Resume does.
func (n *network) resume() error {
	n.server.Resumes()
	begun, permitted := false, false
	reader := journal.NewReader(bytes.NewReader(n.disk.file.b), n.dispatcher.Names())
	reader.SkipEffects()
	var matcher journal.Matcher
	var missing []metasim.Effect
	entries := int64(0)
	for ; ; entries++ {
		e, err := reader.Next()
		if errors.As(err, new(*journal.TornError)) {
			n.count[countTorn]++
			break
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(missing) > 0 {
			return fmt.Errorf("entry %d of the journal is not that of the run: %w", entries, err)
		}
		var effects []metasim.Effect
		if e.Event == nil {
			effects = n.dispatcher.Settle()
		} else {
			effects = n.dispatcher.Step(e.Event)
		}
		var same bool
		if missing, same = matcher.Missing(reader.Recorded(), effects); !same {
			return fmt.Errorf("entry %d of the journal has other effects than the dispatcher comes to now", entries)
		}
		n.done(e.Event, effects)
		switch ev := e.Event.(type) {
		case *metasim.Begin:
			begun = true
		case *metasim.Permit:
			permitted, n.permitted = true, ev.Until
		}
	}
	if n.disk.durable && entries < n.disk.synced {
		return fmt.Errorf("%d entries had reached the disk, and the journal has %d", n.disk.synced, entries)
	}
	if err := n.disk.reopen(len(n.clients), reader.Offset(), entries, missing); err != nil {
		return err
	}
	n.dirty = true
	if n.permits && !permitted {
		n.permit(metasim.At(metasim.Time(n.r.IntN(30))))
	}
	if !begun && n.server.Started() {
		ev := &metasim.Begin{}
		n.observe(ev, n.dispatcher.Step(ev))
		n.server.Answer(ev)
	}
	return nil
}

// done notes what was done before the server died.
func (n *network) done(ev metasim.Event, effects []metasim.Effect) {
	n.ledger.Observe(ev, effects)
	n.books.observe(ev, effects, n.dispatcher.End())
	n.server.Restore(ev)
	if _, permits := ev.(*metasim.Permit); permits {
		n.reached = nil
	}
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			n.server.Deliver(e)
		case *metasim.Authorize:
			n.server.Authorize(e)
		case *metasim.Reached:
			n.reached, n.past = new(*e), e.Until
		}
	}
}

// comeHome has a client come back to the new server, or starts it again, unless the journal has that it has left.
func (n *network) comeHome(i int, c *client, caughtUp bool) error {
	presence := n.server.Presence(metasim.ClientID(i))
	own := n.shared(n.conns)
	lacks := n.ledger.Account(metasim.ClientID(i)).Sent < c.sent || n.books.accounts[i].last < c.handled // what it does not remember
	switch survives := c.survives && caughtUp && c.phase != over && c.Patience() > 0 && !lacks && n.r.IntN(3) > 0; {
	case survives:
		n.count[countReturned]++
		c.comeBack(own)
	case presence == session.Left || presence == session.Lost: // the run goes on without it
		c.phase = over
		return nil
	default:
		if err := n.join(i, own); err != nil {
			return err
		}
		n.clients[i].repeats = presence == session.Away
		n.count[countRestarted]++
	}
	n.use(own)
	return nil
}
