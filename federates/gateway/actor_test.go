package gateway

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"metasim/metasim"
)

// A spec is a client of a random network: all that may decide what it does.
type spec struct {
	name       string
	cell       string // the path of its run; "" for the outermost one
	steps      bool   // it acts at instants of its own choice, and nothing wakes it: an unconditional promise
	pubs, subs []string
	reaction   metasim.Time
	period     metasim.Time
	timers     []metasim.Time
	leave      metasim.Time // 0: at the end
	epsilon    bool
	sends      int
	floods     bool // it acts in steps, and sends a kilobyte in each
	phold      bool // it answers each message, with the same hops
}

// A network is what both the flat run and the nested one carry out.
type network struct {
	seed  uint64
	until metasim.Time
	specs []spec
	links metasim.Delays
	paths []string // of the runs of the nested network, the outer ones first

	memory int // of each run; 0: some
}

func drawNetwork(seed uint64) *network {
	r := rand.New(rand.NewPCG(seed, 1))
	n := &network{seed: seed, until: metasim.Time(r.IntN(2) * 120), links: delays{seed}}
	channels := []string{"A", "B", "C", "D"}[:2+r.IntN(3)]
	n.paths = [][]string{{"", "cell"}, {"", "cell", "next"}, {"", "cell", "cell/in"}}[seed%3]
	for i := range 3 + r.IntN(5) {
		s := spec{cell: n.paths[i%len(n.paths)], steps: r.IntN(4) == 0, period: metasim.Time(1 + r.IntN(9)), epsilon: r.IntN(2) == 0, sends: 10 + r.IntN(15)}
		s.name = []string{"a", "x"}[r.IntN(2)] + fmt.Sprint(i)
		if s.cell != "" {
			s.name = s.cell + "/" + s.name
		}
		for _, c := range channels {
			if r.IntN(2) == 0 {
				s.pubs = append(s.pubs, c)
			}
			if r.IntN(2) == 0 {
				s.subs = append(s.subs, c)
			}
		}
		if r.IntN(4) == 0 {
			s.leave = metasim.Time(1 + r.IntN(100))
		}
		if s.steps {
			s.leave = max(s.leave, 80) // by itself it would never end
		} else {
			s.reaction = []metasim.Time{0, 0, 0, 4}[r.IntN(4)]
			for range r.IntN(6) {
				s.timers = append(s.timers, metasim.Time(r.IntN(100)))
			}
			slices.Sort(s.timers)
		}
		n.specs = append(n.specs, s)
	}
	return n
}

func mix(parts ...uint64) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, p)) // a hash never fails
	}
	x := h.Sum64()
	return (x ^ x>>29) * 0xbf58476d1ce4e5b9
}

func mixString(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s)) // a hash never fails
	return h.Sum64()
}

// delays are links of many kinds, drawn from the seed and the names of their ends: the same in the flat run and in the nested one.
type delays struct{ seed uint64 }

func (d delays) Link(from, to, channel string) metasim.Link {
	key := mix(d.seed, mixString(from), mixString(to), mixString(channel))
	return &link{
		key: key, base: []metasim.Time{0, 0, 0, 1, 3, 10}[mix(key, 1)%6], spread: []metasim.Time{0, 0, 5}[mix(key, 2)%3],
		lossy: mix(key, 3)%6 == 0, fifo: mix(key, 4)%3 == 0,
	}
}

// alike are links that all take the same time.
type alike metasim.Time

func (a alike) Link(string, string, string) metasim.Link { return &link{base: metasim.Time(a)} }

type link struct {
	key          uint64
	base, spread metasim.Time
	lossy, fifo  bool
	last         metasim.Instant
}

func (l *link) Min() metasim.Time { return l.base }
func (l *link) Earliest(x metasim.Instant) metasim.Instant {
	return metasim.Later(x.Add(l.base), l.last)
}

func (l *link) Transit(dues []metasim.Instant, n uint64, sent metasim.Instant, _ int) []metasim.Instant {
	if l.lossy && mix(l.key, 5, n)%4 == 0 {
		return dues
	}
	due := metasim.Later(sent.Add(l.base+metasim.Time(mix(l.key, 6, n)%uint64(l.spread+1))), l.last)
	if l.fifo {
		l.last = due
	}
	return append(dues, due)
}

// An actor is a client: a pure function of what it is given. Only when it reports is drawn from the order.
type actor struct {
	*spec
	id         metasim.ClientID
	names      []string
	end        metasim.Instant
	started    bool
	waiting    bool
	done       bool
	held       bool // it may do nothing, nor be given anything
	now        metasim.Instant
	authorized metasim.Instant
	timers     []timer
	inbox      []metasim.Deliver
	handled    uint64
	left       int // sends that are left
	state      uint64
	out        []metasim.Event
	transcript []string
}

type timer struct {
	at   metasim.Instant
	hops byte
}

func newActor(n *network, i int, d *metasim.Dispatcher) *actor {
	s := &n.specs[i]
	id, _ := slices.BinarySearch(d.Names(), s.name)
	a := &actor{spec: s, id: metasim.ClientID(id), names: d.Names(), end: d.End(), left: s.sends, state: mix(n.seed, mixString(s.name))}
	for _, t := range s.timers {
		a.timers = append(a.timers, timer{metasim.At(t), 3})
	}
	if s.steps {
		a.timers = []timer{{metasim.At(s.period), 2}}
	}
	return a
}

func (a *actor) receive(e metasim.Effect) error {
	switch e := e.(type) {
	case *metasim.Deliver:
		if e.Message.Due.Before(a.authorized) || e.Message.Due.Before(a.now) {
			return fmt.Errorf("%s at %v, authorized to %v, is given what is due %v", a.name, a.now, a.authorized, e.Message.Due)
		}
		a.inbox = append(a.inbox, *e)
	case *metasim.Authorize:
		a.authorized = e.Until
	}
	return nil
}

func (a *actor) own() metasim.Instant {
	if len(a.timers) > 0 {
		return a.timers[0].at
	}
	return metasim.Infinity
}

func (a *actor) need() metasim.Instant {
	if len(a.inbox) > 0 && !a.steps {
		return metasim.Earlier(a.own(), a.inbox[0].Message.Due)
	}
	return a.own()
}

func (a *actor) idle() bool {
	return a.done || a.started && a.waiting && !a.need().Before(a.authorized) && a.authorized != a.end
}

func (a *actor) act(r *rand.Rand) {
	need := a.need()
	switch {
	case a.done:
	case !a.started:
		a.started = true
		if a.epsilon {
			a.send(3)
		}
		a.poll()
	case need.Before(a.authorized) && need.Before(a.end):
		a.waiting = false
		a.now = need
		a.at(need)
		if a.leave > 0 && need.Time >= a.leave {
			a.quit()
		} else if r.IntN(3) == 0 {
			a.out = append(a.out, &metasim.Advance{Client: a.id, Report: a.report()})
		}
	case a.authorized == a.end:
		a.quit()
	case !a.waiting:
		a.poll()
	}
}

func (a *actor) at(now metasim.Instant) {
	if a.steps {
		for len(a.inbox) > 0 && !now.Before(a.inbox[0].Message.Due) {
			a.handle()
		}
		a.timers = []timer{{metasim.At(now.Time + a.period), 2}}
		if a.floods {
			a.send(2)
			return
		}
		for range a.state % 3 {
			a.send(2)
		}
		return
	}
	if len(a.inbox) > 0 && a.inbox[0].Message.Due == now {
		hops := a.handle()
		if a.phold {
			a.set(metasim.At(now.Time+1+metasim.Time(a.state%20)), hops)
		} else if hops > 0 && a.state%5 > 0 {
			a.set(now.React(a.reaction), hops-1)
		}
		return
	}
	t := a.timers[0]
	a.timers = a.timers[1:]
	a.send(t.hops)
}

func (a *actor) set(at metasim.Instant, hops byte) {
	i, _ := slices.BinarySearchFunc(a.timers, at, func(t timer, at metasim.Instant) int {
		if t.at.Compare(at) <= 0 {
			return -1
		}
		return 1
	})
	a.timers = slices.Insert(a.timers, i, timer{at, hops})
}

func (a *actor) handle() byte {
	m := a.inbox[0].Message
	a.handled = a.inbox[0].Number
	a.inbox = a.inbox[1:]
	a.transcript = append(a.transcript, fmt.Sprintf("%v: %s on %s sent %v due %v: %x", a.now, a.names[m.From], m.Channel, m.Sent, m.Due, m.Payload))
	a.state = mix(a.state, mixString(a.names[m.From]), uint64(m.Due.Time), uint64(m.Due.Step), mixString(string(m.Payload)))
	return m.Payload[0]
}

func (a *actor) send(hops byte) {
	a.state = mix(a.state, uint64(a.now.Time), uint64(a.now.Step))
	if len(a.pubs) == 0 || a.left == 0 {
		return
	}
	a.left--
	channel := a.pubs[a.state%uint64(len(a.pubs))]
	payload := binary.LittleEndian.AppendUint64([]byte{hops}, a.state)
	if a.floods {
		payload = append(payload, make([]byte, 1000)...)
	}
	a.transcript = append(a.transcript, fmt.Sprintf("%v: sends on %s", a.now, channel))
	a.out = append(a.out, &metasim.Send{Client: a.id, Channel: channel, Sent: a.now, Payload: payload})
}

func (a *actor) report() metasim.Report {
	r := metasim.Report{Now: a.now, NoSendBefore: a.now, NextEvent: a.own(), Acked: a.handled}
	if a.steps {
		r.NoSendBefore = a.own()
	}
	return r
}

func (a *actor) poll() {
	a.waiting = true
	a.out = append(a.out, &metasim.PollWait{Client: a.id, Report: a.report(), Want: a.own(), Messages: !a.steps})
}

func (a *actor) quit() {
	a.done = true
	a.transcript = append(a.transcript, fmt.Sprintf("leaves at %v", a.now))
	a.out = append(a.out, &metasim.Leave{Client: a.id, Now: a.now, Acked: a.handled})
}
