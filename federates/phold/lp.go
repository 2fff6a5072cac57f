package phold

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"math/bits"
	"math/rand/v2"

	"metasim/metasim"
)

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
