package shard

import (
	"encoding/binary"
	"fmt"

	"metasim/federates/authority/balance"
	"metasim/federates/authority/claim"
	"metasim/federates/authority/interest"
	"metasim/federates/authority/transfer"
)

// Save writes down all that decides what the shard will do, but for its Config and its Simserver.
func (s *Shard) Save() []byte {
	c := coder{}
	c.shard(s)
	return c.b
}

// Restore makes a shard that goes on where Save was called, with the same Config and the Simserver as it was then.
func Restore(cfg Config, sim *transfer.Simserver, saved []byte) (*Shard, error) {
	s, err := New(cfg, sim, nil, nil)
	if err != nil {
		return nil, err
	}
	c := coder{b: saved, reads: true}
	c.shard(s)
	if c.err == nil && c.at != len(c.b) {
		c.fail("more follows than belongs to it")
	}
	return s, c.err
}

// A SavedError: what was saved cannot be read.
type SavedError struct {
	At  int // byte
	Why string
}

func (e *SavedError) Error() string {
	return fmt.Sprintf("what was saved of a shard cannot be read: at byte %d %s; begin at an older one, or at the beginning", e.At, e.Why)
}

// A coder writes down a shard, or reads it. Each field is named once, so what is written is what is read.
type coder struct {
	b     []byte
	reads bool
	at    int
	err   error // of reading; all fields behind it stay as they are
}

func (c *coder) fail(why string) {
	if c.err == nil {
		c.err = &SavedError{c.at, why}
	}
}

// number is a whole number of 64 bits at most.
func number[T ~int | ~int64 | ~uint64 | ~uint16](c *coder, v *T) {
	if !c.reads {
		c.b = binary.AppendVarint(c.b, int64(*v))
		return
	}
	n, size := binary.Varint(c.b[c.at:])
	if size <= 0 || int64(T(n)) != n {
		c.fail("is no number of its size")
	}
	if c.err == nil {
		*v, c.at = T(n), c.at+size
	}
}

func (c *coder) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	number(c, &n)
	*v = n != 0
}

// length is how many of something follow; at most as many as there are bytes.
func (c *coder) length(n int) int {
	number(c, &n)
	if c.reads && (n < 0 || n > len(c.b)-c.at) {
		c.fail("more is promised than there is")
	}
	if c.err != nil {
		return 0
	}
	return n
}

func (c *coder) bytes(v *[]byte) {
	n := c.length(len(*v))
	if !c.reads {
		c.b = append(c.b, *v...)
	} else if c.err == nil {
		*v, c.at = append([]byte{}, c.b[c.at:c.at+n]...), c.at+n
	}
}

func (c *coder) text(v *string) {
	b := []byte(*v)
	c.bytes(&b)
	*v = string(b)
}

// list is a list whose elements are coded one by one.
func list[T any](c *coder, v *[]T, each func(*T)) {
	n := c.length(len(*v))
	if c.reads {
		*v = append([]T(nil), make([]T, n)...) // nil where there is none
	}
	for i := range *v {
		each(&(*v)[i])
	}
}

func (c *coder) shard(s *Shard) {
	for _, n := range []*uint64{&s.Counts.Sent, &s.Counts.Waited, &s.Counts.Taken, &s.Counts.Late, &s.Counts.Touched, &s.Counts.Won, &s.Counts.Rested, &s.round, &s.busy} {
		number(c, n)
	}
	for _, n := range []*int{&s.effects, &s.given, &s.refused} {
		number(c, n)
	}
	number(c, &s.next)
	number(c, &s.readable)
	number(c, &s.cost)
	for _, v := range []*bool{&s.planned, &s.unpriced, &s.priced} {
		c.flag(v)
	}
	c.load(&s.said)
	list(c, &s.Moves, func(m *Moved) { number(c, &m.NS); c.text(&m.Entity); c.text(&m.To) })
	list(c, &s.Work, func(w *Busy) { number(c, &w.Round); number(c, &w.Work); number(c, &w.Cost) })
	list(c, &s.Parts, func(p *Part) { number(c, &p.NS); c.flag(&p.Takes) })
	list(c, &s.weighed, func(w *balance.Weight) { c.text(&w.Entity); number(c, &w.Work) })
	list(c, &s.entities, func(e **entity) {
		if c.reads {
			*e = &entity{}
		}
		c.entity(*e)
	})
	for i, e := range s.entities {
		s.numbers[e.name] = i
		c.place(s.moving, i)
		if s.resting != nil {
			c.place(s.resting, i)
		}
	}
	list(c, &s.active, func(n *int) { c.entityNumber(s, n) })
	for _, p := range s.peers {
		if p != nil {
			c.peer(s, p)
		}
	}
}

// place is where an entity is in a grid, if it is.
func (c *coder) place(g *interest.Grid, entity int) {
	x, y, in := g.At(entity)
	if c.flag(&in); !in {
		return
	}
	number(c, &x)
	number(c, &y)
	if c.reads && c.err == nil {
		g.Put(entity, x, y)
	}
}

// entityNumber is that of an entity that was coded before.
func (c *coder) entityNumber(s *Shard, n *int) {
	number(c, n)
	if *n < 0 || *n >= len(s.entities) {
		c.fail("is no entity")
		*n = 0
	}
}

func (c *coder) entity(e *entity) {
	c.text(&e.name)
	c.claim(&e.claim)
	number(c, &e.owner)
	c.state(&e.state)
	number(c, &e.heard)
	number(c, &e.answer)
	number(c, &e.kick[0])
	number(c, &e.kick[1])
	number(c, &e.still)
	number(c, &e.tell)
	number(c, &e.work)
	number(c, &e.since)
	c.flag(&e.asked)
}

func (c *coder) claim(v *claim.Claim) {
	number(c, &v.Ownership)
	number(c, &v.Touches)
	number(c, &v.Authority)
	number(c, &v.Holder)
	c.flag(&v.Confirmed)
	c.flag(&v.Pending)
}

func (c *coder) state(v *transfer.State) {
	number(c, &v.Steps)
	number(c, &v.Value)
	has := v.Body != nil
	if c.flag(&has); !has {
		return
	}
	if c.reads {
		v.Body = &transfer.Body{}
	}
	for _, n := range []*int64{&v.Body.X, &v.Body.Y, &v.Body.VX, &v.Body.VY, &v.Body.Side} {
		number(c, n)
	}
	c.flag(&v.Body.Slows)
}

func (c *coder) load(v *load) {
	number(c, &v.round)
	number(c, &v.work)
	number(c, &v.look[0])
	number(c, &v.look[1])
	c.flag(&v.leaving)
}

func (c *coder) peer(s *Shard, p *peer) {
	sent, limit := p.out.Totals()
	read := p.in.Total()
	number(c, &sent)
	number(c, &limit)
	number(c, &read)
	p.out.Resume(sent, limit)
	p.in.Resume(read)
	c.flag(&p.known)
	c.load(&p.said)
	number(c, &p.probe)
	list(c, &p.inbox, c.bytes)
	list(c, &p.order, func(n *int) {
		c.entityNumber(s, n)
		since := p.waits[*n]
		number(c, &since)
		p.waits[*n] = since
	})
}
