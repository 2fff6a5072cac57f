package metasim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// A world is a scenario for the interleaving test: everything that may decide what clients see, and nothing else.
type world struct {
	seed    uint64
	actors  []actorSpec // in order of name
	until   Time        // 0: until all have left
	ahead   int
	permits bool // the run is driven in stretches, as a simulator's face would
}

// A style is a way of being a client.
type style uint8

const (
	stepper style = iota // acts at instants of its own choice: Step(t)
	nexter               // acts at the next message or a limit: Next(limit)
	eventer              // has timers and handlers: Run
)

type actorSpec struct {
	name       string
	style      style
	pubs, subs []string
	reaction   Time
	epsilon    bool   // sends while it initializes
	period     Time   // of a stepper; the longest wait of a nexter
	timers     []Time // of an eventer
	promises   bool
	leave      Time // leaves at the first act after it; 0: at the end
	outside    bool // the dispatcher is asked what others do without it
	split      bool // it is a group of two: one hears, and the other sends
	sends      int  // at most
}

// newWorld draws a scenario.
func newWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...Time) Time { return of[r.IntN(len(of))] }
	horizon := pick(60, 200)
	w := &world{seed: seed, ahead: int(pick(0, 0, 1, 100, 300)), permits: r.IntN(4) == 0}
	if r.IntN(4) > 0 {
		w.until = horizon + 1
	}
	channels := []string{"A", "B", "C", "D", "E"}[:1+r.IntN(5)]
	patterns := append([]string{".*", "[AB]", "C|D"}, channels...)
	for i := range 2 + r.IntN(6) {
		a := actorSpec{name: fmt.Sprint("c", i), style: eventer, sends: 10 + r.IntN(20), epsilon: r.IntN(2) == 0, leave: horizon}
		for _, c := range channels {
			if r.IntN(2) == 0 {
				a.pubs = append(a.pubs, c)
			}
		}
		for range r.IntN(4) {
			a.subs = append(a.subs, patterns[r.IntN(len(patterns))])
		}
		a.promises = r.IntN(3) == 0
		a.period = Time(1 + r.IntN(9))
		switch r.IntN(6) {
		case 0, 1:
			a.style = stepper
		case 2:
			a.style = nexter
			a.period *= 4
		default:
			a.reaction = pick(0, 0, 0, 2, 7)
			for range r.IntN(9) {
				a.timers = append(a.timers, Time(r.Int64N(int64(horizon))))
			}
			slices.Sort(a.timers)
			a.leave = 0
		}
		if r.IntN(4) == 0 {
			a.leave = 1 + Time(r.Int64N(int64(horizon)))
		}
		w.actors = append(w.actors, a)
	}
	w.nest()
	return w
}

// nest makes clients of some worlds groups or outside.
func (w *world) nest() {
	r := rand.New(rand.NewPCG(w.seed, 2))
	kind := r.IntN(3)
	for i := range w.actors {
		w.actors[i].outside = kind > 0 && r.IntN(3) == 0
		w.actors[i].split = kind > 1 && r.IntN(2) == 0
	}
}

// mix is the hash that keys every draw (splitmix64).
func mix(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h += p + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

func mixString(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s)) // a hash never fails
	return h.Sum64()
}

// drawnDelays are links of all kinds, drawn from the seed: zero, constant and random delays, lossy, duplicating, in
// order of sending, and such that know their next delay.
type drawnDelays struct {
	seed   uint64
	apart  bool    // nothing is said of channels whose links are all alike
	shared *uint64 // planted mistake: the number of a draw counts over all links
}

// Common gives every third channel links that are all alike.
func (d drawnDelays) Common(channel string) (Link, bool) {
	key := mix(d.seed, mixString(channel))
	return constant([]Time{0, 1, 5, 20}[mix(key, 1)%4]), !d.apart && key%3 == 0
}

func (d drawnDelays) Link(from, to, channel string) Link {
	if l, ok := (drawnDelays{seed: d.seed}).Common(channel); ok {
		return l
	}
	key := mix(d.seed, mixString(from), mixString(to), mixString(channel))
	l := &drawnLink{key: key, shared: d.shared, base: []Time{0, 0, 1, 3, 10, 40}[mix(key, 1)%6]}
	if mix(key, 2)%3 == 0 {
		l.base = Time(1 + mix(key, 3)%20)
	}
	l.spread = []Time{0, 0, 5}[mix(key, 4)%3]
	l.lossy = mix(key, 5)%6 == 0
	l.doubling = mix(key, 6)%6 == 0
	l.fifo = mix(key, 7)%3 == 0
	l.knowing = l.fifo && mix(key, 12)%3 > 0
	return l
}

type drawnLink struct {
	key                            uint64
	base, spread                   Time
	lossy, doubling, fifo, knowing bool
	last                           Instant // due of the last message of a fifo link
	next                           uint64  // number of the next message
	shared                         *uint64
}

func (l *drawnLink) Min() Time    { return l.base }
func (l *drawnLink) Steady() bool { return !l.fifo }

func (l *drawnLink) delay(n uint64) Time { return l.base + Time(mix(l.key, 8, n)%uint64(l.spread+1)) }

func (l *drawnLink) Earliest(x Instant) Instant {
	if l.knowing && l.shared == nil {
		for n := l.next; n < l.next+3; n++ {
			if !l.lost(n) {
				return Later(x.Add(l.delay(n)), l.last) // what is sent later arrives no earlier than the next one that does
			}
		}
	}
	return Later(x.Add(l.base), l.last)
}

func (l *drawnLink) lost(n uint64) bool { return l.lossy && mix(l.key, 9, n)%8 < 3 }

func (l *drawnLink) Transit(dues []Instant, n uint64, sent Instant, _ int) []Instant {
	l.next = n + 1
	if l.shared != nil {
		*l.shared++
		n = *l.shared
	}
	if l.lost(n) {
		return dues
	}
	due := Later(sent.Add(l.delay(n)), l.last)
	copies := 1
	if l.doubling && mix(l.key, 10, n)%8 == 0 {
		copies = 2
	}
	for i := range copies {
		due = Instant{Time: due.Time + Time(i)*Time(mix(l.key, 11, n)%3), Step: due.Step}
		if l.fifo {
			l.last = due
		}
		dues = append(dues, due)
	}
	return dues
}
