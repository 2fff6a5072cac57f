package delay

import (
	"fmt"
	"strings"
	"testing"

	"metasim/metasim"
)

// kinds has one of each distribution, and the corners of those that draw in several ways.
var kinds = []struct {
	name string
	dist Distribution
}{
	{"constant", Constant(5 * ms)},
	{"uniform", Uniform{Min: 2 * ms, Max: 10 * ms}},
	{"uniform of nanoseconds", Uniform{Min: 1, Max: 4}},
	{"empirical", Empirical{9 * ms, 3 * ms, 4 * ms, 3 * ms}},
	{"normal", Normal{Mean: 20 * ms, StdDev: 4 * ms, Min: new(1 * ms)}},
	{"normal cut in half", Normal{Mean: 20 * ms, StdDev: 4 * ms, Min: new(20 * ms)}},
	{"exponential", Exponential{Mean: 20 * ms, Min: new(5 * ms)}},
	{"lognormal", LogNormal{Mean: 20 * ms, StdDev: 8 * ms, Min: new(5 * ms)}},
	{"gamma", Gamma{Mean: 20 * ms, StdDev: 8 * ms, Min: new(5 * ms)}},
	{"gamma of alpha 1", Gamma{Mean: 20 * ms, StdDev: 20 * ms, Min: new(metasim.Time(0))}},
	{"gamma of alpha 0.64", Gamma{Mean: 20 * ms, StdDev: 25 * ms, Min: new(metasim.Time(0))}},
	{"gamma of alpha 0.01", Gamma{Mean: 20 * ms, StdDev: 200 * ms, Min: new(metasim.Time(0))}},
}

// The draws are part of what a scenario and its seed mean: they are pinned, for each purpose.
func TestGoldenDraws(t *testing.T) {
	const shown, summed = 6, 10_000
	var text strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&text, "%s\n", kind.name)
		for copies, name := range []string{"travel", "copies"} {
			fmt.Fprintf(&text, "  %s", name)
			sum := metasim.Time(0)
			for i, d := range delays(single(t, 1, Spec{Delay: kind.dist, Duplicate: 1}), summed) {
				sum += d[copies]
				if i < shown {
					fmt.Fprintf(&text, " %d", d[copies])
				}
			}
			fmt.Fprintf(&text, " ... sum of %d: %d\n", summed, sum)
		}
	}
	fmt.Fprintln(&text, "which of 64 are lost (0), arrive once (1), twice (2)")
	for _, chance := range []struct {
		name string
		spec Spec
	}{
		{"bernoulli", Spec{Loss: Bernoulli(0.25)}},
		{"gilbert-elliott", Spec{Loss: GilbertElliott{GoodToBad: 0.1, BadToGood: 0.25, LossGood: 0.01, LossBad: 0.9}}},
		{"duplicate", Spec{Duplicate: 0.25}},
		{"both", Spec{Loss: Bernoulli(0.25), Duplicate: 0.25}},
	} {
		fmt.Fprintf(&text, "  %-16s", chance.name)
		for _, d := range delays(single(t, 1, chance.spec), 64) {
			fmt.Fprint(&text, len(d))
		}
		fmt.Fprintln(&text)
	}
	golden(t, "draws.golden", text.String())
}
