package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// The tracks of a trace that do not belong to a client.
const (
	wallGroup = 1 + iota
	simGroup
	computingCounter
	firstClient
)

// wallTrack returns the track of a client by wall-clock time. The next one is its track by simulated time.
func wallTrack(c metasim.ClientID) uint64 { return firstClient + 2*uint64(c) }

// An eventWriter turns moments into events. It has the numbers of the texts in them.
type eventWriter struct {
	t *trace.Timeline
	words
	categories      [waitsFor + 1]text // by what
	names, waitsFor []text             // of clients
	sendsOn, getsOn []text             // of channels
	paths           []text             // 0: not used yet
	notes           [4]note
	stacks          []stack // by client
}

// words are the texts that every trace may contain.
type words struct {
	waits, pace, computes, critical, advances text
	at, until, released, over, from, to, size text
	sent, due, computed, waited, starts       text
}

// maxStacked is how many messages of one nanosecond are drawn below one another.
const maxStacked = 8

// A stack counts the messages of one track and time.
type stack struct {
	track  uint64
	at     int64
	height int
}

// full reports whether a message is the last one of its stack. Perfetto draws the instants of one time below one another, a row for each, and
// has no arrows for those beyond row 512. It draws a slice that takes no time beside them, and starts again with the next instant.
func (x *eventWriter) full(e *event) bool {
	p := &x.stacks[(e.track-firstClient)/2]
	if p.track != e.track || p.at != e.at {
		*p = stack{track: e.track, at: e.at}
	}
	if p.height++; p.height > maxStacked {
		p.height = 0
	}
	return p.height == 0
}

func newEventWriter(t *trace.Timeline, l *interner) *eventWriter {
	pace := "for the pace of the run"
	if t.Nested {
		pace = "for the run around it"
	}
	x := &eventWriter{t: t, paths: make([]text, len(t.Paths)), stacks: make([]stack, len(t.Names)), words: words{
		waits: l.add("waits"), pace: l.add(pace),
		computes: l.add("computes"), critical: l.add("computes (critical)"), advances: l.add("advances"),
		at: l.add("at (simulated ns)"), until: l.add("until (simulated ns)"), released: l.add("released by"), over: l.add("over"),
		from: l.add("from"), to: l.add("to"), size: l.add("size (bytes)"), sent: l.add("sent (simulated ns)"), due: l.add("due (simulated ns)"),
		computed: l.add("computed (wall ns)"), waited: l.add("waited (wall ns)"), starts: l.add("initializes"),
	}}
	letter, work := l.add("message"), l.add("work")
	x.categories = [...]text{
		waits: l.add("wait"), waitsFor: l.add("hold"), computes: work, computesCritical: work, advances: l.add("advance"),
		sends: letter, gets: letter, sendsSim: letter, getsSim: letter,
	}
	for _, name := range t.Names {
		x.names, x.waitsFor = append(x.names, l.add(name)), append(x.waitsFor, l.add("for "+name))
	}
	for _, name := range t.Channels {
		x.sendsOn, x.getsOn = append(x.sendsOn, l.add("sends "+name)), append(x.getsOn, l.add("gets "+name))
	}
	return x
}

// write writes moments in order. They belong to the track; those of messages may have another one.
func (x *eventWriter) write(p *packer, track uint64, all moments) {
	for _, m := range all {
		e := event{track: track, at: m.at, kind: sliceBegin, category: x.categories[m.what], notes: x.notes[:0]}
		switch m.what {
		case endsHold, ends:
			e.kind = sliceEnd
		case waits, computes, computesCritical, advances:
			x.slice(&e, m.what, m.index)
		case waitsFor:
			x.hold(&e, &x.t.Holds[m.index], &p.interner)
		default:
			e.kind = instant
			x.message(&e, m.what, m.index)
			if x.full(&e) {
				e.kind = sliceBegin
				p.event(&e)
				e = event{track: e.track, at: e.at, kind: sliceEnd}
			}
		}
		p.event(&e)
	}
}

// slice fills in a slice of a grant, or of the start of the client ^index.
func (x *eventWriter) slice(e *event, w what, index int32) {
	if w == computes || w == computesCritical {
		if e.name = x.computes; w == computesCritical {
			e.name = x.critical
		}
	}
	if index < 0 {
		e.notes = append(e.notes, note{name: x.starts, text: x.names[^index]})
		return
	}
	g := &x.t.Grants[index]
	at := note{name: x.at, number: int64(g.From.Time)}
	switch {
	case w == waits:
		e.name, e.notes = x.waits, append(e.notes, at)
		return
	case w == advances:
		e.name, e.notes = x.advances, append(e.notes, note{name: x.computed, number: g.Work}, note{name: x.waited, number: g.Granted - g.Polled})
		return
	}
	e.notes = append(e.notes, at, note{name: x.until, number: int64(g.Until.Time)})
	if g.Cause != g.Client {
		e.notes = append(e.notes, note{name: x.released, text: x.names[g.Cause]})
	}
}

// message fills in the event of a message that is sent or received. Its arrows by wall-clock time and by simulated time have different
// numbers.
func (x *eventWriter) message(e *event, w what, index int32) {
	m := &x.t.Messages[index]
	e.flow = uint64(2*index + 1)
	if w == sendsSim || w == getsSim {
		e.flow++
	}
	if w == gets || w == getsSim {
		if e.track = wallTrack(m.To); w == getsSim {
			e.track++
		}
		e.name, e.terminates, e.notes = x.getsOn[m.Channel], true, append(e.notes, note{name: x.from, text: x.names[m.From]})
		return
	}
	e.name, e.notes = x.sendsOn[m.Channel], append(e.notes, note{name: x.to, text: x.names[m.To]})
	if w == sends {
		if m.Delivered == 0 {
			e.flow = 0 // the arrow would not end
		}
		e.notes = append(e.notes, note{name: x.size, number: int64(m.Size)}, note{name: x.sent, number: int64(m.Sent.Time)},
			note{name: x.due, number: int64(m.Due.Time)})
	}
}

// hold fills in the event of a hold: which client the other one waits for, and over which links.
func (x *eventWriter) hold(e *event, h *trace.Hold, l *interner) {
	if e.name = x.pace; h.Root != trace.NoClient {
		e.name = x.waitsFor[h.Root]
	}
	if h.Path < 0 || len(x.t.Paths[h.Path]) == 0 {
		return
	}
	if x.paths[h.Path] == 0 {
		var hops []string
		for _, hop := range x.t.Paths[h.Path] {
			hops = append(hops, fmt.Sprintf("%s -> %s on %s (%s)", x.t.Names[hop.From], x.t.Names[hop.To], hop.Channel, hop.Min))
		}
		x.paths[h.Path] = l.add(strings.Join(hops, ", "))
	}
	e.notes = append(e.notes, note{name: x.over, text: x.paths[h.Path]})
}

// A moment is an event of a track that is not written yet. It is small, because a trace may have many millions. index is that of a grant, a
// hold or a message in the Timeline; what says which.
type moment struct {
	at    int64 // nanoseconds
	index int32
	what  what
}

// what is the kind of a moment. Moments of one time are in the order of their kinds, which makes slices nest: the inner slice, a hold, ends
// first and begins last.
type what uint8

const (
	endsHold what = iota
	ends          // another slice
	sends
	gets
	sendsSim
	getsSim
	waits
	computes
	computesCritical
	advances
	waitsFor // begins a hold
)

// compare orders moments by time, then by kind. The rest does not matter.
func (m *moment) compare(o *moment) int {
	if m.at != o.at {
		return cmp.Compare(m.at, o.at)
	}
	return cmp.Compare(m.what, o.what)
}

// moments are the moments of a track.
type moments []moment

// begin adds the beginning of a slice, end its end. A slice that takes no time is left out.
func (m *moments) begin(begin, end int64, w what, index int32) {
	if begin < end {
		*m = append(*m, moment{begin, index, w})
	}
}

// slice adds both ends of a slice that has no other inside.
func (m *moments) slice(begin, end int64, w what, index int32) {
	m.begin(begin, end, w, index)
	m.end(begin, end, ends)
}

func (m *moments) end(begin, end int64, w what) {
	if begin < end {
		*m = append(*m, moment{at: end, what: w})
	}
}

func (m *moments) instant(at int64, w what, index int32) { *m = append(*m, moment{at, index, w}) }

// merged sorts the moments. The first ones are sorted already, and so are the others.
func (m moments) merged(first int) moments {
	more := slices.Clone(m[first:])
	i, j := first, len(more)
	for k := len(m); j > 0; k-- {
		if i > 0 && m[i-1].compare(&more[j-1]) > 0 {
			i--
			m[k-1] = m[i]
		} else {
			j--
			m[k-1] = more[j]
		}
	}
	m.sort() // it does nothing unless a clock was set back
	return m
}

func (m moments) sort() {
	compare := func(x, y moment) int { return x.compare(&y) }
	if !slices.IsSortedFunc(m, compare) {
		slices.SortStableFunc(m, compare)
	}
}
