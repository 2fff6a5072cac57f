// Package simtime has the two nouns of simulated time: Time, a number of nanoseconds, and Instant, a time and a step at
// that time. Package metasim gives both to all others under its own name; they are declared here so that package
// safetime, which metasim imports, can use them too.
package simtime

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Time is simulated time, or a length of it, in nanoseconds. A run begins at 0. Time is an integer everywhere;
// floating seconds are converted once, at the door, by [Seconds].
type Time int64

const (
	Nanosecond  Time = 1
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Forever is later than any time that is reached. Additions saturate at it.
const Forever Time = math.MaxInt64

// Add returns t + d, or Forever where the sum would not fit. Both must be non-negative.
func (t Time) Add(d Time) Time {
	if t > Forever-d {
		return Forever
	}
	return t + d
}

// Seconds converts floating seconds, rounding to the nearest nanosecond. It fails on NaN, and on what does not fit.
func Seconds(s float64) (Time, error) {
	ns := math.Round(s * 1e9)
	if math.IsNaN(ns) || ns >= math.MaxInt64 || ns <= math.MinInt64 {
		return 0, fmt.Errorf("%v seconds do not fit a time; use a number between -9.2e9 and 9.2e9", s)
	}
	return Time(ns), nil
}

// Seconds returns t in seconds. It is for people and plots: never feed it back into a simulation.
func (t Time) Seconds() float64 { return float64(t) / 1e9 }

// String writes t exactly, in the largest unit of which it is at least one: "550ms", "1.25s", "3ns".
func (t Time) String() string {
	switch {
	case t == Forever:
		return "forever"
	case t == 0:
		return "0s"
	case t == math.MinInt64:
		return "-9223372036.854775808s"
	case t < 0:
		return "-" + (-t).String()
	case t >= Second:
		return decimal(t, Second) + "s"
	case t >= Millisecond:
		return decimal(t, Millisecond) + "ms"
	case t >= Microsecond:
		return decimal(t, Microsecond) + "us"
	}
	return decimal(t, Nanosecond) + "ns"
}

// decimal writes t/unit exactly; unit is a power of ten.
func decimal(t, unit Time) string {
	whole := strconv.FormatInt(int64(t/unit), 10)
	rest := t % unit
	if rest == 0 {
		return whole
	}
	digits := strconv.FormatInt(int64(unit+rest), 10)[1:]
	return whole + "." + strings.TrimRight(digits, "0")
}

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
	return cmp.Or(cmp.Compare(i.Time, j.Time), cmp.Compare(i.Step, j.Step))
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
