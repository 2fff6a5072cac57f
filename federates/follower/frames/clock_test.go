package frames

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// exact is the time of frame n in nanoseconds, as a fraction: the plain twin of Rate.Time.
func exact(r Rate, n uint64) *big.Rat {
	t := new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(r.Den)*1_000_000_000), new(big.Int).SetUint64(uint64(r.Num)))
	return t.Mul(t, new(big.Rat).SetInt(new(big.Int).SetUint64(n)))
}

// Acceptance test 12: the frame times of television do not drift over 60,000 frames, and their differences sum up to 1001 s exactly.
func TestSixtyThousandFramesDoNotDrift(t *testing.T) {
	r := Rate{60000, 1001}
	sum := metasim.Time(0)
	for n := range uint64(60000) {
		step := r.Time(n+1) - r.Time(n)
		require.InDelta(t, 16683333, int64(step), 1)
		sum += step
	}
	assert.Equal(t, 1001*metasim.Second, sum)
}

func TestTheTimeOfAFrameIsTheNearestNanosecond(t *testing.T) {
	half := big.NewRat(1, 2)
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{rapid.Uint32Min(1).Draw(t, "num"), rapid.Uint32Min(1).Draw(t, "den")}
		n := rapid.Uint64().Draw(t, "frame")
		want := exact(r, n)
		if want.Cmp(new(big.Rat).SetInt64(int64(metasim.Forever))) >= 0 {
			assert.Equal(t, metasim.Forever, r.Time(n))
			return
		}
		off := new(big.Rat).Sub(want, new(big.Rat).SetInt64(int64(r.Time(n))))
		assert.LessOrEqual(t, off.Abs(off).Cmp(half), 0)
	})
}

// A layer at a half or a third of the rate shows every second or third frame, at the very times of the whole rate.
func TestLayersShareTheTimesOfTheWholeRate(t *testing.T) {
	r := Rate{60000, 1001}
	for k := range uint32(4) {
		k++
		for m := range uint64(20000) {
			require.Equal(t, r.Time(m*uint64(k)), r.Slower(k).Time(m))
		}
	}
	assert.Equal(t, "60000/2002", r.Slower(2).String())
	assert.Equal(t, "60", Rate{60, 1}.String())
}
