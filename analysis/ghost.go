package analysis

import (
	"slices"

	"metasim/metasim"
)

// A ghost does again what a client did. It is driven by events as the client was: its timers make it act, and so do the
// messages that made it act then. So where messages come at other times, what follows from them does too: an act that a
// message caused comes with the message, and a timer keeps its distance from the act that set it.
type ghost struct {
	log     *clientLog
	id      metasim.ClientID
	causes  map[flight]int32 // which message makes it do what
	again   map[int32]int32  // and what its copy makes it do, of a message that came twice
	setters []int32          // of each act that a timer causes: the act that set the timer; -1 of others
	last    []int32          // of each act: the last one whose timer it set; 0: it set none
	speed   float64
	react   metasim.Time
	ahead   metasim.Time   // how far it promises to send nothing, as far as that is true; 0: as it did then
	silence []metasim.Time // how long it sent nothing after each act, where that matters

	now, granted metasim.Instant
	timers       []timer               // that are set, the next one first
	promised     metasim.Instant       // its next event, where no timer is set
	floor        metasim.Instant       // before it, it sends nothing
	inbox        fifo[metasim.Message] // by the sequence numbers that they had then
	sent         []uint64              // the sequence number that each of its sends had then
	acked        uint64
	undone       int
	left         bool
	did          []int32 // the acts at hand

	kept    []metasim.Event // what it has to say, and has not written yet
	since   int64           // wall clock since which it keeps that
	polls   bool            // it waits when that is written
	waits   bool
	quiet   metasim.Instant // until it may act beyond this, nobody is known to be helped by its reports
	coming  ear             // what it is about to be told
	unread  int             // messages that it was given and has not read
	reading int64           // what it takes to read what it was told, in nanoseconds
	shares  bool            // it takes turns with others
}

// An ear holds what a ghost is told.
type ear struct {
	any            bool
	given          []metasim.Message
	granted, quiet metasim.Instant
}

// hear takes in what it was told.
func (g *ghost) hear() {
	e := &g.coming
	g.unread += len(e.given)
	for _, m := range e.given {
		g.inbox.push(m)
	}
	g.granted, g.quiet = metasim.Later(g.granted, e.granted), e.quiet
	clear(e.given)
	*e = ear{given: e.given[:0]}
}

// A timer makes a ghost act.
type timer struct {
	at  metasim.Instant
	act int32
}

func newGhost(id metasim.ClientID, log *clientLog) *ghost {
	g := &ghost{
		log: log, id: id, causes: map[flight]int32{}, again: map[int32]int32{}, setters: make([]int32, len(log.acts)), last: make([]int32, len(log.acts)),
		speed: 1, react: log.join.Reaction, promised: metasim.Infinity, undone: len(log.acts),
	}
	for i := range log.acts {
		a := &log.acts[i]
		g.setters[i] = -1
		switch {
		case i == 0:
		case a.timed:
			k := i - 1
			for k > 0 && log.acts[k-1].next == a.at {
				k--
			}
			g.setters[i], g.last[k] = int32(k), int32(i)
		default:
			if first, known := g.causes[a.cause]; known {
				g.again[first] = int32(i)
			} else {
				g.causes[a.cause] = int32(i)
			}
		}
	}
	return g
}

// keep makes the ghost promise that it sends nothing for so long, wherever that was true.
func (g *ghost) keep(ahead metasim.Time) {
	g.ahead = ahead
	g.silence = make([]metasim.Time, len(g.log.acts))
	next := metasim.Forever
	for k := len(g.silence) - 1; k >= 0; k-- {
		at := g.log.acts[k].at.Time
		g.silence[k] = metasim.Forever
		if next != metasim.Forever {
			g.silence[k] = next - at
		}
		if g.sends(int32(k)) > 0 {
			next = at
		}
	}
}

// begin is what it does before anything else: it initializes.
func (g *ghost) begin() {
	if len(g.log.acts) > 0 {
		g.did = append(g.did[:0], 0)
	}
}

// next is when it has something to do next.
func (g *ghost) next() metasim.Instant {
	next := g.wake()
	if m := g.inbox.first(); m != nil && g.log.messages {
		next = metasim.Earlier(next, m.Due)
	}
	return metasim.Later(next, g.now)
}

// wake is when it has something to do of itself.
func (g *ghost) wake() metasim.Instant {
	if len(g.timers) > 0 {
		return g.timers[0].at
	}
	if g.promised.Before(g.now) || g.promised == g.now {
		return metasim.Infinity // a timer that came to nothing
	}
	return g.promised
}

// act finds out what it does at an instant.
func (g *ghost) act(at metasim.Instant) {
	g.now = at
	g.did = g.did[:0]
	for m := g.inbox.first(); m != nil && !at.Before(m.Due); m = g.inbox.first() {
		key := flight{m.From, g.id, m.Seq}
		if k, known := g.causes[key]; known {
			if copied, twice := g.again[k]; twice {
				g.causes[key] = copied
			} else {
				delete(g.causes, key)
			}
			g.allow(k, m.Due.React(g.react))
		}
		g.acked++
		g.inbox.pop()
	}
	for len(g.timers) > 0 && !at.Before(g.timers[0].at) {
		k := g.timers[0].act
		g.timers = slices.Delete(g.timers, 0, 1)
		g.allow(k, at)
	}
}

// allow does an act, or puts it off where it would send sooner than may be.
func (g *ghost) allow(k int32, from metasim.Instant) {
	from = metasim.Later(g.floor, from)
	if g.now.Before(from) && g.sends(k) > 0 {
		g.set(timer{from, k})
		return
	}
	g.did = append(g.did, k)
}

// set sets a timer, after those for the same instant.
func (g *ghost) set(t timer) {
	i := len(g.timers)
	for i > 0 && t.at.Before(g.timers[i-1].at) {
		i--
	}
	g.timers = slices.Insert(g.timers, i, t)
}

func (g *ghost) sends(k int32) int32 {
	n := g.log.acts[k].sends
	if k > 0 {
		n -= g.log.acts[k-1].sends
	}
	return n
}

// work is how long what it does takes.
func (g *ghost) work() int64 {
	var sum int64
	for _, k := range g.did {
		sum += g.log.acts[k].work
	}
	return int64(float64(sum) / g.speed)
}

// settle takes up what it has done: its timers and promises.
func (g *ghost) settle() {
	g.undone -= len(g.did)
	for _, k := range g.did {
		a := &g.log.acts[k]
		g.promised = shifted(a.next, a.at, g.now)
		// The timers that it set are those of the next acts that it set any for: it told of no others.
		for i := k + 1; i <= g.last[k]; i++ {
			if g.setters[i] == k {
				g.set(timer{metasim.Later(shifted(g.log.acts[i].at, a.at, g.now), g.now), i})
			}
		}
		g.floor = metasim.Later(g.floor, shifted(a.floor, a.at, g.now))
		if g.ahead > 0 && (g.silence[k] < metasim.Forever || len(g.sent) == len(g.log.sends)) {
			g.floor = metasim.Later(g.floor, metasim.At(g.now.Time.Add(min(g.ahead, g.silence[k]))))
		}
	}
	g.floor = metasim.Later(g.floor, g.now)
}

// report is what it says of itself.
func (g *ghost) report() metasim.Report {
	return metasim.Report{Now: g.now, NoSendBefore: g.floor, NextEvent: metasim.Later(g.wake(), g.now), Acked: g.acked}
}

// shifted moves an instant as an act was moved: its distance in time is kept.
func shifted(i, from, to metasim.Instant) metasim.Instant {
	if i == metasim.Infinity || from == to {
		return i
	}
	if i.Time <= from.Time {
		return to
	}
	return metasim.At(to.Time.Add(i.Time - from.Time))
}
