package show

import (
	"io"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// Perfetto writes the timeline as a trace of TrackEvents in protobuf, which https://ui.perfetto.dev and trace_processor read. There are two
// groups of tracks, each with a track for each client: by wall-clock time, what the client computed and which client it waited for; by
// simulated time, how far each grant took it. Arrows are messages. Both groups use the nanoseconds of the trace, so that one lies below
// the other. Perfetto returns how many events it wrote: four for a message and about eight for a grant.
func Perfetto(w io.Writer, t *trace.Timeline) (events int, err error) {
	p, err := newPacker(w)
	if err != nil {
		return 0, err
	}
	p.track(track{uuid: wallGroup, name: "Wall clock"})
	p.track(track{uuid: simGroup, name: "Simulated time", rank: 1})
	p.track(track{uuid: computingCounter, parent: wallGroup, name: "computing at once", counter: true})
	begin := t.Begin
	for _, s := range t.Profile {
		p.event(&event{track: computingCounter, at: since(t, begin), kind: counter, value: s.Computing})
		begin = s.End
	}
	p.event(&event{track: computingCounter, at: since(t, t.End), kind: counter})
	x := newEventWriter(t, &p.interner)
	var all moments // reused
	for i, c := range indexClients(t) {
		uuid := wallTrack(metasim.ClientID(i))
		p.track(track{uuid: uuid, parent: wallGroup, name: t.Names[i], rank: i + 1})
		all = c.wall(t, all[:0])
		x.write(p, uuid, all)
		p.track(track{uuid: uuid + 1, parent: simGroup, name: t.Names[i], rank: i + 1})
		all = c.sim(t, all[:0])
		x.write(p, uuid+1, all)
	}
	all = received(t, all[:0])
	x.write(p, 0, all)
	all = receivedSim(t, all[:0])
	x.write(p, 0, all)
	p.flush()
	return p.events, p.err
}

// A clientIndex has the indexes of one client's grants and messages, and its parts of the critical path.
type clientIndex struct {
	client       metasim.ClientID
	grants, sent []int32
	critical     []trace.Part
}

func indexClients(t *trace.Timeline) []clientIndex {
	all := make([]clientIndex, len(t.Names))
	for i := range all {
		all[i].client = metasim.ClientID(i)
	}
	for _, p := range t.Critical {
		all[p.Client].critical = append(all[p.Client].critical, p)
	}
	for i := range t.Grants {
		c := &all[t.Grants[i].Client]
		c.grants = append(c.grants, int32(i))
	}
	for i := range t.Messages {
		c := &all[t.Messages[i].From]
		c.sent = append(c.sent, int32(i))
	}
	return all
}

// since returns a wall-clock time of the Timeline as a time of the trace, which begins with the run.
func since(t *trace.Timeline, wall int64) int64 { return max(0, wall-t.Begin) }

// wall has the slices of a client by wall-clock time, and its sends.
func (c clientIndex) wall(t *trace.Timeline, m moments) moments {
	critical := c.critical
	if int(c.client) < len(t.Starts) {
		s := t.Starts[c.client]
		critical = m.computing(t, t.Begin, s.End, s.Work, critical, ^int32(c.client))
	}
	for _, i := range c.grants {
		g := &t.Grants[i]
		polled, granted := since(t, g.Polled), since(t, g.Granted)
		m.begin(polled, granted, waits, i)
		for k := g.Holds[0]; k < g.Holds[1]; k++ {
			begin, end := since(t, t.Holds[k].Begin), since(t, t.Holds[k].End)
			m.begin(begin, end, waitsFor, k)
			m.end(begin, end, endsHold)
		}
		m.end(polled, granted, ends)
		critical = m.computing(t, g.Granted, g.Reported, g.Work, critical, i)
	}
	grants := len(m)
	for _, i := range c.sent {
		m.instant(since(t, t.Messages[i].Queued), sends, i)
	}
	return m.merged(grants)
}

// computing has the slices of a client's work in a grant or a start, from begin to end: the parts of the critical path in it, at their times,
// and the rest of the work as early as there is room for it. computing returns the parts after end.
func (m *moments) computing(t *trace.Timeline, begin, end, work int64, critical []trace.Part, index int32) (after []trace.Part) {
	n := 0
	for n < len(critical) && critical[n].Begin < end {
		work -= critical[n].End - critical[n].Begin
		n++
	}
	at := begin
	plain := func(upTo int64) {
		if took := min(work, upTo-at); took > 0 {
			m.slice(since(t, at), since(t, at+took), computes, index)
			work -= took
		}
	}
	for _, p := range critical[:n] {
		plain(p.Begin)
		m.slice(since(t, p.Begin), since(t, p.End), computesCritical, index)
		at = p.End
	}
	plain(end)
	return critical[n:]
}

// sim has a slice for each grant: from the instant of its request to the instant of the next one.
func (c clientIndex) sim(t *trace.Timeline, m moments) moments {
	var end metasim.Time
	if n := len(t.Profile); n > 0 {
		end = t.Profile[n-1].Now
	}
	for k, i := range c.grants {
		from, to := int64(t.Grants[i].From.Time), int64(end)
		if k+1 < len(c.grants) {
			to = int64(t.Grants[c.grants[k+1]].From.Time)
		}
		m.begin(from, to, advances, i)
		m.end(from, to, ends)
	}
	grants := len(m)
	for _, i := range c.sent {
		m.instant(int64(t.Messages[i].Sent.Time), sendsSim, i)
	}
	return m.merged(grants)
}

// received are the deliveries to all clients. They are written last: of two events of one nanosecond Perfetto takes the one that was written
// first as the earlier one, and it loses an arrow that ends before it begins.
func received(t *trace.Timeline, m moments) moments {
	for i := range t.Messages {
		if at := t.Messages[i].Delivered; at != 0 {
			m.instant(since(t, at), gets, int32(i))
		}
	}
	m.sort()
	return m
}

func receivedSim(t *trace.Timeline, m moments) moments {
	for i := range t.Messages {
		m.instant(int64(t.Messages[i].Due.Time), getsSim, int32(i))
	}
	m.sort()
	return m
}
