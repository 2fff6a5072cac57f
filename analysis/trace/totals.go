package trace

import (
	"cmp"
	"slices"

	"metasim/metasim"
)

// sumUp completes the totals at the end of the run.
func (t *tracer) sumUp() {
	s := &t.tl.Totals
	for pair, blocked := range t.blame.pairs {
		s.Pairs = append(s.Pairs, Pair{pair[0], pair[1], blocked})
	}
	slices.SortFunc(s.Pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.Blocked, a.Blocked), cmp.Compare(a.Waiting, b.Waiting), cmp.Compare(a.HeldBy, b.HeldBy))
	})
	for i := range t.clients {
		s.IdealPath = max(s.IdealPath, t.clients[i].ideal)
		s.End = max(s.End, t.clients[i].now.Time)
	}
	for i := range t.tl.Profile { // when all clients have left, the dispatcher's time is infinite
		t.tl.Profile[i].Now = min(t.tl.Profile[i].Now, s.End)
	}
	s.BlameResolution = t.blame.resolution
	t.sumUpLinks()
}

func (t *tracer) sumUpLinks() {
	for i, took := range t.blame.times {
		if took == 0 {
			continue
		}
		for _, hop := range t.tl.Paths[i] {
			t.link(t.linkOf(&hop)).Held += took
		}
	}
	critical, short := t.criticalPath(), t.blame.shortfalls.perLink(t)
	delays, names := t.src.Config.Delays, t.tl.Names
	for id, l := range t.links { // each link by itself; they are sorted below
		channel := t.tl.Channels[id.Channel]
		l.Declared = leastDelay(delays, names[id.From], names[id.To], channel)
		l.Critical, l.Short = critical[id], short[id]
		if reaction, known := t.pubs[publication{id.From, channel}]; known {
			l.Reaction = reaction
		}
		t.tl.Totals.Links = append(t.tl.Totals.Links, *l)
	}
	slices.SortFunc(t.tl.Totals.Links, func(a, b LinkTotals) int { return cmp.Or(cmp.Compare(b.Held, a.Held), a.compare(b.LinkID)) })
}

// A publication is what a client sends on one channel.
type publication struct {
	client  metasim.ClientID
	channel string
}

// countSend compares a send with the client's promises, and with the message that it handled last.
func (t *tracer) countSend(ev *metasim.Send) {
	c, s := &t.clients[ev.Client], &t.tl.Totals.Clients[ev.Client]
	s.Sends++
	silent, promised, announced := c.accuracy.judge(ev.Sent.Time)
	s.Silent, s.Promised, s.Announced = s.Silent+silent, s.Promised+promised, s.Announced+announced
	if c.heard {
		key := publication{ev.Client, ev.Channel}
		reaction := ev.Sent.Time - c.heardAt.Time
		if least, known := t.pubs[key]; !known || reaction < least {
			t.pubs[key] = reaction
		}
	}
}

// countMessage counts a message on a link.
func (t *tracer) countMessage(id LinkID, m *metasim.Message, lost bool) {
	l := t.link(id)
	l.Messages++
	l.Bytes += uint64(len(m.Payload))
	if lost {
		l.Lost++
		return
	}
	l.Least = min(l.Least, m.Due.Time-m.Sent.Time)
}
