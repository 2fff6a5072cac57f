package show

import (
	"fmt"
	"strings"

	"metasim/analysis/trace"
)

// A teller makes the events of a trace. It knows the texts that they say by their numbers.
type teller struct {
	t *trace.Timeline
	words
	categories      [getsSim + 1]text // of what happens
	names, waitsFor []text            // of clients
	sendsOn, getsOn []text            // of channels
	paths           []text            // 0: not said yet
	notes           [4]note
	piles           []pile // of clients
}

// words are the texts that every trace may say.
type words struct {
	waits, pace, computes, critical, advances text
	at, until, released, over, from, to, size text
	sent, due, computed, waited               text
}

// maxPiled is how many messages of one nanosecond are drawn on top of one another.
const maxPiled = 8

// A pile is messages of one client and time.
type pile struct {
	track  uint64
	at     int64
	height int
}

// high says that a message would be one too many on its pile. Perfetto piles up all the instants of one time, a row for each,
// and has no arrows for those above row 512. It puts a slice that takes no time beside them, and the next pile on that.
func (x *teller) high(e *event) bool {
	p := &x.piles[(e.track-firstClient)/2]
	if p.track != e.track || p.at != e.at {
		*p = pile{track: e.track, at: e.at}
	}
	if p.height++; p.height > maxPiled {
		p.height = 0
	}
	return p.height == 0
}

func newTeller(t *trace.Timeline, l *lexicon) *teller {
	x := &teller{t: t, paths: make([]text, len(t.Paths)), piles: make([]pile, len(t.Names)), words: words{
		waits: l.add("waits"), pace: l.add("for the pace of the run"),
		computes: l.add("computes"), critical: l.add("computes (critical)"), advances: l.add("advances"),
		at: l.add("at (simulated ns)"), until: l.add("until (simulated ns)"), released: l.add("released by"), over: l.add("over"),
		from: l.add("from"), to: l.add("to"), size: l.add("size (bytes)"), sent: l.add("sent (simulated ns)"), due: l.add("due (simulated ns)"),
		computed: l.add("computed (wall ns)"), waited: l.add("waited (wall ns)"),
	}}
	letter := l.add("message")
	x.categories = [...]text{
		waits: l.add("wait"), waitsFor: l.add("hold"), computes: l.add("work"), advances: l.add("advance"),
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

// tell writes the moments of a track, which are in order, or those of many, each of which says whose it is.
func (x *teller) tell(p *packer, track uint64, all moments) {
	for _, m := range all {
		e := event{track: track, at: m.at, kind: sliceBegin, category: x.categories[m.what], notes: x.notes[:0]}
		switch m.what {
		case ends:
			e.kind = sliceEnd
		case waits, computes, advances:
			x.grant(&e, m.what, &x.t.Grants[m.index])
		case waitsFor:
			x.hold(&e, &x.t.Holds[m.index], &p.lexicon)
		default:
			e.kind = instant
			x.message(&e, m.what, m.index)
			if x.high(&e) {
				e.kind = sliceBegin
				p.event(&e)
				e = event{track: e.track, at: e.at, kind: sliceEnd}
			}
		}
		p.event(&e)
	}
}

func (x *teller) grant(e *event, w what, g *trace.Grant) {
	at := note{name: x.at, number: int64(g.From.Time)}
	switch {
	case w == waits:
		e.name, e.notes = x.waits, append(e.notes, at)
		return
	case w == advances:
		e.name, e.notes = x.advances, append(e.notes, note{name: x.computed, number: g.Work}, note{name: x.waited, number: g.Granted - g.Polled})
		return
	case g.Critical:
		e.name = x.critical
	default:
		e.name = x.computes
	}
	e.notes = append(e.notes, at, note{name: x.until, number: int64(g.Until.Time)})
	if g.Cause != g.Client {
		e.notes = append(e.notes, note{name: x.released, text: x.names[g.Cause]})
	}
}

// message tells of a message that is sent or received. Its arrow has a number by the wall clock, and another one by
// simulated time.
func (x *teller) message(e *event, w what, index int32) {
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
			e.flow = 0 // an arrow to nowhere
		}
		e.notes = append(e.notes, note{name: x.size, number: int64(m.Size)}, note{name: x.sent, number: int64(m.Sent.Time)},
			note{name: x.due, number: int64(m.Due.Time)})
	}
}

// hold says for whom somebody waits, and over which links.
func (x *teller) hold(e *event, h *trace.Hold, l *lexicon) {
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
