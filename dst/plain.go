package dst

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"metasim/metasim"
)

// plain computes what the clients of a scenario see, by the definition alone: of all that is left to happen, the earliest happens
// next. It knows no safe time, no promise, no report and no network.
type plain struct {
	*scenario
	end     metasim.Instant
	heard   []uint64 // of the sends of each client so many reach the others; nil: all
	clients []*plainClient
}

type plainClient struct {
	*simulator
	plain  *plain
	rank   int
	sent   uint64
	links  []*plainLink
	queue  []arrival // in order
	timers []*plainTimer
	set    int // timers that were ever set
	drawn  []plainStream
}

type plainStream struct {
	name string
	*rand.Rand
}

type plainLink struct {
	channel string
	to      *plainClient
	link    metasim.Link
	count   uint64
}

type arrival struct {
	message
	rank int // of the sender
}

type plainTimer struct {
	at     metasim.Instant
	number int
	period metasim.Time
	call   func()
}

// compute returns the transcripts of all clients. Of the sends of each client as many reach the others as heard says; nil: all.
func compute(s *scenario, heard []uint64) [][]seen {
	p := &plain{scenario: s, end: metasim.Infinity, heard: heard}
	if s.until > 0 {
		p.end = metasim.At(s.until)
	}
	for i := range s.clients {
		c := &plainClient{plain: p, rank: i}
		c.simulator = newSimulator(s, i, c)
		p.clients = append(p.clients, c)
	}
	for _, c := range p.clients {
		c.connect()
	}
	for _, c := range p.clients {
		c.begin(true)
	}
	for {
		next := slices.MinFunc(p.clients, func(a, b *plainClient) int { return a.next().Compare(b.next()) })
		if !next.next().Before(p.end) {
			break
		}
		next.instant(next.next())
	}
	var all [][]seen
	for _, c := range p.clients {
		c.finish()
		all = append(all, c.transcript)
	}
	return all
}

// connect makes the links of a client.
func (c *plainClient) connect() {
	for _, channel := range c.pubs {
		for _, to := range c.plain.clients {
			if slices.ContainsFunc(to.patterns, func(p metasim.Pattern) bool { return p.Match(channel) }) {
				c.links = append(c.links, &plainLink{channel: channel, to: to, link: c.plain.delays.Link(c.name, to.name, channel)})
			}
		}
	}
}

// next is the instant at which a client has something to do.
func (c *plainClient) next() metasim.Instant {
	if c.leaves {
		return metasim.Infinity
	}
	own := metasim.At(c.target)
	if c.style == handles {
		own = metasim.Infinity
		if len(c.timers) > 0 {
			own = metasim.Later(c.timers[0].at, c.now)
		}
	}
	if c.style != steps && len(c.queue) > 0 {
		return metasim.Earlier(own, c.queue[0].Due)
	}
	return own
}

// instant does what a client has to do at an instant.
func (c *plainClient) instant(now metasim.Instant) {
	c.now = now
	c.receive(now)
	if c.style != handles {
		c.act(now)
		return
	}
	for !c.leaves && len(c.timers) > 0 && !now.Before(c.timers[0].at) {
		t := c.timers[0]
		c.timers = c.timers[1:]
		t.call()
		if t.period > 0 {
			t.at = metasim.At(t.at.Time + t.period)
			c.add(t)
		}
	}
}

// receive handles what is due at an instant or before.
func (c *plainClient) receive(until metasim.Instant) {
	for !c.leaves && len(c.queue) > 0 && !until.Before(c.queue[0].Due) {
		m := c.queue[0].message
		c.queue = c.queue[1:]
		c.message(c.now, &m)
	}
}

// finish is the end of the run: a client that steps is still given what was due before it.
func (c *plainClient) finish() {
	if c.leaves {
		return
	}
	if c.style == steps {
		c.receive(c.plain.end)
	}
	c.note(seen{what: 'l'})
}

func (c *plainClient) publish(channel string, payload []byte) {
	if c.plain.heard != nil && c.sent >= c.plain.heard[c.rank] {
		return
	}
	for _, l := range c.links {
		if l.channel != channel {
			continue
		}
		for _, due := range l.link.Transit(nil, l.count, c.now, len(payload)) {
			if due.Before(c.plain.end) {
				l.to.enqueue(arrival{message{From: c.name, Channel: channel, Seq: c.sent, Sent: c.now, Due: due, Payload: payload}, c.rank})
			}
		}
		l.count++
	}
	c.sent++
}

func (c *plainClient) enqueue(a arrival) {
	i, _ := slices.BinarySearchFunc(c.queue, a, func(a, b arrival) int {
		return cmp.Or(a.Due.Compare(b.Due), a.Sent.Compare(b.Sent), cmp.Compare(a.rank, b.rank), cmp.Compare(a.Seq, b.Seq), -1)
	})
	c.queue = slices.Insert(c.queue, i, a)
}

func (c *plainClient) at(i metasim.Instant, call func()) func() { return c.setTimer(i, 0, call) }

func (c *plainClient) every(period metasim.Time, call func()) func() {
	return c.setTimer(metasim.At(c.now.Time+period), period, call)
}

func (c *plainClient) setTimer(at metasim.Instant, period metasim.Time, call func()) func() {
	t := &plainTimer{at: at, period: period, call: call}
	c.add(t)
	return func() {
		t.period = 0
		c.timers = slices.DeleteFunc(c.timers, func(u *plainTimer) bool { return u == t })
	}
}

func (c *plainClient) add(t *plainTimer) {
	t.number = c.set
	c.set++
	i, _ := slices.BinarySearchFunc(c.timers, t, func(a, b *plainTimer) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.number, b.number))
	})
	c.timers = slices.Insert(c.timers, i, t)
}

// rand is the random stream that docs/protocol.md defines.
func (c *plainClient) rand(name string) *rand.Rand {
	if i := slices.IndexFunc(c.drawn, func(s plainStream) bool { return s.name == name }); i >= 0 {
		return c.drawn[i].Rand
	}
	key := binary.LittleEndian.AppendUint64([]byte("metasim/random"), c.plain.seed)
	for _, part := range []string{c.name, name} {
		key = append(binary.LittleEndian.AppendUint64(key, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(key)
	r := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	c.drawn = append(c.drawn, plainStream{name, r})
	return r
}

func (c *plainClient) promise(metasim.Time) {}

func (c *plainClient) leave() {}
