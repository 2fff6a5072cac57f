package phold

import (
	"fmt"

	"metasim/internal/pq"
	"metasim/metasim"
)

// A Config is the workload. It is the same for all its blocks.
type Config struct {
	LPs        uint32       // in all
	Population int          // events that each LP starts with
	Remote     float64      // the share of events that go to an LP drawn from all, 0 to 1
	Mean       metasim.Time // from an event to the one that it causes
	Lookahead  metasim.Time // the least such time: more than 0, at most Mean
	Seed       uint64
}

// A Block is the LPs of one client and the events that are to be executed there.
type Block struct {
	cfg       Config
	index     int
	count     int
	first     uint32 // its LPs are first, first+1, ...
	lps       []lp
	calendar  pq.Queue[Event] // the first to execute on top
	exponent  float64         // mean of the exponential part, in nanoseconds
	lookahead metasim.Time
	executed  uint64
	now       metasim.Time
}

// NewBlock returns the index-th of count blocks, with the events that its LPs start with.
func NewBlock(cfg Config, index, count int) *Block {
	first, end := cfg.first(index, count), cfg.first(index+1, count)
	b := &Block{cfg: cfg, index: index, count: count, first: first, lps: make([]lp, end-first),
		calendar: pq.Queue[Event]{Less: (*Event).before},
		exponent: float64(cfg.Mean - cfg.Lookahead), lookahead: cfg.Lookahead}
	for i := range b.lps {
		l := &b.lps[i]
		*l = newLP(cfg.Seed, first+uint32(i))
		for range cfg.Population {
			b.calendar.Push(l.send(l.number, l.after(0, b.lookahead, b.exponent)))
		}
	}
	return b
}

// first returns the first LP of a block: blocks differ in size by one at most.
func (c Config) first(index, count int) uint32 {
	return uint32(uint64(index) * uint64(c.LPs) / uint64(count))
}

// Owner returns the index of the block, of count, that an LP is in.
func (c Config) Owner(number uint32, count int) int {
	return int(((uint64(number)+1)*uint64(count) - 1) / uint64(c.LPs))
}

// Next returns the time of the next event, Forever if there is none.
func (b *Block) Next() metasim.Time {
	if b.calendar.Len() == 0 {
		return metasim.Forever
	}
	return b.calendar.First().Time
}

// Schedule adds an event from another block, which arrived at time now.
func (b *Block) Schedule(e Event, now metasim.Time) error {
	switch {
	case e.To < b.first || uint64(e.To) >= uint64(b.first)+uint64(len(b.lps)):
		return fmt.Errorf("an event for LP %d came to a client that does not have it; "+
			"give every client of the entry the same parameters", e.To)
	case e.Time < now:
		return fmt.Errorf("an event for LP %d at %v arrived at %v: the link's delay exceeds the lookahead "+
			"of %v; give the links among these clients a delay of at most that", e.To, e.Time, now, b.lookahead)
	case e.Time <= b.now && b.executed > 0:
		return fmt.Errorf("an event for LP %d at %v arrived after the events of that time were executed; "+
			"use a lookahead of at least 1ns", e.To, e.Time)
	}
	b.calendar.Push(e)
	return nil
}

// Execute executes all events of the time Next, hands those that they cause for other blocks to emit, and returns how
// many it executed.
func (b *Block) Execute(emit func(Event)) (executed int) {
	b.now = b.Next()
	for b.calendar.Len() > 0 && b.calendar.First().Time == b.now {
		e := b.calendar.Pop()
		l := &b.lps[e.To-b.first]
		l.record(e)
		executed++
		to := l.destination(b.cfg.Remote, b.cfg.LPs)
		next := l.send(to, l.after(b.now, b.lookahead, b.exponent))
		if b.cfg.Owner(to, b.count) == b.index {
			b.calendar.Push(next)
		} else {
			emit(next)
		}
	}
	b.executed += uint64(executed)
	return executed
}

// Result returns how many events were executed, and the hash: the sum over the LPs, modulo 2^64, of the first 8 bytes
// (little-endian) of the SHA-256 over an LP's executed events, each as its time (i64) and its source (u32),
// little-endian. Both, summed over the blocks, are the same for every number of blocks.
func (b *Block) Result() (events, hash uint64) {
	for i := range b.lps {
		hash += b.lps[i].sum()
	}
	return b.executed, hash
}
