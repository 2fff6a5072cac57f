package simtime

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyTime draws times that lie close together, and at both ends.
func anyTime() *rapid.Generator[Time] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(0, 5), func(n int64) Time { return Time(n) }),
		rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(n int64) Time { return Time(n) }),
		rapid.Map(rapid.Int64Range(0, 5), func(n int64) Time { return Forever - Time(n) }),
	)
}

func anyInstant() *rapid.Generator[Instant] {
	step := rapid.OneOf(rapid.Uint32Range(0, 3), rapid.Uint32Range(math.MaxUint32-3, math.MaxUint32))
	return rapid.Custom(func(t *rapid.T) Instant {
		return Instant{Time: anyTime().Draw(t, "time"), Step: step.Draw(t, "step")}
	})
}

// notAfter reports whether a is at b or before it.
func notAfter(a, b Instant) bool { return !b.Before(a) }

func TestInstantOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyInstant().Draw(t, "a"), anyInstant().Draw(t, "b"), anyInstant().Draw(t, "c")
		holds := 0
		for _, is := range []bool{a.Before(b), b.Before(a), a == b} {
			if is {
				holds++
			}
		}
		require.Equal(t, 1, holds, "exactly one of a < b, b < a, a = b")
		require.Equal(t, a.Before(b), a.Compare(b) < 0)
		require.Equal(t, a == b, a.Compare(b) == 0)
		require.Equal(t, a.Compare(b), -b.Compare(a))
		if notAfter(a, b) && notAfter(b, c) {
			require.True(t, notAfter(a, c), "transitive")
		}
		require.False(t, Infinity.Before(a))
		require.False(t, a.Before(Start))
		require.True(t, Earlier(a, b) == a && Later(a, b) == b || Earlier(a, b) == b && Later(a, b) == a)
		require.True(t, notAfter(Earlier(a, b), Later(a, b)))
	})
}

func TestInstantAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyInstant().Draw(t, "a"), anyInstant().Draw(t, "b")
		d, e := anyTime().Draw(t, "d"), anyTime().Draw(t, "e")
		if sum := a.Add(d); sum != Infinity {
			require.True(t, a.Before(sum), "every delay leads forward")
			if d > 0 || a.Step < math.MaxUint32 {
				require.Equal(t, a.Time+d, sum.Time, "exact below saturation")
			}
		}
		if notAfter(a, b) {
			require.True(t, notAfter(a.Add(d), b.Add(d)), "monotone in the instant")
			require.True(t, notAfter(a.React(d), b.React(d)))
		}
		if d <= e {
			require.True(t, notAfter(a.Add(d), a.Add(e)), "monotone in the delay")
			require.True(t, notAfter(a.React(d), a.React(e)))
		}
		require.Equal(t, Infinity, Infinity.Add(d))
		require.Equal(t, Infinity, Infinity.React(d))
		require.Equal(t, Infinity, a.Add(Forever))
		require.Equal(t, a, a.React(0))
		require.True(t, notAfter(a, a.React(d)))
	})
	require.Equal(t, Instant{Time: 7, Step: 3}, Instant{Time: 7, Step: 2}.Add(0))
	require.Equal(t, Instant{Time: 8}, Instant{Time: 7, Step: 2}.Add(1), "a delay leads to the first step")
	require.Equal(t, At(8), Instant{Time: 7, Step: math.MaxUint32}.Add(0), "steps do not wrap around")
	require.Equal(t, Infinity, At(Forever))
}

func TestTimeAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyTime().Draw(t, "a"), anyTime().Draw(t, "b")
		sum := new(big.Int).Add(big.NewInt(int64(a)), big.NewInt(int64(b)))
		if !sum.IsInt64() {
			sum = big.NewInt(math.MaxInt64)
		}
		require.Equal(t, Time(sum.Int64()), a.Add(b))
		require.Equal(t, a.Add(b), b.Add(a))
	})
}

func TestTimeString(t *testing.T) {
	for text, want := range map[string]Time{
		"0s": 0, "1ns": 1, "999ns": 999, "1us": 1000, "1.5us": 1500, "999.999us": 999_999, "1ms": Millisecond,
		"550ms": 550 * Millisecond, "1s": Second, "1.25s": 1250 * Millisecond, "3600s": 3600 * Second,
		"1.000000001s": Second + 1, "forever": Forever, "-1.5ms": -1500 * Microsecond,
		"9223372036.854775806s": Forever - 1, "-forever": -Forever, "-9223372036.854775808s": -Forever - 1,
	} {
		require.Equal(t, text, want.String())
	}
	units := []struct {
		name string
		long int64
	}{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}} // "s" last: it ends them all
	rapid.Check(t, func(t *rapid.T) {
		x := Time(rapid.Int64Range(1-math.MaxInt64, math.MaxInt64-1).Draw(t, "x"))
		text := x.String()
		for _, u := range units {
			number, ok := strings.CutSuffix(text, u.name)
			if !ok || strings.HasSuffix(number, "n") || strings.HasSuffix(number, "u") || strings.HasSuffix(number, "m") {
				continue
			}
			exact, ok := new(big.Rat).SetString(number)
			require.True(t, ok, text)
			require.Zero(t, exact.Mul(exact, big.NewRat(u.long, 1)).Cmp(big.NewRat(int64(x), 1)), text)
			return
		}
		require.Fail(t, "no unit", text)
	})
}

func TestInstantString(t *testing.T) {
	require.Equal(t, "550ms", At(550*Millisecond).String())
	require.Equal(t, "550ms+2", Instant{Time: 550 * Millisecond, Step: 2}.String())
	require.Equal(t, "forever", Infinity.String())
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]Time{
		0: 0, 1: Second, 0.1: 100 * Millisecond, 1e-9: 1, 0.4e-9: 0, 0.5e-9: 1, 0.6e-9: 1, -0.6e-9: -1,
		0.001: Millisecond, 1.0000000005: Second + 1, 9.2e9: 9_200_000_000 * Second,
	} {
		got, err := Seconds(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 9.3e9, -9.3e9, math.MaxFloat64} {
		_, err := Seconds(s)
		require.ErrorContains(t, err, "use a number between", s)
	}
	rapid.Check(t, func(t *rapid.T) {
		x := Time(rapid.Int64Range(-1e15, 1e15).Draw(t, "x"))
		back, err := Seconds(x.Seconds())
		require.NoError(t, err)
		require.Equal(t, x, back, "eleven days keep their nanoseconds")
	})
}
