package delay

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"metasim/metasim"
)

// moments is what gonum knows of a distribution.
type moments interface {
	Mean() float64
	Variance() float64
	ExKurtosis() float64
	CDF(x float64) float64
}

// Draws have the mean, the variance and the shape that gonum computes for the distribution that was asked for, its
// parameters derived here a second time. Each draw comes from a generator of its own, so this also judges the keys.
func TestMoments(t *testing.T) {
	const n = 100_000
	for _, test := range []struct {
		name  string
		dist  Distribution
		least metasim.Time // the part beyond it is compared
		want  moments
	}{
		{"uniform", Uniform{Min: 2 * ms, Max: 10 * ms}, 0, distuv.Uniform{Min: 2e6, Max: 10e6}},
		{"normal", Normal{Mean: 20 * ms, StdDev: 3 * ms, Min: new(1 * us)}, 0, distuv.Normal{Mu: 20e6, Sigma: 3e6}},
		{"exponential", Exponential{Mean: 20 * ms, Min: new(5 * ms)}, 5 * ms, distuv.Exponential{Rate: 1 / 15e6}},
		{"lognormal", LogNormal{Mean: 20 * ms, StdDev: 6 * ms, Min: new(5 * ms)}, 5 * ms,
			distuv.LogNormal{Mu: math.Log(15e6) - math.Log(1.16)/2, Sigma: math.Sqrt(math.Log(1.16))}},
		{"gamma", Gamma{Mean: 20 * ms, StdDev: 5 * ms, Min: new(5 * ms)}, 5 * ms, distuv.Gamma{Alpha: 9, Beta: 9 / 15e6}},
		{"gamma below 1", Gamma{Mean: 20 * ms, StdDev: 20 * ms, Min: new(5 * ms)}, 5 * ms,
			distuv.Gamma{Alpha: 0.5625, Beta: 0.5625 / 15e6}},
	} {
		t.Run(test.name, func(t *testing.T) {
			draws := floats(single(t, 1, Spec{Delay: test.dist}), n)
			for i := range draws {
				draws[i] -= float64(test.least)
			}
			mean, variance := stat.MeanVariance(draws, nil)
			sigma := math.Sqrt(test.want.Variance() / n)
			require.InDelta(t, test.want.Mean(), mean, 4*sigma)
			sigma = test.want.Variance() * math.Sqrt((test.want.ExKurtosis()+2)/n)
			require.InDelta(t, test.want.Variance(), variance, 4*sigma)
			require.Less(t, kolmogorov(draws, test.want.CDF), 1.95, "the shape is not that of %s (0.1 %% level)", test.name)
		})
	}
}

// kolmogorov returns the statistic sqrt(n) D of Kolmogorov and Smirnov. It sorts the draws.
func kolmogorov(draws []float64, cdf func(float64) float64) float64 {
	slices.Sort(draws)
	n := float64(len(draws))
	worst := 0.0
	for i, x := range draws {
		p := cdf(x)
		worst = max(worst, p-float64(i)/n, float64(i+1)/n-p)
	}
	return worst * math.Sqrt(n)
}

// Draws are rounded to nanoseconds, and saturate instead of wrapping round.
func TestNanoseconds(t *testing.T) {
	for _, test := range []struct {
		x           float64
		least, want metasim.Time
	}{
		{3.49, 0, 3}, {3.5, 0, 4}, {3.49, 4, 4}, {-7, 0, 0}, {math.NaN(), 5, 5}, {math.Inf(1), 5, metasim.Forever},
		{0x1p63, 0, metasim.Forever}, {0x1p62, 0, 1 << 62}, {0x1p62, 1<<62 + 1, 1<<62 + 1},
	} {
		require.Equal(t, test.want, nanoseconds(test.x, test.least), "%v from %v on", test.x, test.least)
	}
}

// A truncated normal is the normal given that it is not below Min: not one whose tail is heaped up at Min.
func TestNormalIsTruncated(t *testing.T) {
	const n = 100_000
	bell := distuv.Normal{Mu: 20e6, Sigma: 4e6}
	least := 18 * ms
	draws := floats(single(t, 1, Spec{Delay: Normal{Mean: 20 * ms, StdDev: 4 * ms, Min: &least}}), n)
	below := bell.CDF(float64(least))
	require.Less(t, kolmogorov(draws, func(x float64) float64 { return (bell.CDF(x) - below) / (1 - below) }), 1.95)
}

// An empirical delay draws each entry of its list equally often.
func TestEmpirical(t *testing.T) {
	const n = 30_000
	counts := map[metasim.Time]int{}
	for _, d := range delays(single(t, 1, Spec{Delay: Empirical{7, 5, 7, 9, 5, 5}}), n) {
		counts[d[0]]++
	}
	require.Len(t, counts, 3)
	for value, share := range map[metasim.Time]float64{5: 1. / 2, 7: 1. / 3, 9: 1. / 6} {
		require.InDelta(t, n*share, counts[value], 3*math.Sqrt(n*share*(1-share)), "%v", value)
	}
}

// Draws of different links, seeds, numbers and purposes have nothing to do with one another.
func TestIndependence(t *testing.T) {
	const n = 50_000
	spec := Spec{Delay: Uniform{Max: 1000 * ms}, Duplicate: 1}
	table, err := NewTable(1, []Rule{{Spec: spec}})
	require.NoError(t, err)
	base := floats(table.Link("a", "b", "C"), n)
	next := floats(table.Link("a", "b", "C"), n+1)[1:]
	var second, lost []float64
	for _, d := range delays(table.Link("a", "b", "C"), n) {
		second = append(second, float64(d[1]))
	}
	for _, gone := range losses(single(t, 1, Spec{Loss: Bernoulli(0.5)}), n) {
		lost = append(lost, map[bool]float64{true: 1}[gone])
	}
	for name, other := range map[string][]float64{
		"the way back":       floats(table.Link("b", "a", "C"), n),
		"another channel":    floats(table.Link("a", "b", "D"), n),
		"another recipient":  floats(table.Link("a", "c", "C"), n),
		"names run together": floats(table.Link("ab", "", "C"), n),
		"the next seed":      floats(single(t, 2, spec), n),
		"the next message":   next,
		"the second copy":    second,
		"the loss":           lost,
	} {
		require.Less(t, math.Abs(stat.Correlation(base, other, nil)), 4/math.Sqrt(n), name)
	}
}
