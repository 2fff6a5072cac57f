package metasim

import (
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
		return 0, fmt.Errorf("metasim: %v seconds do not fit a time; use a number between -9.2e9 and 9.2e9", s)
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
	return strconv.FormatInt(int64(t), 10) + "ns"
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
