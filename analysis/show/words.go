package show

import (
	"fmt"
	"strconv"
	"time"

	"metasim/analysis"
)

// A figure is one of the four numbers of a run, in words.
type figure struct {
	Name, Number, Unit, Words string
}

// headline says what the four numbers of a run mean.
func headline(r *analysis.Report) []figure {
	possible := 0.0
	if r.CriticalIdealS > 0 {
		possible = r.WorkS / r.CriticalIdealS
	}
	of := fmt.Sprintf("of %d", len(r.Clients))
	return []figure{
		{"Parallelism", digits(r.Parallelism), of, "clients computed at once, on average."},
		{"Possible", digits(possible), of, "if messages alone made anybody wait, it would take " + span(r.CriticalIdealS) + "."},
		{
			"For lookahead", digits(r.LookaheadPrice), "times",
			"short delays and missing promises make it " + span(r.CriticalConservativeS) + ".",
		},
		{"For the machine", digits(r.CorePrice), "times", r.Machine() + " make it " + span(r.WallS) + "."},
	}
}

// digits writes a number with three digits that matter.
func digits(f float64) string {
	prec := 2
	switch {
	case f >= 100:
		prec = 0
	case f >= 10:
		prec = 1
	}
	return strconv.FormatFloat(f, 'f', prec, 64)
}

// span writes a length of time in its unit, with three digits that matter.
func span(s float64) string {
	switch {
	case s >= 120:
		return time.Duration(s * float64(time.Second)).Round(time.Second).String()
	case s >= 1:
		return digits(s) + " s"
	case s >= 1e-3:
		return digits(s*1e3) + " ms"
	}
	return digits(s*1e6) + " µs"
}
