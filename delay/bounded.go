package delay

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"metasim/metasim"
)

// Constant is a delay that is always the same. Zero: one step.
type Constant metasim.Time

func (c Constant) validate() error {
	if c < 0 {
		return fieldError("delay", "%v is negative; use 0 or more", metasim.Time(c))
	}
	return nil
}

func (c Constant) least() metasim.Time { return metasim.Time(c) }

func (c Constant) sampler(rand.Source) sampler {
	return func() metasim.Time { return metasim.Time(c) }
}

// Uniform is a delay between two bounds, all equally likely. Both may occur.
type Uniform struct {
	Min metasim.Time // nanoseconds, 0 or more
	Max metasim.Time // nanoseconds, Min or more
}

func (u Uniform) validate() error {
	if u.Min < 0 {
		return fieldError("delay.uniform.min", "%v is negative; use 0 or more", u.Min)
	}
	if u.Max < u.Min {
		return fieldError("delay.uniform.max", "%v is less than min, %v; exchange them", u.Max, u.Min)
	}
	return nil
}

func (u Uniform) least() metasim.Time { return u.Min }

func (u Uniform) sampler(src rand.Source) sampler {
	return beyond(u.Min, float64(u.Max-u.Min), distuv.Uniform{Max: 1, Src: src})
}

// Empirical is a delay out of a list of measured ones, each equally likely for every message, whatever came before.
// [ReadCSV] reads such a list.
type Empirical []metasim.Time

func (e Empirical) validate() error {
	if len(e) == 0 {
		return fieldError("delay.empirical", "there are no delays to draw from; give one at least")
	}
	if least := slices.Min(e); least < 0 {
		return fieldError("delay.empirical", "%v is negative; use delays of 0 or more", least)
	}
	return nil
}

func (e Empirical) least() metasim.Time { return slices.Min(e) }

func (e Empirical) sampler(src rand.Source) sampler {
	draw := rand.New(src)
	return func() metasim.Time { return e[draw.Uint64N(uint64(len(e)))] }
}

// String is short, as a list may be long.
func (e Empirical) String() string { return fmt.Sprintf("empirical (%d delays)", len(e)) }
