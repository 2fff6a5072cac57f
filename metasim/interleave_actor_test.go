package metasim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
)

// An actor is a client of the interleaving test: a pure function of what it is given, as a client should be. What it
// does is drawn from a hash of all it has seen; only when it reports is drawn from the order.
type actor struct {
	*actorSpec
	id      ClientID
	names   []string
	end     Instant
	planted string

	started, waiting, done bool
	now                    Instant
	authorized             Instant
	promise                Instant
	promised               Instant // what it has said of promise
	target                 Instant // of a stepper, the limit of a nexter
	timers                 []timer
	inbox                  []Deliver
	handled                uint64
	polls                  int // repeated ones
	state                  uint64
	out                    []Event
	voice                  *actor  // not nil: it sends through another client of its group
	voiced                 bool    // that one has spoken
	asked                  Instant // the step after the last instant for which it has asked there
	told                   Instant // its authorization then
	last                   *Message
	seen                   []Message // what it has handled, in order
	transcript             []string
}

type timer struct {
	at   Instant
	hops byte
}

func newActor(w *world, i int, d *Dispatcher) *actor {
	a := &actor{actorSpec: &w.actors[i], names: d.Names(), end: d.End(), state: mix(w.seed, uint64(i))}
	id, _ := slices.BinarySearch(a.names, a.name)
	if k := slices.Index(a.names, a.name); k != id {
		id = k // only a dispatcher that does not sort them
	}
	a.id = ClientID(id)
	return a
}

func (a *actor) note(format string, args ...any) {
	a.transcript = append(a.transcript, fmt.Sprintf(format, args...))
}

// receive takes one effect from the stream, and checks what every client may rely on.
func (a *actor) receive(e Effect) error {
	switch e := e.(type) {
	case *Deliver:
		m := &keep([]Effect{e})[0].(*Deliver).Message
		if m.Due.Before(a.authorized) {
			return fmt.Errorf("%s: a message due %v came below its authorization %v", a.name, m.Due, a.authorized)
		}
		if m.Due.Before(a.now) {
			return fmt.Errorf("%s: a message due %v came into its past %v", a.name, m.Due, a.now)
		}
		if a.last != nil && a.last.Compare(m) > 0 {
			return fmt.Errorf("%s: %v came after %v", a.name, *m, *a.last)
		}
		a.last = m
		a.inbox = append(a.inbox, *e)
	case *Authorize:
		if e.Until.Before(a.authorized) {
			return fmt.Errorf("%s: its authorization fell from %v to %v", a.name, a.authorized, e.Until)
		}
		a.authorized = e.Until
		if a.split {
			a.waiting = false // as a gateway it asks again
		}
	}
	return nil
}

// need is the earliest instant at which it has something to do.
func (a *actor) need() Instant {
	switch {
	case a.style == stepper:
		return a.target
	case len(a.inbox) > 0:
		return Earlier(a.own(), a.inbox[0].Message.Due)
	}
	return a.own()
}

// own is its next own event.
func (a *actor) own() Instant {
	if a.style != eventer {
		return a.target
	}
	if len(a.timers) > 0 {
		return a.timers[0].at
	}
	return Infinity
}

// may reports whether it may act at that instant.
func (a *actor) may(at Instant) bool {
	switch {
	case a.planted == "acts at the grant itself":
		return !a.authorized.Before(at) && a.authorized != Start
	case a.planted == "runs one event past the grant":
		return a.now.Before(a.authorized) && a.authorized != Start
	}
	return at.Before(a.authorized)
}

// idle reports that it can only wait.
func (a *actor) idle() bool {
	if a.lacks() {
		return a.asked == a.need().Add(0) && a.told == a.authorized
	}
	return a.done || a.started && a.waiting && !a.may(a.need()) && a.authorized != a.end
}

// act does one thing: initialize, act at its next instant, or wait.
func (a *actor) act(r *rand.Rand) {
	need := a.need()
	switch {
	case a.done:
	case !a.started:
		a.initialize()
	case a.lacks():
		a.ask()
	case a.may(need) && need.Before(a.end):
		a.waiting = false
		a.now = need
		a.at(need)
		if a.leave > 0 && need.Time > a.leave {
			a.quit()
		} else if a.style != stepper && r.IntN(3) == 0 {
			a.out = append(a.out, &Advance{Client: a.id, Report: a.report()})
		} else if Later(a.promised, a.now).Before(a.promise) && r.IntN(2) == 0 {
			a.promised = a.promise
			a.out = append(a.out, &Promise{Client: a.id, NoSendBefore: a.promise})
		}
	case a.authorized == a.end: // nothing more will come
		a.quit()
	case !a.waiting:
		a.poll()
	case r.IntN(20) == 0 && a.polls < 5: // asks again: the answer may cross it
		a.polls++
		a.poll()
	}
}

func (a *actor) initialize() {
	a.started = true
	if a.epsilon {
		a.send(3)
	}
	if a.style == nexter {
		a.target = At(a.period)
	}
	for _, t := range a.actorSpec.timers {
		a.set(At(t), 3)
	}
	a.poll()
}

// at does what is to be done at one instant.
func (a *actor) at(now Instant) {
	switch a.style {
	case stepper, nexter:
		for len(a.inbox) > 0 && !now.Before(a.inbox[0].Message.Due) {
			a.handle()
		}
		a.note("%v acts", now)
		a.state = mix(a.state, uint64(now.Time))
		for range a.state % 3 {
			a.state = mix(a.state)
			a.send(byte(a.state % 4))
		}
		a.target = At(now.Time + a.period)
		if a.style == nexter {
			a.target = At(now.Time + 1 + Time(a.state%uint64(a.period)))
		}
		if a.planted == "goes on wherever the grant ran out" && a.style == stepper && a.authorized.Time < Forever {
			a.target = At(a.authorized.Time + a.period)
		}
	case eventer:
		if len(a.inbox) > 0 && a.inbox[0].Message.Due == now { // before a timer of the same instant
			if hops := a.handle(); hops > 0 && a.state%4 > 0 {
				a.set(Later(now.React(a.reaction), a.promise), hops-1)
			}
		} else {
			t := a.timers[0]
			a.timers = a.timers[1:]
			a.note("%v timer", now)
			a.state = mix(a.state, uint64(now.Time))
			if now.Before(a.promise) {
				a.set(a.promise, t.hops)
			} else {
				a.send(t.hops)
			}
		}
	}
	if a.promises && a.state%3 == 0 {
		a.promise = Later(a.promise, At(now.Time+1+Time(a.state%20)))
	}
}

// handle takes the next message, and returns the hops it may still cause.
func (a *actor) handle() byte {
	e := a.inbox[0]
	a.inbox = a.inbox[1:]
	a.handled = e.Number
	m := e.Message
	a.seen = append(a.seen, m)
	from := a.names[m.From]
	a.note("%v %s#%d %s sent %v due %v: %x", a.now, from, m.Seq, m.Channel, m.Sent, m.Due, m.Payload)
	a.state = mix(a.state, mixString(from), m.Seq, uint64(m.Due.Time), uint64(m.Due.Step), mixString(string(m.Payload)))
	return m.Payload[0]
}

// send publishes now, unless it has promised not to.
func (a *actor) send(hops byte) {
	if len(a.pubs) == 0 || a.sends == 0 || a.now.Before(a.promise) {
		return
	}
	a.sends--
	payload := binary.LittleEndian.AppendUint64([]byte{hops}, a.state)
	payload = append(payload, bytes.Repeat([]byte{7}, int(a.state%64))...)
	channel := a.pubs[a.state%uint64(len(a.pubs))]
	a.note("%v sends %s", a.now, channel)
	a.out = append(a.out, &Send{Client: a.id, Channel: channel, Sent: a.now, Payload: payload})
}

func (a *actor) set(at Instant, hops byte) {
	i, _ := slices.BinarySearchFunc(a.timers, at, func(t timer, at Instant) int {
		if t.at.Compare(at) <= 0 {
			return -1 // those of one instant in the order in which they were set
		}
		return 1
	})
	a.timers = slices.Insert(a.timers, i, timer{at, hops})
}

func (a *actor) report() Report {
	acked := a.handled
	if a.planted == "acknowledges what it has not handled" && len(a.inbox) > 0 {
		acked = a.inbox[len(a.inbox)-1].Number
	}
	a.promised = a.promise
	r := Report{Now: a.now, NoSendBefore: Later(a.now, a.promise), NextEvent: a.own(), Acked: acked}
	if a.style == stepper {
		r.NoSendBefore = Later(a.target, a.promise) // it wakes at no other instant
	}
	return r
}

func (a *actor) poll() {
	a.waiting = true
	a.out = append(a.out, &PollWait{Client: a.id, Report: a.report(), Want: a.own(), Messages: a.style != stepper})
}

func (a *actor) quit() {
	a.done = true
	a.note("leaves at %v", a.now)
	a.out = append(a.out, &Leave{Client: a.id, Now: a.now, Acked: a.handled})
}
