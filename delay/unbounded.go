package delay

import (
	"cmp"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"metasim/metasim"
)

// The distributions of this file have no useful lower bound of their own: a normal one none at all, the others 0, which
// is no lookahead. So each needs a Min; nil is refused. 0 is legal: it means that there is no lookahead.
//
// All are drawn in their standard form and scaled here, as gonum's own scaling may be fused on some architectures.
//
// Mean is the mean of the whole delay, Min included, in all but Normal: moving Min alone changes the shape, and not how
// long messages travel on the average.

// Normal is a normal delay truncated at Min: a draw below it is drawn again. Mean and StdDev are those of the whole
// bell, before its tail is cut off, as usual for the truncated normal; the mean of the delays is a little greater.
type Normal struct {
	Mean   metasim.Time  // nanoseconds, Min or more, so that half of the draws at least are good
	StdDev metasim.Time  // nanoseconds, positive
	Min    *metasim.Time // nanoseconds, 0 or more; required
}

func (d Normal) validate() error {
	if err := checkMin("normal", d.Min); err != nil {
		return err
	}
	if d.Mean < *d.Min {
		return fieldError("delay.normal.mean", "%v is less than min, %v; use min or more", d.Mean, *d.Min)
	}
	return checkStdDev("normal", d.StdDev)
}

func (d Normal) least() metasim.Time { return *d.Min }

// redraws bounds how often a normal draw is repeated. At least half of the draws are good, so the bound is reached once in 2^64 delays.
const redraws = 64

func (d Normal) sampler(src rand.Source) sampler {
	least, mean, stdDev := *d.Min, float64(d.Mean), float64(d.StdDev)
	standard := distuv.Normal{Sigma: 1, Src: src}
	return func() metasim.Time {
		for range redraws {
			if x := mean + float64(standard.Rand()*stdDev); x >= float64(least) {
				return nanoseconds(x, least)
			}
		}
		return least
	}
}

// Exponential is Min and an exponential part beyond it.
type Exponential struct {
	Mean metasim.Time  // of the whole delay, nanoseconds, more than Min
	Min  *metasim.Time // nanoseconds, 0 or more; required
}

func (d Exponential) validate() error { return checkMean("exponential", d.Mean, d.Min) }

func (d Exponential) least() metasim.Time { return *d.Min }

func (d Exponential) sampler(src rand.Source) sampler {
	return beyond(*d.Min, float64(d.Mean-*d.Min), distuv.Exponential{Rate: 1, Src: src})
}

// LogNormal is Min and a lognormal part beyond it: many small delays and a few very long ones.
type LogNormal struct {
	Mean   metasim.Time  // of the whole delay, nanoseconds, more than Min
	StdDev metasim.Time  // nanoseconds, positive: of the delay, not of its logarithm
	Min    *metasim.Time // nanoseconds, 0 or more; required
}

func (d LogNormal) validate() error {
	return cmp.Or(checkMean("lognormal", d.Mean, d.Min), checkStdDev("lognormal", d.StdDev))
}

func (d LogNormal) least() metasim.Time { return *d.Min }

// The part has mean = median exp(sigma^2/2) and variance = mean^2 (exp(sigma^2) - 1), solved for median and sigma.
func (d LogNormal) sampler(src rand.Source) sampler {
	mean := float64(d.Mean - *d.Min)
	cv := float64(d.StdDev) / mean // coefficient of variation
	median := mean / math.Sqrt(1+float64(cv*cv))
	return beyond(*d.Min, median, distuv.LogNormal{Sigma: math.Sqrt(math.Log1p(cv * cv)), Src: src})
}

// Gamma is Min and a gamma part beyond it: what several hops, each with an exponential delay, make together.
type Gamma struct {
	Mean   metasim.Time  // of the whole delay, nanoseconds, more than Min
	StdDev metasim.Time  // nanoseconds, positive
	Min    *metasim.Time // nanoseconds, 0 or more; required
}

func (d Gamma) validate() error {
	return cmp.Or(checkMean("gamma", d.Mean, d.Min), checkStdDev("gamma", d.StdDev))
}

func (d Gamma) least() metasim.Time { return *d.Min }

// The part has mean = alpha scale and variance = alpha scale^2, solved for alpha and scale.
func (d Gamma) sampler(src rand.Source) sampler {
	ratio := float64(d.Mean-*d.Min) / float64(d.StdDev)
	scale := float64(d.StdDev) / ratio
	return beyond(*d.Min, scale, distuv.Gamma{Alpha: ratio * ratio, Beta: 1, Src: src})
}

func checkMin(kind string, least *metasim.Time) error {
	if least == nil {
		return fieldError("delay."+kind+".min", "min is missing, and %s has no lookahead without it; "+
			"give the least delay of the link, or 0 for none", kind)
	}
	if *least < 0 {
		return fieldError("delay."+kind+".min", "%v is negative; use 0 or more", *least)
	}
	return nil
}

func checkMean(kind string, mean metasim.Time, least *metasim.Time) error {
	if err := checkMin(kind, least); err != nil {
		return err
	}
	if mean <= *least {
		return fieldError("delay."+kind+".mean", "%v is not more than min, %v; mean is that of the whole delay, "+
			"min included: use more than min, or a constant delay", mean, *least)
	}
	return nil
}

func checkStdDev(kind string, stdDev metasim.Time) error {
	if stdDev <= 0 {
		return fieldError("delay."+kind+".stddev", "%v is not positive; use a positive duration, or a constant delay",
			stdDev)
	}
	return nil
}
