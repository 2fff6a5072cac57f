package metasim

import (
	"fmt"
	"slices"
)

// voice ends the name of the client through which the client of a group sends that hears.
const voice = "-voice"

// newVoice returns the client through which an actor sends. It does nothing of itself.
func newVoice(a *actor) *actor {
	v := &actor{actorSpec: &actorSpec{name: a.name + voice, pubs: a.pubs, reaction: a.reaction}, names: a.names, end: a.end, done: true}
	v.id = ClientID(slices.Index(a.names, v.name))
	return v
}

// spoken returns what an actor has said, as its group says it: the other client sends, and promises before this one acknowledges.
func (a *actor) spoken() (said []Event) {
	if a.voice == nil {
		return a.out
	}
	report := func(own Event, r Report) {
		r.Acked = 0
		var other Event = &Advance{Client: a.voice.id, Report: r}
		if !a.voiced {
			other = &PollWait{Client: a.voice.id, Report: r, Want: r.NextEvent, Messages: true}
		}
		a.voiced = true
		if a.planted == "acknowledges before its group has promised" {
			said = append(said, own, other)
		} else {
			said = append(said, other, own)
		}
	}
	for _, ev := range a.out {
		switch ev := ev.(type) {
		case *Send:
			ev.Client = a.voice.id
			said = append(said, ev)
		case *Promise:
			said = append(said, &Promise{Client: a.voice.id, NoSendBefore: ev.NoSendBefore})
		case *Advance:
			r := ev.Report
			ev.NoSendBefore = Later(r.NoSendBefore, a.authorized) // as a gateway, which has taken all before
			report(ev, r)
		case *PollWait:
			if ev.Client == a.voice.id {
				said = append(said, ev)
				continue
			}
			r := ev.Report
			ev.NoSendBefore = Later(r.NoSendBefore, a.authorized)
			report(ev, r)
		case *Leave:
			said = append(said, &Leave{Client: a.voice.id, Now: ev.Now}, ev)
		}
	}
	return said
}

// lacks reports whether nothing but the client through which it sends keeps an actor from going on.
func (a *actor) lacks() bool {
	need := a.need()
	return a.voice != nil && !a.done && a.started && need.Before(a.end) && need.Before(a.authorized) && !need.Before(a.voice.authorized)
}

// ask has the client through which it sends wait for what the actor is to do, after all that was handled is acknowledged.
func (a *actor) ask() {
	a.asked, a.told = a.need().Add(0), a.authorized
	a.out = append(a.out, &Advance{Client: a.id, Report: a.report()})
	r := a.report()
	r.Acked = 0
	a.out = append(a.out, &PollWait{Client: a.voice.id, Report: r, Want: a.need(), Messages: true})
}

// foreseen is what EarliestSend has said of a client.
type foreseen struct{ whatever, alone Instant }

// checkForeseen: no client sends before it may, by what was said after the last Settle.
func (n *network) checkForeseen(ev Event) error {
	send, ok := ev.(*Send)
	if !ok || n.d.foresight == nil {
		return nil
	}
	if f := n.foreseen[send.Client]; send.Sent.Before(f.whatever) || send.Sent.Before(f.alone) && !n.surprised && !n.isOutside(send.Client) {
		return fmt.Errorf("%s sends at %v; it was foreseen at %v, and alone at %v", n.d.Names()[send.Client], send.Sent, f.whatever, f.alone)
	}
	n.surprised = n.surprised || n.isOutside(send.Client)
	return nil
}

func (n *network) isOutside(id ClientID) bool {
	return slices.Contains(n.config.Outside, n.d.Names()[id])
}

// foresee compares EarliestSend with the plain computation and with what it said before, and asks whether Foreseen names what has changed.
func (n *network) foresee() error {
	if len(n.config.Outside) == 0 {
		if n.d.foresight != nil {
			return fmt.Errorf("a foresight where nobody is outside")
		}
		return nil
	}
	named := slices.Clone(n.d.Foreseen())
	plain, quiet := n.d.plainSafeTimes(), n.d.plainSafe(n.d.plainAlone)
	for i := range n.d.clients {
		c, before := &n.d.clients[i], n.foreseen[i]
		var f foreseen
		f.whatever, f.alone = n.d.EarliestSend(c.id)
		if want := (foreseen{n.d.plainSend(c, plain[i]), n.d.plainAlone(c, quiet[i])}); f != want {
			return fmt.Errorf("%s sends at %v at the earliest, the plain computation says %v", c.name, f, want)
		}
		switch {
		case f.alone.Before(f.whatever):
			return fmt.Errorf("%s may send at %v, and without the outside at %v already", c.name, f.whatever, f.alone)
		case f.whatever.Before(before.whatever), f.alone.Before(before.alone) && !n.surprised:
			return fmt.Errorf("the earliest send of %s fell from %v to %v", c.name, before, f)
		case f.alone != before.alone && !slices.Contains(named, c.id) && !c.outside:
			return fmt.Errorf("%s was not named when its earliest send went from %v to %v", c.name, before, f)
		}
		n.foreseen[i] = f
	}
	n.surprised = false
	return n.checkNeed()
}

// checkNeed: where nobody outside sends before what is needed of it, but a little, no more client could go on.
func (n *network) checkNeed() error {
	need := n.d.OutsideNeed()
	if need == Infinity || need.Time == 0 {
		return nil
	}
	now := n.d.plainSafeTimes()
	then := n.d.plainSafe(func(c *client, safe Instant) Instant {
		send := n.d.plainSend(c, safe)
		if c.outside {
			send = Later(send, At(need.Time-1))
		}
		return send
	})
	for i := range n.d.clients {
		if c := &n.d.clients[i]; c.waiting && !c.use.short && c.need().Before(then[i]) && !c.need().Before(now[i]) && c.need().Before(n.d.end) {
			return fmt.Errorf("%s waits for %v and may go on at %v, before the outside is needed at %v", c.name, c.need(), then[i], need)
		}
	}
	return nil
}
