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
		steps := &t.clients[i].steps
		steps.end()
		if c := &t.clients[i]; c.gone {
			s.Clients[i].Absent = t.tl.End - max(c.left, t.tl.Begin)
		}
		s.Clients[i].Steps, s.Clients[i].StepP50, s.Clients[i].StepP99 = steps.count, steps.quantile(0.5), steps.quantile(0.99)
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
	t.criticalPath()
	short := t.blame.shortPerLink()
	delays, names := t.src.Config.Delays, t.tl.Names
	for id, l := range t.links { // each link by itself; they are sorted below
		channel := t.tl.Channels[id.Channel]
		l.Declared = LeastDelay(delays, names[id.From], names[id.To], channel)
		l.Short = short[id]
		if s := t.segments[id]; s != nil {
			l.Critical = *s
		}
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

// A promiseAccuracy compares what a client's reports promised with what it sent. Every report counts, because other clients wait
// after every report: a client that sends once in a hundred ticks and promises one tick each time promises almost nothing.
type promiseAccuracy struct {
	open   []promise // of the reports since the last send
	stride uint32    // one of so many reports is stored, when there are very many
	missed uint32    // reports since the last stored one
}

// A promise is what one report says about the client's next send.
type promise struct {
	at    metasim.Time // of the report
	floor metasim.Time // no send before this
	next  metasim.Time // no send before this either, unless a message arrives
}

// maxPromises is how many open promises are stored for a client.
const maxPromises = 512

func (a *promiseAccuracy) add(p promise) {
	a.stride = max(1, a.stride)
	if a.missed++; a.missed < a.stride {
		a.open[len(a.open)-1] = p // the last one always counts
		return
	}
	a.missed = 0
	if len(a.open) == maxPromises {
		for i := range maxPromises / 2 {
			a.open[i] = a.open[2*i]
		}
		a.open = a.open[:maxPromises/2]
		a.stride *= 2
	}
	a.open = append(a.open, p)
}

// raise extends the last promise.
func (a *promiseAccuracy) raise(floor metasim.Time) {
	if n := len(a.open); n > 0 {
		a.open[n-1].floor = max(a.open[n-1].floor, floor)
	}
}

// judge closes the open promises at a send. It returns simulated nanoseconds, summed over the reports: silent is the time from the
// report to the send, promised the part of it that was promised, announced the part that was promised unless a message arrived.
func (a *promiseAccuracy) judge(sent metasim.Time) (silent, promised, announced float64) {
	for _, p := range a.open {
		until := func(bound metasim.Time) float64 { return float64(max(0, min(bound, sent)-p.at)) }
		silent += until(sent)
		promised += until(p.floor)
		announced += until(max(p.floor, p.next))
	}
	a.open, a.stride, a.missed = a.open[:0], 1, 0
	return silent, promised, announced
}
