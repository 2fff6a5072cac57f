package lcm

import (
	"math"

	"metasim/metasim"
)

// A Clock turns the time stamps of a log into simulated time: the first event is at 0, and time never goes back, although
// stamps do when two logs were joined or a logger was slow. If stamps go back by more than a day, somebody has set the recorder's
// clock: then the Clock goes on from where it is, by the differences of the new stamps. The zero value is ready.
type Clock struct {
	first, latest int64
	before        metasim.Time // what had passed when the recorder's clock was set
	begun         bool
}

const day = 24 * 3600 * metasim.Second

// Elapsed returns the time from the first event to an event with this stamp (in microseconds). An event with an earlier
// stamp than one before it gets the latest time so far; back says by how much its stamp went back, and is 0 for all other
// events. Both saturate at metasim.Forever.
func (c *Clock) Elapsed(stamp int64) (elapsed, back metasim.Time) {
	if !c.begun {
		c.first, c.latest, c.begun = stamp, stamp, true
	}
	if stamp < c.latest {
		back = between(stamp, c.latest)
	}
	if back > day {
		c.before, c.first = c.before.Add(between(c.first, c.latest)), stamp
	}
	if back == 0 || back > day {
		c.latest = stamp
	}
	return c.before.Add(between(c.first, c.latest)), back
}

// between returns b - a for two stamps with a <= b.
func between(a, b int64) metasim.Time {
	us := uint64(b) - uint64(a) // correct also where the subtraction of int64 overflows
	if us > math.MaxInt64/uint64(metasim.Microsecond) {
		return metasim.Forever
	}
	return metasim.Time(us) * metasim.Microsecond
}
