package client_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"metasim/metasim"
)

// A system is a small random simulation, told twice: by real clients and a real server, and by a loop.
type system struct {
	seed    uint64
	until   metasim.Time // 0: none
	ahead   int
	scripts []script
}

// A script is one client of a system. It steps, then it calls Next, then it runs: each as often as it says.
type script struct {
	name         string
	pubs, subs   []string
	deaf         bool // subscribes without handlers: its Run wakes for nothing
	reaction     metasim.Time
	steps, nexts int
	stride       metasim.Time // of a step, and to the limit of a Next
	run          bool
	period       metasim.Time // of a timer in Run
	life         int          // calls in Run, until it leaves; 0: it does not
}

const forever = 1 << 30 // steps, where the run's end decides

func randomSystem(seed uint64) system {
	r := rand.New(rand.NewPCG(seed, 1))
	s := system{seed: seed, ahead: []int{1, 200, 0}[r.IntN(3)]}
	if r.IntN(3) > 0 {
		s.until = metasim.Time(1 + r.IntN(20_000))
	}
	for i := range 2 + r.IntN(5) {
		s.scripts = append(s.scripts, randomScript(r, fmt.Sprintf("%c%d", 'a'+rune(r.IntN(3)), i), s.until > 0))
	}
	return s
}

func randomScript(r *rand.Rand, name string, ends bool) script {
	c := script{
		name: name, stride: metasim.Time(r.IntN(1500)), period: metasim.Time(1 + r.IntN(3000)), life: 1 + r.IntN(20),
		deaf: r.IntN(8) == 0,
	}
	for i := range 4 {
		if r.IntN(2) == 0 {
			c.pubs = append(c.pubs, fmt.Sprintf("C%d", i))
		}
	}
	for _, sub := range []string{"C0", "C1", "C[12]", "C.*"} {
		if r.IntN(3) == 0 {
			c.subs = append(c.subs, sub)
		}
	}
	switch r.IntN(4) {
	case 0:
		c.steps = 1 + r.IntN(20)
	case 1:
		c.nexts = 1 + r.IntN(20)
	case 2:
		c.run = true
		c.reaction = metasim.Time(r.IntN(2) * r.IntN(900))
	default:
		c.steps, c.nexts, c.run = r.IntN(4), r.IntN(4), r.IntN(2) == 0
	}
	if ends && r.IntN(2) == 0 {
		switch {
		case c.run:
			c.life = 0
		case c.nexts == 0 && c.stride > 0:
			c.steps = forever
		}
	}
	return c
}

// hops says when the n-th message of a link arrives: after these delays, in nanoseconds. None: it is lost.
func hops(seed uint64, from, to, channel string, n uint64) (delays []metasim.Time) {
	least := leastHop(seed, from, to, channel)
	h := keyed(seed, from, to, channel, fmt.Sprint(n))
	switch h % 10 {
	case 0:
		return nil
	case 1: // twice, at one instant or two
		return []metasim.Time{least, least + metasim.Time(h/10%3)*100}
	}
	return []metasim.Time{least + metasim.Time(h/10%4)*150}
}

// leastHop is the lookahead of a link; many have none.
func leastHop(seed uint64, from, to, channel string) metasim.Time {
	return metasim.Time(max(0, int(keyed(seed, from, to, channel)%8)-3)) * 150
}

func keyed(seed uint64, parts ...string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, seed, parts)
	x := h.Sum64()
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	return x ^ x>>29
}

// An actor is what a behavior can do: really, or in the twin.
type actor interface {
	now() metasim.Instant
	publish(channel string, payload []byte)
	after(d metasim.Time, what int) // in Run
	stop()                          // the periodic timer
	leave()
	promise(t metasim.Time)
}

// A seenMessage is a message as a client sees it.
type seenMessage struct {
	from, channel string
	seq           uint64
	sent, due     metasim.Instant
	payload       []byte
}

// A behavior decides what a client does. It is a function of its seed and of what it saw, and when.
type behavior struct {
	script
	actor actor
	state uint64
	quiet metasim.Instant
	calls int
}

func newBehavior(seed uint64, s script, a actor) *behavior {
	return &behavior{script: s, actor: a, state: keyed(seed, s.name)}
}

// draw mixes the present instant and x into the state, and returns a number below n.
func (b *behavior) draw(x uint64, n uint64) uint64 {
	now := b.actor.now()
	b.state = keyed(b.state, fmt.Sprint(x, int64(now.Time), now.Step))
	return b.state / 7 % n
}

// start happens before the first wait.
func (b *behavior) start() {
	if b.draw(0, 2) == 0 {
		b.send(3)
	}
}

// hear is one message; answers is false where the run is over.
func (b *behavior) hear(l seenMessage, answers bool) {
	x := keyed(uint64(l.sent.Time)<<8+uint64(l.sent.Step), l.from, l.channel, string(l.payload), fmt.Sprint(l.seq, l.due))
	ttl := int(l.payload[8])
	if choice := b.draw(x, 4); !answers || ttl == 0 || choice == 0 {
		return
	}
	if b.reaction == 0 {
		b.send(ttl - 1)
	}
}

// handle is one message in Run: it may also set a timer, stop one, or leave.
func (b *behavior) handle(l seenMessage) {
	b.hear(l, true)
	if ttl := int(l.payload[8]); ttl > 0 {
		switch b.draw(1, 6) {
		case 0, 1:
			b.actor.after(b.reaction+metasim.Time(b.draw(2, 3))*100, ttl-1)
		case 2:
			b.actor.stop()
		}
	}
	b.mayLeave()
}

// fire is a timer in Run.
func (b *behavior) fire(ttl int) {
	b.send(ttl)
	if b.reaction == 0 && b.draw(3, 8) == 0 {
		b.actor.after(metasim.Time(b.draw(4, 2))*70, 0)
	}
	b.mayLeave()
}

func (b *behavior) mayLeave() {
	if b.calls++; b.calls == b.life {
		b.actor.leave()
	}
}

// wake is the end of a Step or a Next.
func (b *behavior) wake(seen []seenMessage) {
	for _, l := range seen {
		b.hear(l, true)
	}
	switch b.draw(5, 6) {
	case 0, 1:
		b.send(2)
	case 2:
		if t := b.actor.now().Time + metasim.Time(b.draw(6, 2000)); !metasim.At(t).Before(b.quiet) {
			b.actor.promise(t)
			b.quiet = metasim.Later(metasim.At(t), b.actor.now())
		}
	}
}

func (b *behavior) send(ttl int) {
	if len(b.pubs) == 0 || b.actor.now().Before(b.quiet) {
		return
	}
	channel := b.pubs[b.draw(7, uint64(len(b.pubs)))]
	payload := binary.LittleEndian.AppendUint64(nil, b.state)
	b.actor.publish(channel, append(payload, byte(ttl)))
}
