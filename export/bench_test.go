package export_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/export"
	"metasim/metasim"
)

// crowd is 10^6 messages of 100 bytes, of ten who run ahead as far as they may.
const crowd = `name: crowd
clients:
  - {name: source, count: 10, model: source, with: {channel: A, period: 1us, size: 100, count: 100000}}
  - {name: sink, model: sink, with: {channels: [A]}}
links:
  - {delay: 1ms}
`

func BenchmarkExport(b *testing.B) {
	dir := carryOut(b, parse(b, crowd), "mem", 0)
	for _, format := range []string{"walk", "lcmlog", "mcap"} {
		b.Run(format+"/messages=1000000", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				names, r := opened(b, dir)
				f, err := os.Create(filepath.Join(b.TempDir(), strconv.Itoa(b.N)))
				require.NoError(b, err)
				sink := begin(b, format, f, names)
				_, err = export.Walk(names, r, sink.Write)
				require.NoError(b, err)
				require.NoError(b, sink.Close())
				info, err := f.Stat()
				require.NoError(b, err)
				b.SetBytes(info.Size())
				require.NoError(b, f.Close())
			}
		})
	}
}

// A sink is what an export writes to.
type sink interface {
	Write(*export.Occurrence) error
	Close() error
}

func begin(t testing.TB, format string, w io.Writer, names []string) sink {
	t.Helper()
	switch format {
	case "lcmlog":
		l, err := export.NewLog(w, names, export.LogOptions{})
		require.NoError(t, err)
		return l
	case "delivered":
		l, err := export.NewLog(w, names, export.LogOptions{Of: export.Delivered})
		require.NoError(t, err)
		return l
	case "mcap":
		m, err := export.NewMCAP(w, names, export.MCAPOptions{})
		require.NoError(t, err)
		return m
	}
	return &counter{}
}

// counter only counts.
type counter struct {
	n    int
	last metasim.Instant
}

func (c *counter) Write(o *export.Occurrence) error { c.n, c.last = c.n+1, o.At(); return nil }
func (c *counter) Close() error                     { return nil }
