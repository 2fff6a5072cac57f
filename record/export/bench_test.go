package export

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A workload is a run of 10^6 messages of 100 bytes, each delivered once.
type workload struct{ name, text string }

// pairs are ten clients that play ping-pong with ten others: their journal is nearly in order. crowd are ten clients that send everything
// before any of it is delivered: all messages are in flight at once.
func workloads() []workload {
	var pairs strings.Builder
	pairs.WriteString("name: pairs\nclients:\n")
	for i := range 10 {
		fmt.Fprintf(&pairs, "  - {name: pinger-%d, model: ping, with: {rounds: 50000, out: PING%[1]d, in: PONG%[1]d, size: 100}}\n"+
			"  - {name: ponger-%[1]d, model: echo, with: {in: PING%[1]d, out: PONG%[1]d}}\n", i)
	}
	pairs.WriteString("links:\n  - {delay: 1ms}\n")
	return []workload{{"pairs", pairs.String()}, {"crowd", `name: crowd
clients:
  - {name: source, count: 10, model: source, with: {channel: A, period: 1us, size: 100, count: 100000}}
  - {name: sink, model: sink, with: {channels: [A]}}
links:
  - {delay: 1ms}
`}}
}

// BenchmarkExport is what `metasim log` does with a run of 10^6 messages: from the journal to the file. An MCAP file has
// four messages for each, and an event log one. "walk" is without the file.
func BenchmarkExport(b *testing.B) {
	for _, load := range workloads() {
		dir := carryOut(b, parse(b, load.text), "mem", 0)
		for _, format := range []string{"walk", "lcmlog", "mcap"} {
			b.Run(load.name+"/"+format, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					names, r := opened(b, dir)
					f, err := os.Create(filepath.Join(b.TempDir(), "export"))
					require.NoError(b, err)
					sink := begin(b, format, f, names)
					_, err = walkJournal(names, r, sink.Kinds(), sink.Write)
					require.NoError(b, err)
					require.NoError(b, sink.Close())
					require.NoError(b, f.Close())
				}
			})
		}
	}
}

// BenchmarkWrite is the part of it that writes: 10^6 messages of 100 bytes that were sent, and for MCAP delivered, too.
func BenchmarkWrite(b *testing.B) {
	payload := make([]byte, 100)
	for _, format := range []string{"lcmlog", "mcap"} {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink := begin(b, format, io.Discard, []string{"a", "b"})
				for i := range uint64(1_000_000) {
					o := made("CHANNEL", metasim.Time(i)*metasim.Microsecond)
					o.Message.Seq, o.Message.Payload = i, payload
					require.NoError(b, sink.Write(o))
					o.Kind, o.To, o.Message.Due = Delivered, 1, o.Message.Sent
					require.NoError(b, sink.Write(o))
				}
				require.NoError(b, sink.Close())
			}
		})
	}
}

func begin(t testing.TB, format string, w io.Writer, names []string) sink {
	t.Helper()
	switch v := whole(t, names...); format {
	case "lcmlog":
		return newEventLog(w, v, Sent, false)
	case "delivered":
		return newEventLog(w, v, Delivered, false)
	case "mcap":
		m, err := newMCAPFile(w, v, nil, nil)
		require.NoError(t, err)
		return m
	}
	return nothing{}
}

// whole is the view of all clients.
func whole(t require.TestingT, names ...string) view {
	v, err := newView(names, "")
	require.NoError(t, err)
	return v
}

// nothing is where an export goes that is not written.
type nothing struct{}

func (nothing) Kinds() kindSet          { return everyKind }
func (nothing) Write(*occurrence) error { return nil }
func (nothing) Close() error            { return nil }
func (nothing) Count() Count            { return Count{} }
