package delay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

func TestReadCSV(t *testing.T) {
	for _, test := range []struct {
		name, data string
		want       Empirical
	}{
		{"durations", "delay\n5ms\n1.5s\n0\n", Empirical{5 * ms, 1500 * ms, 0}},
		{"milliseconds", "delay_ms\n5\n12.5\n", Empirical{5 * ms, 12_500 * us}},
		{"seconds as programs write them", "delay_s\n5e-05\n1.2E+1\n0.0123456784999\n0.0123456785000\n",
			Empirical{50 * us, 12_000 * ms, 12_345_678, 12_345_679}},
		{"halves go up", "delay_ns\n0.4\n0.5\n1.5\n1e-300\n", Empirical{0, 1, 2, 0}},
		{"other columns", "when, delay_us ,host\n1,7,a\n2, 8 ,b\n", Empirical{7 * us, 8 * us}},
		{"comments, empty lines, carriage returns, a byte order mark, no last newline",
			"\ufeff# from ping\r\ndelay_ms\r\n\r\n# the first\r\n3\r\n4", Empirical{3 * ms, 4 * ms}},
		{"quotes", "\"delay\"\n\"5ms\"\n", Empirical{5 * ms}},
	} {
		got, err := ReadCSV("d.csv", []byte(test.data))
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, got, test.name)
	}
}

func TestReadCSVErrors(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{"", "d.csv:1:1: the file is empty; name the column, delay_ms for example, and write the delays below"},
		{"5ms\n6ms\n", "d.csv:1:1: the first line names no column of delays; call it delay (values such as 5ms), " +
			"or delay_ns, delay_us, delay_ms or delay_s (bare numbers)"},
		{"delay_min\n5\n", "d.csv:1:1: the first line names no column of delays; call it delay (values such as 5ms), " +
			"or delay_ns, delay_us, delay_ms or delay_s (bare numbers)"},
		{"delay_ms,delay\n5,5ms\n", `d.csv:1:1: the columns "delay_ms" and "delay" both hold delays; keep one of them`},
		{"# nothing\ndelay\n", "d.csv:2:1: the file names a column and holds no delay; write one at least below"},
		{"n,delay\n1,5ms\n2,5\n", `d.csv:3:3: "5" has no unit; write 5ns, 5us, 5ms, 5s, 5m or 5h`},
		{"delay_ms\n1\n\n5ms\n",
			`d.csv:4:1: "5ms" is not a number; write one such as 12.5, without a unit, as the column has it`},
		{"delay_ms\n-1\n", `d.csv:2:1: "-1" is negative; a delay is 0 or more`},
		{"delay_ms\nNaN\n",
			`d.csv:2:1: "NaN" is not a number; write one such as 12.5, without a unit, as the column has it`},
		{"delay_ms\n1e\n",
			`d.csv:2:1: "1e" is not a number; write one such as 12.5, without a unit, as the column has it`},
		{"delay_ms\n1/3\n",
			`d.csv:2:1: "1/3" is not a number; write one such as 12.5, without a unit, as the column has it`},
		{"delay_ms\n0x10\n",
			`d.csv:2:1: "0x10" is not a number; write one such as 12.5, without a unit, as the column has it`},
		{"delay_s\n1e10\n", `d.csv:2:1: "1e10" does not fit; use a shorter delay`},
		{"delay_s\n1e999999999\n", `d.csv:2:1: "1e999999999" does not fit; use a shorter delay`},
		{"a,delay\n1\n", "d.csv:2:1: this line has another number of columns than the first; give each line as many"},
		{"delay\n5\"ms\n", "d.csv:2:2: a quotation mark is out of place; write the number without one"},
		{"delay\n\"5ms\n", "d.csv:2:6: a quotation mark is out of place; write the number without one"},
	} {
		got, err := ReadCSV("d.csv", []byte(test.data))
		require.EqualError(t, err, test.want, "%q", test.data)
		require.Nil(t, got)
		var where *CSVError
		require.True(t, errors.As(err, &where))
	}
}

func TestReadCSVHasALimit(t *testing.T) {
	data := "delay_ns\n" + strings.Repeat("1\n", maxRows)
	delays, err := ReadCSV("d.csv", []byte(data))
	require.NoError(t, err)
	require.Len(t, delays, maxRows)
	_, err = ReadCSV("d.csv", []byte(data+"1\n"))
	want := fmt.Sprintf("d.csv:%d:1: the file has more than 100000 delays; take a sample of them", maxRows+2)
	require.EqualError(t, err, want)
}

func FuzzReadCSV(f *testing.F) {
	for _, s := range []string{
		"delay\n5ms\n", "delay_ms\n5\n1e-3\n", "\ufeff# x\r\nn,delay_s\r\n1,0.5\r\n", "delay\n\"5ms\n",
		"a,delay\n1\n", "delay_ms\n-1\n", "delay_s\n1e99\n", "delay_ns\n1e-300\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		delays, err := ReadCSV("d.csv", data)
		if err != nil {
			require.Nil(t, delays)
			var where *CSVError
			require.True(t, errors.As(err, &where))
			require.Positive(t, where.Line)
			require.Positive(t, where.Column)
			return
		}
		require.NoError(t, Spec{Delay: delays}.Validate())
		for _, d := range delays {
			require.Less(t, d, metasim.Forever)
		}
	})
}

func BenchmarkReadCSV(b *testing.B) {
	data := []byte("delay_ms\n" + strings.Repeat("12.345678\n", 1000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadCSV("d.csv", data); err != nil {
			b.Fatal(err)
		}
	}
}
