package metasim

import (
	"cmp"
	"math"
	"strconv"
)

// An Instant is superdense time: a time, and a step at that time. Instants are ordered by time, then by step.
//
// Steps let several things follow one another while simulated time stands still: a message without delay arrives one
// step after it was sent, so cause stays before effect, and a cycle of links without delay still moves.
type Instant struct {
	Time Time   // nanoseconds
	Step uint32 // 0 is the first step at that time
}

// Start is the first instant of a run.
var Start = Instant{}

// Infinity is after every instant that is reached.
var Infinity = Instant{Time: Forever, Step: math.MaxUint32}

// At returns the first instant at time t.
func At(t Time) Instant {
	if t == Forever {
		return Infinity
	}
	return Instant{Time: t}
}

// Add returns the instant that a delay of d leads to: (t+d, 0), or (t, n+1) for a delay of 0, as the least delay is
// one step. After the last step of a time comes the next time. It saturates at Infinity, so i.Add(d) is after i only
// below it; it never falls as i or d rises. d must not be negative.
func (i Instant) Add(d Time) Instant {
	if d > 0 || i.Step == math.MaxUint32 || i.Time == Forever {
		return At(i.Time.Add(max(1, d)))
	}
	return Instant{Time: i.Time, Step: i.Step + 1}
}

// React returns the earliest instant at which a client with reaction time r answers what reached it at i: i itself
// for 0, as a client may answer in the very step in which it hears.
func (i Instant) React(r Time) Instant {
	if r == 0 {
		return i
	}
	return i.Add(r)
}

// Compare orders instants: by time, then by step.
func (i Instant) Compare(j Instant) int {
	if c := cmp.Compare(i.Time, j.Time); c != 0 {
		return c
	}
	return cmp.Compare(i.Step, j.Step)
}

// Before reports whether i is earlier than j.
func (i Instant) Before(j Instant) bool {
	return i.Time < j.Time || i.Time == j.Time && i.Step < j.Step
}

// Earlier returns the earlier of two instants.
func Earlier(i, j Instant) Instant {
	if j.Before(i) {
		return j
	}
	return i
}

// Later returns the later of two instants.
func Later(i, j Instant) Instant {
	if i.Before(j) {
		return j
	}
	return i
}

// String writes "550ms", or "550ms+2" for the second step after the first.
func (i Instant) String() string {
	if i.Step == 0 || i == Infinity {
		return i.Time.String()
	}
	return i.Time.String() + "+" + strconv.FormatUint(uint64(i.Step), 10)
}
