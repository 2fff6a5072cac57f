package lcm

import (
	"math"

	"metasim/metasim"
)

// A Clock turns the stamps of a log into simulated time: the first event is at 0, and time never goes back. The zero
// value is ready.
//
// Stamps do go back: the recorder's clock was set, or two logs were joined.
type Clock struct {
	first, latest int64
	begun         bool
}

// Elapsed returns how long after the first event the one stamped stamp (microseconds) is, in nanoseconds. An event
// stamped earlier than one before it is put at the latest time so far; back says how far back its stamp was, and is 0
// for all others. Both saturate at metasim.Forever.
func (c *Clock) Elapsed(stamp int64) (elapsed, back metasim.Time) {
	if !c.begun {
		c.first, c.latest, c.begun = stamp, stamp, true
	}
	if stamp < c.latest {
		back = between(stamp, c.latest)
	} else {
		c.latest = stamp
	}
	return between(c.first, c.latest), back
}

// between returns b - a for two stamps with a <= b.
func between(a, b int64) metasim.Time {
	us := uint64(b) - uint64(a) // wraps to the true difference
	if us > math.MaxInt64/uint64(metasim.Microsecond) {
		return metasim.Forever
	}
	return metasim.Time(us) * metasim.Microsecond
}
