package phold

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"math/bits"
	"math/rand/v2"

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
	cfg      Config
	index    int
	count    int
	first    uint32 // its LPs are first, first+1, ...
	lps      []lp
	calendar pq.Queue[Event] // the first to execute on top
	exponent float64         // mean of the exponential part, in nanoseconds
	executed uint64
	now      metasim.Time
}

// NewBlock returns the index-th of count blocks, with the events that its LPs start with.
func NewBlock(cfg Config, index, count int) *Block {
	first, end := cfg.first(index, count), cfg.first(index+1, count)
	b := &Block{cfg: cfg, index: index, count: count, first: first, lps: make([]lp, end-first),
		calendar: pq.Queue[Event]{Less: (*Event).before},
		exponent: float64(cfg.Mean - cfg.Lookahead)}
	for i := range b.lps {
		l := &b.lps[i]
		*l = newLP(cfg.Seed, first+uint32(i))
		for range cfg.Population {
			b.calendar.Push(l.send(l.number, l.after(0, b.cfg.Lookahead, b.exponent)))
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
			"of %v; give the links among these clients a delay of at most that", e.To, e.Time, now, b.cfg.Lookahead)
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
		next := l.send(to, l.after(b.now, b.cfg.Lookahead, b.exponent))
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

// An lp is one logical process: its number, its draws, how much it sent and what it executed.
type lp struct {
	number uint32
	rng    *rand.PCG
	sent   uint64
	past   hash.Hash
}

func newLP(seed uint64, number uint32) lp {
	key := []byte("phold")
	key = binary.LittleEndian.AppendUint64(key, seed)
	key = binary.LittleEndian.AppendUint32(key, number)
	sum := sha256.Sum256(key)
	high, low := binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])
	return lp{number: number, rng: rand.NewPCG(high, low), past: sha256.New()}
}

// uniform draws from (0, 1]: 0 is left out for the logarithm, and for a share of 0.
func (l *lp) uniform() float64 {
	return float64(l.rng.Uint64()>>11+1) / (1 << 53)
}

// destination draws where the next event goes.
func (l *lp) destination(remote float64, lps uint32) uint32 {
	if l.uniform() > remote {
		return l.number
	}
	to, _ := bits.Mul64(l.rng.Uint64(), uint64(lps)) // the bias is below 2^-32
	return uint32(to)
}

// after draws when the next event is executed: the lookahead after now, and exponentially distributed nanoseconds more.
func (l *lp) after(now, lookahead metasim.Time, exponent float64) metasim.Time {
	more := math.Round(-exponent * log(l.uniform()))
	if more >= math.MaxInt64 {
		return metasim.Forever
	}
	return now.Add(lookahead).Add(metasim.Time(more))
}

// send makes the next event that this LP sends.
func (l *lp) send(to uint32, at metasim.Time) Event {
	e := Event{To: to, Time: at, From: l.number, Count: l.sent}
	l.sent++
	return e
}

// record adds an event to what this LP has executed.
func (l *lp) record(e Event) {
	var b [12]byte
	binary.LittleEndian.PutUint64(b[:], uint64(e.Time))
	binary.LittleEndian.PutUint32(b[8:], e.From)
	l.past.Write(b[:])
}

// sum is the LP's part of the hash.
func (l *lp) sum() uint64 {
	return binary.LittleEndian.Uint64(l.past.Sum(nil))
}

// An Event is to be executed by an LP at a time.
type Event struct {
	To    uint32       // the LP that executes it
	Time  metasim.Time // when
	From  uint32       // the LP that sent it
	Count uint64       // counts what that LP sent, from 0
}

// before is the order of execution in a block: by (Time, From, Count) for the events of one LP. The order of two LPs at one time
// changes no result, as they share nothing.
func (e *Event) before(f *Event) bool {
	switch { // mostly the times differ
	case e.Time != f.Time:
		return e.Time < f.Time
	case e.To != f.To:
		return e.To < f.To
	case e.From != f.From:
		return e.From < f.From
	}
	return e.Count < f.Count
}

// eventSize is the length of a payload.
const eventSize = 24

// Encode returns the payload: To u32, Time i64, From u32, Count u64, little-endian.
func (e Event) Encode() []byte {
	b := make([]byte, 0, eventSize)
	b = binary.LittleEndian.AppendUint32(b, e.To)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Time))
	b = binary.LittleEndian.AppendUint32(b, e.From)
	return binary.LittleEndian.AppendUint64(b, e.Count)
}

// decode reads a payload.
func decode(payload []byte) (Event, error) {
	if len(payload) != eventSize {
		return Event{}, fmt.Errorf("an event of %d bytes; it has %d: check what is published on the channel",
			len(payload), eventSize)
	}
	return Event{
		To:    binary.LittleEndian.Uint32(payload),
		Time:  metasim.Time(binary.LittleEndian.Uint64(payload[4:])),
		From:  binary.LittleEndian.Uint32(payload[12:]),
		Count: binary.LittleEndian.Uint64(payload[16:]),
	}, nil
}
