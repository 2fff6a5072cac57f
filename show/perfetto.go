package show

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"metasim/analysis"
	"metasim/metasim"
)

// The tracks of a trace that are not those of a client.
const (
	wallGroup = 1 + iota
	simGroup
	runningCounter
	firstClient
)

// wallTrack is the track of a client by the wall clock. The one after it is that by simulated time.
func wallTrack(c metasim.ClientID) uint64 { return firstClient + 2*uint64(c) }

// Perfetto writes the timeline as a trace of TrackEvents in protobuf, which https://ui.perfetto.dev and trace_processor
// read. There are two groups of tracks with one for each client: by the wall clock since the run began to be served, what it
// computed and for whom it waited; by simulated time, how far each grant took it. Arrows are messages. Nanoseconds of both
// are told as nanoseconds of the trace, so that one lies below the other.
func Perfetto(w io.Writer, t *analysis.Timeline) error {
	p := &packer{w: bufio.NewWriterSize(w, 1<<16)}
	p.track(track{uuid: wallGroup, name: "Wall clock"})
	p.track(track{uuid: simGroup, name: "Simulated time", rank: 1})
	p.track(track{uuid: runningCounter, parent: wallGroup, name: "computing at once", counter: true})
	begin := t.Begin
	for _, s := range t.Profile {
		p.count(runningCounter, since(t, begin), s.Running)
		begin = s.End
	}
	p.count(runningCounter, t.Wall(), 0)
	x := &tracer{t: t, paths: make([]string, len(t.Paths))}
	for _, name := range t.Names {
		x.waits = append(x.waits, "for "+name)
	}
	for _, name := range t.Channels {
		x.sends, x.gets = append(x.sends, "sends "+name), append(x.gets, "gets "+name)
	}
	for i, c := range sortOut(t) {
		uuid := wallTrack(metasim.ClientID(i))
		p.track(track{uuid: uuid, parent: wallGroup, name: t.Names[i], rank: i + 1})
		x.write(p, uuid, x.wall(c))
		p.track(track{uuid: uuid + 1, parent: simGroup, name: t.Names[i], rank: i + 1})
		x.write(p, uuid+1, x.sim(c))
	}
	x.write(p, 0, x.received())
	x.write(p, 0, x.receivedSim())
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// A tracer makes events. Their names are made once.
type tracer struct {
	t                         *analysis.Timeline
	waits, sends, gets, paths []string
	notes                     [4]note // used again and again
}

// An ofClient is what of a timeline concerns one client, as indexes.
type ofClient struct{ grants, sent []int32 }

func sortOut(t *analysis.Timeline) []ofClient {
	all := make([]ofClient, len(t.Names))
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

// since returns a time of the wall clock as one of the trace, which begins with the run.
func since(t *analysis.Timeline, wall int64) int64 { return max(0, wall-t.Begin) }

func (x *tracer) wall(c ofClient) (m moments) {
	t := x.t
	for _, i := range c.grants {
		g := &t.Grants[i]
		granted := since(t, g.Granted)
		m.slice(since(t, g.Polled), granted, waits, i)
		for k := g.Holds[0]; k < g.Holds[1]; k++ {
			m.slice(since(t, t.Holds[k].Begin), since(t, t.Holds[k].End), waitsFor, k)
		}
		m.slice(granted, min(granted+g.Work, since(t, g.Reported)), computes, i)
	}
	for _, i := range c.sent {
		m.instant(since(t, t.Messages[i].Queued), sends, i)
	}
	return m
}

// received are the deliveries to all clients. They come behind everything else: what is told first of two events of one
// nanosecond happened first, for Perfetto, and an arrow that ended before it began would be lost.
func (x *tracer) received() (m moments) {
	for i := range x.t.Messages {
		if at := x.t.Messages[i].Delivered; at != 0 {
			m.instant(since(x.t, at), gets, int32(i))
		}
	}
	return m
}

// sim draws a grant from where the client stood to where it stood at the next one.
func (x *tracer) sim(c ofClient) (m moments) {
	t := x.t
	var end metasim.Time
	if n := len(t.Profile); n > 0 {
		end = t.Profile[n-1].Now
	}
	for k, i := range c.grants {
		to := end
		if k+1 < len(c.grants) {
			to = t.Grants[c.grants[k+1]].From.Time
		}
		m.slice(int64(t.Grants[i].From.Time), int64(to), advances, i)
	}
	for _, i := range c.sent {
		m.instant(int64(t.Messages[i].Sent.Time), sendsSim, i)
	}
	return m
}

func (x *tracer) receivedSim() (m moments) {
	for i := range x.t.Messages {
		m.instant(int64(x.t.Messages[i].Due.Time), getsSim, int32(i))
	}
	return m
}

// write writes the moments of a track in order, or those of many, each of which says whose it is.
func (x *tracer) write(p *packer, uuid uint64, all moments) {
	all.sort()
	for _, m := range all {
		e := event{track: uuid, at: m.at, kind: sliceBegin, notes: x.notes[:0]}
		switch m.what {
		case ends:
			e.kind = sliceEnd
		case waits, computes, advances:
			x.grant(&e, m.what, &x.t.Grants[m.index])
		case waitsFor:
			h := &x.t.Holds[m.index]
			e.name, e.notes = x.root(h.Root), x.path(h.Path)
		default:
			e.kind = instant
			x.message(&e, m.what, m.index)
		}
		p.event(&e)
	}
}

func (x *tracer) grant(e *event, w what, g *analysis.Grant) {
	at := note{name: "at (simulated ns)", number: int64(g.From.Time)}
	switch {
	case w == waits:
		e.name, e.notes = "waits", append(e.notes, at)
		return
	case w == advances:
		e.name, e.notes = "advances", append(e.notes, note{name: "computed (wall ns)", number: g.Work},
			note{name: "waited (wall ns)", number: g.Granted - g.Polled})
		return
	case g.Critical:
		e.name = "computes (critical)"
	default:
		e.name = "computes"
	}
	e.notes = append(e.notes, at, note{name: "until (simulated ns)", number: int64(g.Until.Time)})
	if g.Cause != g.Client {
		e.notes = append(e.notes, note{name: "released by", text: x.t.Names[g.Cause]})
	}
}

// message tells of a message that is sent or received. Its arrow has a number by the wall clock, and another one by
// simulated time.
func (x *tracer) message(e *event, w what, index int32) {
	m := &x.t.Messages[index]
	e.flow = uint64(2*index + 1)
	if w == sendsSim || w == getsSim {
		e.flow++
	}
	if w == gets || w == getsSim {
		if e.track = wallTrack(m.To); w == getsSim {
			e.track++
		}
		e.name, e.terminates, e.notes = x.gets[m.Channel], true, append(e.notes, note{name: "from", text: x.t.Names[m.From]})
		return
	}
	e.name, e.notes = x.sends[m.Channel], append(e.notes, note{name: "to", text: x.t.Names[m.To]})
	if w == sends {
		if m.Delivered == 0 {
			e.flow = 0 // an arrow to nowhere
		}
		e.notes = append(e.notes, note{name: "size (bytes)", number: int64(m.Size)}, note{name: "sent (simulated ns)", number: int64(m.Sent.Time)},
			note{name: "due (simulated ns)", number: int64(m.Due.Time)})
	}
}

func (x *tracer) root(root metasim.ClientID) string {
	if root == analysis.Nobody {
		return "for the pace of the run"
	}
	return x.waits[root]
}

// path says over which links somebody is held back.
func (x *tracer) path(i int32) []note {
	if i < 0 || len(x.t.Paths[i]) == 0 {
		return nil
	}
	if x.paths[i] == "" {
		var hops []string
		for _, h := range x.t.Paths[i] {
			hops = append(hops, fmt.Sprintf("%s -> %s on %s (%s)", x.t.Names[h.From], x.t.Names[h.To], h.Channel, h.Min))
		}
		x.paths[i] = strings.Join(hops, ", ")
	}
	return []note{{name: "over", text: x.paths[i]}}
}
