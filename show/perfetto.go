package show

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"metasim/analysis"
	"metasim/metasim"
)

// The tracks of a trace that are not those of a client. Those of client i are firstClient+2i for the wall clock and the one
// after it for simulated time.
const (
	wallGroup = 1 + iota
	simGroup
	runningCounter
	firstClient
)

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
		uuid := uint64(firstClient + 2*i)
		p.track(track{uuid: uuid, parent: wallGroup, name: t.Names[i], rank: i + 1})
		x.wall(c).write(p, uuid)
		p.track(track{uuid: uuid + 1, parent: simGroup, name: t.Names[i], rank: i + 1})
		x.sim(c).write(p, uuid+1)
	}
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// A tracer makes events. Their names are made once.
type tracer struct {
	t                         *analysis.Timeline
	waits, sends, gets, paths []string
}

// An ofClient is what of a timeline concerns one client, as indexes.
type ofClient struct{ grants, sent, received []int32 }

func sortOut(t *analysis.Timeline) []ofClient {
	all := make([]ofClient, len(t.Names))
	for i := range t.Grants {
		c := &all[t.Grants[i].Client]
		c.grants = append(c.grants, int32(i))
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		all[m.From].sent = append(all[m.From].sent, int32(i))
		all[m.To].received = append(all[m.To].received, int32(i))
	}
	return all
}

// since returns a time of the wall clock as one of the trace, which begins with the run.
func since(t *analysis.Timeline, wall int64) int64 { return max(0, wall-t.Begin) }

func (x *tracer) wall(c ofClient) (e events) {
	t := x.t
	for _, i := range c.grants {
		g := &t.Grants[i]
		polled, granted := since(t, g.Polled), since(t, g.Granted)
		e.slice(polled, granted, false, "waits", note{name: "at (simulated ns)", number: int64(g.From.Time)})
		for _, h := range t.Holds[g.Holds[0]:g.Holds[1]] {
			e.slice(since(t, h.Begin), since(t, h.End), true, x.root(h.Root), x.path(h.Path)...)
		}
		notes := []note{{name: "at (simulated ns)", number: int64(g.From.Time)}, {name: "until (simulated ns)", number: int64(g.Until.Time)}}
		if g.Cause != g.Client {
			notes = append(notes, note{name: "released by", text: t.Names[g.Cause]})
		}
		name := "computes"
		if g.Critical {
			name = "computes (critical)"
		}
		e.slice(granted, min(granted+g.Work, since(t, g.Reported)), false, name, notes...)
	}
	for _, i := range c.sent {
		m := &t.Messages[i]
		flow := uint64(2*i + 1)
		if m.Delivered == 0 {
			flow = 0 // an arrow to nowhere
		}
		e.instant(since(t, m.Queued), x.sends[m.Channel], flow, false, messageNotes(t, m)...)
	}
	for _, i := range c.received {
		if m := &t.Messages[i]; m.Delivered != 0 {
			e.instant(since(t, m.Delivered), x.gets[m.Channel], uint64(2*i+1), true, note{name: "from", text: t.Names[m.From]})
		}
	}
	return e
}

// sim draws a grant from where the client stood to where it stood at the next one.
func (x *tracer) sim(c ofClient) (e events) {
	t := x.t
	var end metasim.Time
	if n := len(t.Profile); n > 0 {
		end = t.Profile[n-1].Now
	}
	for k, i := range c.grants {
		g := &t.Grants[i]
		to := end
		if k+1 < len(c.grants) {
			to = t.Grants[c.grants[k+1]].From.Time
		}
		e.slice(int64(g.From.Time), int64(to), false, "advances", note{name: "computed (wall ns)", number: g.Work},
			note{name: "waited (wall ns)", number: g.Granted - g.Polled})
	}
	for _, i := range c.sent {
		m := &t.Messages[i]
		e.instant(int64(m.Sent.Time), x.sends[m.Channel], uint64(2*i+2), false, note{name: "to", text: t.Names[m.To]})
	}
	for _, i := range c.received {
		m := &t.Messages[i]
		e.instant(int64(m.Due.Time), x.gets[m.Channel], uint64(2*i+2), true, note{name: "from", text: t.Names[m.From]})
	}
	return e
}

func messageNotes(t *analysis.Timeline, m *analysis.Message) []note {
	return []note{
		{name: "to", text: t.Names[m.To]},
		{name: "size (bytes)", number: int64(m.Size)},
		{name: "sent (simulated ns)", number: int64(m.Sent.Time)},
		{name: "due (simulated ns)", number: int64(m.Due.Time)},
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
