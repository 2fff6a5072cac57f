package metasim

import "metasim/metasim/simtime"

// Simulated time is declared in package simtime, so that package safetime can use it without a circle of imports.
// All other packages use it by these names.
type (
	// Time is simulated time, or a length of it, in nanoseconds.
	Time = simtime.Time
	// Instant is superdense time: a time, and a step at that time.
	Instant = simtime.Instant
)

const (
	Nanosecond  = simtime.Nanosecond
	Microsecond = simtime.Microsecond
	Millisecond = simtime.Millisecond
	Second      = simtime.Second

	// Forever is later than any time that is reached. Additions saturate at it.
	Forever = simtime.Forever
)

var (
	// Start is the first instant of a run.
	Start = simtime.Start
	// Infinity is after every instant that is reached.
	Infinity = simtime.Infinity
)

// At returns the first instant at time t.
func At(t Time) Instant { return simtime.At(t) }

// Earlier returns the earlier of two instants.
func Earlier(i, j Instant) Instant { return simtime.Earlier(i, j) }

// Later returns the later of two instants.
func Later(i, j Instant) Instant { return simtime.Later(i, j) }

// Seconds converts floating seconds, rounding to the nearest nanosecond. It fails on NaN, and on what does not fit.
func Seconds(s float64) (Time, error) { return simtime.Seconds(s) }
