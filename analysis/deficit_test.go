package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// A deficit stands for numbers that are alike in their first digits, and its most for all of them.
func TestDeficits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(0, 62).Draw(t, "bits")
		x := metasim.Time(rapid.Uint64Range(0, 1<<bits).Draw(t, "x"))
		safe := metasim.Time(rapid.Uint64Range(0, 1000).Draw(t, "safe"))
		d := deficitOf(metasim.At(safe+x), metasim.Instant{Time: safe, Step: 3})
		require.Greater(t, d.most(), x, "the bound of an authorization is exclusive")
		require.LessOrEqual(t, d.most()-1, x+x/8)
		require.LessOrEqual(t, d, deficitOf(metasim.At(safe+x+1), metasim.At(safe)))
		require.Equal(t, d, deficitOf(metasim.At(d.most()-1), metasim.Start))
	})
	require.Equal(t, endless, deficitOf(metasim.Infinity, metasim.Start))
	require.Equal(t, metasim.Time(1), deficitOf(metasim.At(5), metasim.Instant{Time: 5, Step: 1}).most())
}

// Two who act in turns, a millisecond apart, over links of one step: with a millisecond more none waits for the other.
func TestHowMuchLongerALinkHadToBe(t *testing.T) {
	_, r := analyze(t, inTurns(0))
	for _, l := range r.Links {
		require.Greater(t, l.HalfNS, int64(ms), l)
		require.LessOrEqual(t, l.HalfNS, int64(ms+ms/8+1), l)
		require.InDelta(t, l.HeldS, l.MoreDelay[len(l.MoreDelay)-1].EndsS, 1e-12)
	}
	_, r = analyze(t, inTurns(ms+1))
	require.InDelta(t, 2, r.Parallelism, 0.05, "that is so")
	_, r = analyze(t, inTurns(ms-1))
	require.InDelta(t, 1, r.Parallelism, 0.05, "and less is not enough")
}

// Of who waits for whatever may come nothing is said: no delay would let it go on.
func TestWhoOnlyAnswersFallsShortOfNothing(t *testing.T) {
	_, r := analyze(t, &world{actors: pair(0, 10*us), config: metasim.Config{Delays: pairDelays(1, ms), Until: 100 * ms}})
	require.NotEmpty(t, r.Links)
	for _, l := range r.Links {
		require.Greater(t, l.HeldS, 0.)
		require.Empty(t, l.MoreDelay)
		require.Equal(t, int64(-1), l.HalfNS)
	}
}

func TestPack(t *testing.T) {
	w := &world{config: metasim.Config{Delays: pairDelays(3, ms), Until: 100 * ms}}
	for i := range 3 {
		w.actors = append(w.actors, pair(i, 10*us)...)
	}
	tl, r := analyze(t, w)
	tl.Pack(r)
	var cores []int
	for _, b := range r.Bounds {
		cores = append(cores, b.Cores)
		require.InDelta(t, r.WallS*max(1, 3/float64(b.Cores)), b.PlayedS, 20e-6, "three compute at once")
		require.LessOrEqual(t, b.LeastS, b.PlayedS+1e-12)
		require.LessOrEqual(t, b.PlayedS, b.MostS+1e-12)
	}
	require.Equal(t, []int{1, 2, 4, 6}, cores)
	require.Equal(t, 6, r.CoresFor90, "for sure")
	require.InDelta(t, r.WorkS, r.Bounds[0].MostS, 1e-12)

	tl, r = analyze(t, crowd(8, 2))
	tl.Pack(r)
	require.InDelta(t, r.WallS, r.Bounds[1].PlayedS, 1e-12, "as it was")
	require.InDelta(t, r.WallS/4, r.Bounds[3].PlayedS, 0.05*r.WallS)
}
