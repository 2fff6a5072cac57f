package analysis

import "metasim/metasim"

// keepFor is for how long a client keeps what it has to say, in nanoseconds, where nobody is known to wait for it: as in
// client.
const keepFor = 100_000

// done has a ghost say what it has done. It goes on where it may, and writes where it must.
func (p *player) done(g *ghost) {
	for _, k := range g.did {
		p.send(g, k)
	}
	g.settle()
	next := g.next()
	switch may := next.Before(g.granted); {
	case g.undone == 0 || !may && g.granted == metasim.Infinity: // nothing can come any more
		g.left = true
		p.say(g, &metasim.Leave{Client: g.id, Now: g.now, Acked: g.acked})
	case !may:
		g.polls = true
		r := g.report()
		p.say(g, &metasim.PollWait{Client: g.id, Report: r, Want: r.NextEvent, Messages: g.log.messages})
	default:
		p.say(g, &metasim.Advance{Client: g.id, Report: g.report()})
		if p.prices.known && !g.quiet.Before(next) && p.wall-g.since < keepFor {
			p.goOn(g)
			return
		}
		g.quiet = metasim.Infinity // once is enough
	}
	r := p.price(g)
	p.later(r.end+int64(len(g.kept))*r.item, g, wrote)
}

// goOn has a ghost do what it does next; it has a core, and keeps it.
func (p *player) goOn(g *ghost) {
	g.act(g.next())
	p.later(g.work(), g, computed)
}

// post hands the dispatcher what a ghost has written. The ghost goes on, or waits.
func (p *player) post(g *ghost) {
	polls := g.polls
	g.polls = false
	p.receive(g)
	switch {
	case g.left:
		p.release(g)
	case polls:
		p.release(g)
		g.waits = true
		p.look(g)
	case g.log.inside: // whoever writes there does the dispatcher's work meanwhile
		p.release(g)
		g.act(g.next())
		p.enqueue(g)
	default:
		p.goOn(g)
	}
}

// look lets a ghost go on that waits, where it may.
func (p *player) look(g *ghost) {
	next := g.next()
	switch {
	case !g.waits:
		return
	case next.Before(g.granted):
		g.act(next)
	case g.granted == metasim.Infinity:
		g.did = g.did[:0]
	default:
		return
	}
	g.waits = false
	messages := g.unread
	g.unread = 0
	p.rouse(g, messages)
}

// say keeps what a ghost has to say, until it writes.
func (p *player) say(g *ghost, ev metasim.Event) {
	n := len(g.kept)
	if n == 0 {
		g.since = p.wall
	} else if a, ok := ev.(*metasim.Advance); ok && p.prices.known {
		if last, ok := g.kept[n-1].(*metasim.Advance); ok {
			last.Report = a.Report
			return
		}
	}
	g.kept = append(g.kept, ev)
}

// send says what an act sent.
func (p *player) send(g *ghost, k int32) {
	end := g.log.acts[k].sends
	for i := end - g.sends(k); i < end; i++ {
		s := g.log.sends[i]
		g.sent = append(g.sent, uint64(i))
		p.say(g, &metasim.Send{Client: g.id, Channel: p.channels[s.channel], Sent: g.now, Payload: p.payload[:s.size]})
	}
}
