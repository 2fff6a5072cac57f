package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"metasim/metasim"
)

// Span writes a wall-clock time, in seconds, with three significant digits.
func Span(s float64) string {
	d := time.Duration(math.Round(s * 1e9))
	switch abs := d.Abs(); {
	case abs >= time.Minute:
		return d.Round(time.Second).String()
	case abs >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case abs >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d == 0:
		return "-"
	}
	return strings.Replace(d.Round(100*time.Nanosecond).String(), "\u00b5", "u", 1)
}

// Number writes a number with three significant digits.
func Number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// plural writes a number of things.
func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// listed writes at least two names for a sentence. It shortens a long list.
func listed(names []string) string {
	const most = 6
	if len(names) == 1 {
		return names[0]
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// pieces returns the single changes of a prediction. Each has an equals sign; names may have blanks.
func pieces(changes string) (all []string) {
	whole := true
	for word := range strings.FieldsSeq(changes) {
		if whole {
			all = append(all, word)
		} else {
			all[len(all)-1] += " " + word
		}
		whole = strings.Contains(all[len(all)-1], "=")
	}
	return all
}

// size writes an amount of bytes with three significant digits.
func size(bytes float64) string {
	for _, unit := range []struct {
		bytes float64
		name  string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if bytes >= unit.bytes {
			return Number(bytes/unit.bytes) + " " + unit.name
		}
	}
	return fmt.Sprintf("%.0f B", bytes)
}

// unit returns the smallest power of ten nanoseconds u for which t/u < most.
func unit(t, most metasim.Time) metasim.Time {
	u := metasim.Time(1)
	for t/u >= most {
		u *= 10
	}
	return u
}

// roundUp rounds t up to a multiple of unit(t, most).
func roundUp(t, most metasim.Time) metasim.Time {
	u := unit(t, most)
	return (t + u - 1) / u * u
}

// lookahead writes a declared delay, in simulated nanoseconds.
func lookahead(ns int64) string {
	if ns == 0 {
		return "one step"
	}
	return metasim.Time(ns).String()
}

// coarse writes a simulated time in four digits.
func coarse(t metasim.Time) string {
	u := unit(t, 10_000)
	return (t / u * u).String()
}

// observed writes a simulated time, in nanoseconds, or "-" for a negative one.
func observed(ns int64) string {
	if ns < 0 {
		return "-"
	}
	return coarse(metasim.Time(ns))
}

// increase writes by how much longer a delay would have to be, in simulated nanoseconds, or "-" for a negative one.
func increase(ns int64) string {
	if ns < 0 {
		return "-"
	}
	return "+" + roundUp(metasim.Time(ns), 1000).String()
}
