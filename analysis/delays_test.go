package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/metasim"
)

// Two clients act in turns, a millisecond apart, over links of one step. With a millisecond more neither waits for the other.
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

// No delay would let a client go on that waits for whatever message may come.
func TestAWaitForAnyMessageHasNoShortfall(t *testing.T) {
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
	require.NoError(t, r.Predict(predict.New(tl)))
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
	require.NoError(t, r.Predict(predict.New(tl)))
	require.InDelta(t, r.WallS, r.Bounds[1].PlayedS, 1e-12, "as it was")
	require.InDelta(t, r.WallS/4, r.Bounds[3].PlayedS, 0.05*r.WallS)
}
