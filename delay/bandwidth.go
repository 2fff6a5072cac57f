package delay

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"metasim/metasim"
)

// Bandwidth is how much a line carries, in bits per second. Zero is infinite.
type Bandwidth uint64

// Transmission returns how long it takes to put size bytes on the line: size*8/bandwidth seconds, rounded up to
// nanoseconds, so that no message is faster than the line. It saturates at metasim.Forever.
func (b Bandwidth) Transmission(size int) metasim.Time {
	if b == 0 || size <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(size), 8*uint64(metasim.Second))
	if hi >= uint64(b) {
		return metasim.Forever // the quotient has more than 64 bits
	}
	ns, rest := bits.Div64(hi, lo, uint64(b))
	if ns >= math.MaxInt64 {
		return metasim.Forever
	}
	if rest > 0 {
		ns++
	}
	return metasim.Time(ns)
}

// ParseBandwidth reads a bandwidth as scenarios write it: a decimal number and bit, kbit, Mbit or Gbit per second
// (powers of 1000), as in "10Mbit" or "1.5Gbit"; or "0" for an infinite one. There are no forms in bytes: one letter
// would make a factor of eight.
func ParseBandwidth(s string) (Bandwidth, error) {
	if s == "" {
		return 0, fmt.Errorf("a bandwidth is empty; write one such as 10Mbit")
	}
	number, name := cut(s)
	value, ok := decimal(number)
	if !ok {
		return 0, fmt.Errorf("%s is not a bandwidth; write a number and a unit, such as 10Mbit", quote(s))
	}
	unit, known := bandwidthUnits[name]
	switch {
	case name == "" && value.Sign() == 0:
		return 0, nil
	case name == "":
		return 0, fmt.Errorf("%s has no unit; write %sbit, %[2]skbit, %[2]sMbit or %[2]sGbit, all per second",
			quote(s), number)
	case !known:
		return 0, fmt.Errorf("%s has the unknown unit %s; write bit, kbit, Mbit or Gbit, all per second",
			quote(s), quote(name))
	}
	switch value.Mul(value, big.NewRat(unit, 1)); {
	case !value.IsInt():
		return 0, fmt.Errorf("%s is no whole number of bits per second; round it", quote(s))
	case !value.Num().IsUint64():
		return 0, fmt.Errorf("%s does not fit; leave bandwidth out for an infinite one", quote(s))
	}
	return Bandwidth(value.Num().Uint64()), nil
}

// bandwidthUnits are the units of a bandwidth in bits per second, as scenarios write them.
var bandwidthUnits = map[string]int64{"bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}

// A Line is a Link that counts what it is given to carry. The links of a Table with a bandwidth are Lines.
type Line interface {
	metasim.Link
	Load() Load
}

// A Load is what a line was given to carry so far.
type Load struct {
	Bandwidth   Bandwidth // 0: it carries everything at once, and the rest is 0
	Messages    uint64
	Busy        metasim.Time // how long it takes to carry them
	First, Last metasim.Time // when the first and the last of them were sent
	Free        metasim.Time // when the line is free again

	final metasim.Time // how long it takes to carry the last message
}

func (l *Load) add(sent, takes metasim.Time) {
	if l.Messages == 0 {
		l.First = sent
	}
	l.Messages++
	l.Last, l.final = sent, takes
	l.Busy = l.Busy.Add(takes)
}

// Share returns the load of the line while messages were sent: the time that it takes to carry them, divided by the time `lasts` from
// the first to the last of them. A line can carry a share of 1. The last message does not count, because nobody knows when the next
// one would be sent.
func (l *Load) Share() (share float64, lasts metasim.Time) {
	if lasts = l.Last - l.First; lasts <= 0 {
		return 0, 0
	}
	return float64(l.Busy-l.final) / float64(lasts), lasts
}
