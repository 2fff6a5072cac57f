package delay

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]metasim.Time{
		"0": 0, "0.0": 0, "0s": 0, "1ns": 1, "250us": 250 * us, "5ms": 5 * ms, "1.5s": 1500 * ms, "2m": 120_000 * ms,
		"1h": 3_600_000 * ms, "0.000000001s": 1, ".5us": 500, "5.ms": 5 * ms, "007ms": 7 * ms, "1.50000000000000s": 1500 * ms,
		"9223372036854775806ns": metasim.Forever - 1, "0.1h": 360_000 * ms,
	} {
		got, err := ParseDuration(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
}

func TestParseDurationErrors(t *testing.T) {
	for s, want := range map[string]string{
		"":       `a duration is empty; write one such as 5ms`,
		"5":      `"5" has no unit; write 5ns, 5us, 5ms, 5s, 5m or 5h`,
		"-5ms":   `"-5ms" is negative; write a duration of 0 or more, such as 5ms`,
		"ms":     `"ms" is not a duration; write a number and a unit, such as 5ms`,
		".s":     `".s" is not a duration; write a number and a unit, such as 5ms`,
		"1.2.3s": `"1.2.3s" is not a duration; write a number and a unit, such as 5ms`,
		" 5ms":   `" 5ms" is not a duration; write a number and a unit, such as 5ms`,
		"5 ms":   `"5 ms" has the unknown unit " ms"; write one number and one of ns, us, ms, s, m and h`,
		"5µs":    `"5µs" has the unknown unit "µs"; write one number and one of ns, us, ms, s, m and h`,
		"1m30s":  `"1m30s" has the unknown unit "m30s"; write one number and one of ns, us, ms, s, m and h`,
		"1e3ms":  `"1e3ms" has the unknown unit "e3ms"; write one number and one of ns, us, ms, s, m and h`,
		"0.5ns":  `"0.5ns" is finer than a nanosecond; round it to whole nanoseconds`,
		"9223372036854775807ns": `"9223372036854775807ns" does not fit; ` +
			`the longest duration is 292 years, or 2562047h`,
		strings.Repeat("1", 65) + "s": `"` + strings.Repeat("1", 40) + `"... is not a duration; ` +
			`write a number and a unit, such as 5ms`,
	} {
		_, err := ParseDuration(s)
		require.EqualError(t, err, want, s)
	}
	_, err := ParseDuration("2562047h")
	require.NoError(t, err, "the longest duration")
}

// What String writes, ParseDuration reads.
func TestParseDurationReadsString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := min(someTime(t, "time").Add(someTime(t, "more")), metasim.Forever-1)
		got, err := ParseDuration(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{
		"0", "5ms", "1.5s", "-5ms", "1m30s", "0.5ns", "2562047h", "9223372036854775807ns", ".", "µs",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseDuration(s)
		if err != nil {
			require.Zero(t, got)
			return
		}
		require.GreaterOrEqual(t, got, metasim.Time(0))
		require.Less(t, got, metasim.Forever)
		again, err := ParseDuration(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

func TestParseBandwidth(t *testing.T) {
	for s, want := range map[string]Bandwidth{
		"0": 0, "0bit": 0, "1bit": 1, "9600bit": 9600, "64kbit": 64_000, "10Mbit": 10e6, "1.5Gbit": 1.5e9, "2.5kbit": 2500,
		"18446744073709551615bit": 1<<64 - 1,
	} {
		got, err := ParseBandwidth(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for s, want := range map[string]string{
		"":         `a bandwidth is empty; write one such as 10Mbit`,
		"10":       `"10" has no unit; write 10bit, 10kbit, 10Mbit or 10Gbit, all per second`,
		"10mbit":   `"10mbit" has the unknown unit "mbit"; write bit, kbit, Mbit or Gbit, all per second`,
		"10MB":     `"10MB" has the unknown unit "MB"; write bit, kbit, Mbit or Gbit, all per second`,
		"10Mbit/s": `"10Mbit/s" has the unknown unit "Mbit/s"; write bit, kbit, Mbit or Gbit, all per second`,
		"-1bit":    `"-1bit" is not a bandwidth; write a number and a unit, such as 10Mbit`,
		"0.5bit":   `"0.5bit" is no whole number of bits per second; round it`,
		"18446744073709551616bit": `"18446744073709551616bit" does not fit; ` +
			`leave bandwidth out for an infinite one`,
	} {
		_, err := ParseBandwidth(s)
		require.EqualError(t, err, want, s)
	}
}

func FuzzParseBandwidth(f *testing.F) {
	for _, s := range []string{"0", "10Mbit", "1.5Gbit", "10mbit", "-1bit", "0.5bit", "18446744073709551616bit", "10MB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseBandwidth(s)
		if err != nil {
			require.Zero(t, got)
			return
		}
		require.GreaterOrEqual(t, got.Transmission(1<<20), metasim.Time(0))
	})
}

// Transmission saturates where 64 bits end: of the quotient, and of a time.
func TestTransmissionSaturates(t *testing.T) {
	require.Equal(t, metasim.Forever, Bandwidth(1).Transmission(1<<32), "more than 2^64 ns")
	require.Equal(t, metasim.Forever, Bandwidth(47437).Transmission(54691137414035), "2^63-1 ns and a bit")
	require.Equal(t, metasim.Time(8e18), Bandwidth(1).Transmission(1e9))
}

// A dumb twin of Transmission: integers without a bound.
func TestTransmissionTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 1<<62).Draw(t, "size")
		b := rapid.Uint64Range(1, 1<<64-1).Draw(t, "bandwidth") >> rapid.IntRange(0, 60).Draw(t, "shift")
		b = max(b, 1)
		bits := new(big.Int).Mul(big.NewInt(int64(size)), big.NewInt(8e9))
		speed := new(big.Int).SetUint64(b)
		ns, rest := new(big.Int).QuoRem(bits, speed, new(big.Int))
		if rest.Sign() > 0 {
			ns.Add(ns, big.NewInt(1))
		}
		want := metasim.Forever
		if ns.IsInt64() {
			want = metasim.Time(ns.Int64())
		}
		require.Equal(t, want, Bandwidth(b).Transmission(size))
	})
}
