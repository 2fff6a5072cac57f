package delay

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"metasim/metasim"
)

// A Distribution is a kind of delay with its parameters: [Constant], [Uniform], [Empirical], [Normal], [Exponential],
// [LogNormal] or [Gamma]. The set is closed.
type Distribution interface {
	// validate names the first contradiction, as a *FieldError relative to the scenario's key "delay".
	validate() error
	// least is the lower bound of all delays. It is asked of a valid distribution only, as is sampler.
	least() metasim.Time
	// sampler returns a function that draws a delay from src. Its result depends on src's state alone.
	sampler(src rand.Source) sampler
}

// A sampler draws one delay.
type sampler func() metasim.Time

// beyond draws least and a part that is never negative: a standard variate, scaled.
func beyond[D distuv.Rander](least metasim.Time, scale float64, standard D) sampler {
	return func() metasim.Time { return least.Add(nanoseconds(standard.Rand()*scale, 0)) }
}

// nanoseconds rounds a draw to a time from least on. A draw that does not fit saturates.
func nanoseconds(x float64, least metasim.Time) metasim.Time {
	switch x = math.Round(x); {
	case x >= math.MaxInt64:
		return metasim.Forever
	case x > float64(least):
		// At or above 2^53 the comparison itself rounds least, so the result is compared with it once more.
		return max(metasim.Time(x), least)
	}
	return least // also for NaN
}
