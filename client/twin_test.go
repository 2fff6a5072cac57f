package client_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"regexp"
	"slices"
	"strings"

	"metasim/metasim"
)

// A twin is a system as one loop: the earliest thing happens next. It shares nothing with metasim but integers.
type twin struct {
	system
	clients []*twinClient // in order of name
	counts  map[[3]string]uint64
	timers  int
}

type twinClient struct {
	script
	world    *twin
	behavior *behavior
	at       metasim.Instant
	done     int // steps, then nexts
	runs     bool
	gone     bool
	queue    []seenMessage // in order
	timers   []twinTimer
	tick     int // the number of the periodic timer
	sent     uint64
	took     uint64
	last     metasim.Instant
	hash     bytes.Buffer
}

type twinTimer struct {
	at     metasim.Instant
	number int
	what   int // < 0: periodic
}

// An outcome is what must be equal.
type outcome struct {
	digest  string
	clients []outcomeOf
}

type outcomeOf struct {
	name, digest    string
	sent, delivered uint64
	end             metasim.Instant
}

func twinOutcome(s system) outcome {
	w := &twin{system: s, counts: map[[3]string]uint64{}}
	for _, sc := range s.scripts {
		c := &twinClient{script: sc, world: w}
		c.behavior = newBehavior(s.seed, sc, c)
		w.clients = append(w.clients, c)
	}
	slices.SortFunc(w.clients, func(a, b *twinClient) int { return strings.Compare(a.name, b.name) })
	for _, c := range w.clients {
		c.behavior.start()
		c.settle()
	}
	for w.turn() {
	}
	for _, c := range w.clients {
		if !c.gone && !c.runs && c.done < c.steps { // its last Step gives it the rest
			c.take(metasim.Instant{Time: s.until - 1, Step: 1 << 31})
		}
	}
	return w.outcome()
}

// turn lets the earliest thing of all happen, at every client that it concerns.
func (w *twin) turn() bool {
	next := metasim.Infinity
	for _, c := range w.clients {
		if at := c.next(); before(at, next) {
			next = at
		}
	}
	if next == metasim.Infinity || w.until > 0 && next.Time >= w.until {
		return false
	}
	for i := range w.clients { // in whatever order: what is sent now arrives a step later at the earliest
		if c := w.clients[len(w.clients)-1-i]; c.next() == next {
			c.act(next)
			c.settle()
		}
	}
	return true
}

func before(a, b metasim.Instant) bool {
	return a.Time < b.Time || a.Time == b.Time && a.Step < b.Step
}

// next is when something happens at the client.
func (c *twinClient) next() metasim.Instant {
	if c.gone {
		return metasim.Infinity
	}
	wake := metasim.Instant{Time: c.at.Time + c.stride}
	if c.stride == 0 {
		wake = c.at
	}
	if c.runs {
		wake = metasim.Infinity
		for _, t := range c.timers {
			if before(t.at, wake) {
				wake = t.at
			}
		}
	}
	if (c.runs || c.done >= c.steps) && len(c.queue) > 0 && before(c.queue[0].due, wake) {
		wake = c.queue[0].due
	}
	return wake
}

func (c *twinClient) act(at metasim.Instant) {
	c.at = at
	if !c.runs {
		c.behavior.wake(c.take(at))
		c.done++
		return
	}
	for len(c.queue) > 0 && c.queue[0].due == at && !c.gone {
		l := c.take1()
		for _, sub := range c.subs {
			if !c.deaf && !c.gone && matches(sub, l.channel) {
				c.behavior.handle(l)
			}
		}
	}
	for !c.gone && len(c.timers) > 0 && c.timers[0].at == at {
		t := c.timers[0]
		c.timers = c.timers[1:]
		c.behavior.fire(max(0, t.what))
		if t.what < 0 && c.tick >= 0 {
			c.set(metasim.Instant{Time: t.at.Time + c.period}, -1)
		}
	}
}

// settle goes on to the next part of the script when one is done.
func (c *twinClient) settle() {
	if c.gone || c.runs || c.done < c.steps+c.nexts {
		return
	}
	if c.runs = c.run; c.runs {
		c.set(metasim.Instant{Time: c.at.Time + c.period}, -1)
		c.after(0, 1)
	} else {
		c.leave()
	}
}

func (c *twinClient) take(at metasim.Instant) (seen []seenMessage) {
	for len(c.queue) > 0 && !before(at, c.queue[0].due) {
		seen = append(seen, c.take1())
	}
	return seen
}

// take1 handles the next message: it is part of the digest from now on.
func (c *twinClient) take1() seenMessage {
	l := c.queue[0]
	c.queue = c.queue[1:]
	c.took++
	c.last = l.due
	for _, field := range []any{
		l.due.Time, l.due.Step, l.sent.Time, l.sent.Step, uint32(len(l.from)), []byte(l.from),
		uint32(len(l.channel)), []byte(l.channel), uint32(len(l.payload)), l.payload,
	} {
		write(&c.hash, field)
	}
	return l
}

// write writes what always can be written.
func write(w io.Writer, field any) {
	if err := binary.Write(w, binary.LittleEndian, field); err != nil {
		panic(err)
	}
}

// The actor of a behavior in the twin.

func (c *twinClient) now() metasim.Instant { return c.at }
func (c *twinClient) promise(metasim.Time) {}
func (c *twinClient) leave()               { c.gone = true }

func (c *twinClient) stop() {
	c.tick = -1
	c.timers = slices.DeleteFunc(c.timers, func(t twinTimer) bool { return t.what < 0 })
}

func (c *twinClient) after(d metasim.Time, what int) {
	at := c.at
	if d > 0 {
		at = metasim.Instant{Time: at.Time + d}
	}
	c.set(at, what)
}

func (c *twinClient) set(at metasim.Instant, what int) {
	c.world.timers++
	c.timers = append(c.timers, twinTimer{at: at, number: c.world.timers, what: what})
	slices.SortFunc(c.timers, func(a, b twinTimer) int {
		return cmp.Or(cmp.Compare(a.at.Time, b.at.Time), cmp.Compare(a.at.Step, b.at.Step), a.number-b.number)
	})
}

func (c *twinClient) publish(channel string, payload []byte) {
	l := seenMessage{from: c.name, channel: channel, seq: c.sent, sent: c.at, payload: payload}
	c.sent++
	for _, to := range c.world.clients {
		if !slices.ContainsFunc(to.subs, func(sub string) bool { return matches(sub, channel) }) {
			continue
		}
		key := [3]string{c.name, to.name, channel}
		n := c.world.counts[key]
		c.world.counts[key]++
		for _, d := range hops(c.world.seed, c.name, to.name, channel, n) {
			l.due = metasim.Instant{Time: c.at.Time + d}
			if d == 0 {
				l.due = metasim.Instant{Time: c.at.Time, Step: c.at.Step + 1}
			}
			to.queue = append(to.queue, l)
		}
		slices.SortStableFunc(to.queue, func(a, b seenMessage) int {
			return cmp.Or(cmp.Compare(a.due.Time, b.due.Time), cmp.Compare(a.due.Step, b.due.Step),
				cmp.Compare(a.sent.Time, b.sent.Time), cmp.Compare(a.sent.Step, b.sent.Step),
				strings.Compare(a.from, b.from), cmp.Compare(a.seq, b.seq))
		})
	}
}

func matches(sub, channel string) bool {
	return regexp.MustCompile(`^(` + sub + `)$`).MatchString(channel)
}

func (w *twin) outcome() outcome {
	var o outcome
	var all bytes.Buffer
	for _, c := range w.clients {
		digest := sha256.Sum256(c.hash.Bytes())
		write(&all, uint32(len(c.name)))
		write(&all, []byte(c.name))
		write(&all, digest[:])
		end := c.at
		if before(end, c.last) {
			end = c.last
		}
		o.clients = append(o.clients, outcomeOf{c.name, hex.EncodeToString(digest[:]), c.sent, c.took, end})
	}
	digest := sha256.Sum256(all.Bytes())
	o.digest = hex.EncodeToString(digest[:])
	return o
}
