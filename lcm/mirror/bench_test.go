package mirror_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/lcm/bus"
	"metasim/run"
	"metasim/scenarios"
)

// streams is a run of four sources and a sink: messages of 100 bytes, each received and delivered. At a rate of 1 it has
// a load of 50,000 publishes a second, which are 100,000 messages to show; at rate 0 it runs as fast as it can.
const streams = `
name: streams
until: %ds
rate: %d
clients:
  - {name: source, count: 4, model: source, with: {channel: STATE, period: 80us, size: 100}}
  - {name: sink, model: sink, with: {channels: [STATE]}}
links:
  - {delay: 1ms}
`

// BenchmarkRun measures what the mirror costs a run: its wall-clock time with and without one. "shown" counts messages, each
// of which is two datagrams; "dropped" is the part of them for which there was no time.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name, url string
		listener  bool
	}{
		{name: "private"},
		{name: "udpm, nobody hears", url: "udpm://239.255.76.70:7670"},
		{name: "udpm, one hears", url: "udpm://239.255.76.70:7670", listener: true},
		{name: "tcpq, nobody hears", url: "tcpq://127.0.0.1:7671"},
		{name: "file", url: "file://" + filepath.Join(b.TempDir(), "run.lcmlog")},
	} {
		for _, rate := range []int{1, 2, 0} {
			b.Run(fmt.Sprintf("%s/rate=%d", c.name, rate), func(b *testing.B) {
				if c.listener {
					l, err := bus.Open(c.url, bus.Options{})
					require.NoError(b, err)
					defer l.Close()
					_, err = l.Subscribe("NONE")
					require.NoError(b, err)
				}
				text := fmt.Sprintf(streams, max(2*rate, 4), rate)
				sc, _, err := scenarios.Parse(filepath.Join(b.TempDir(), "streams.metasim.yaml"), []byte(text), scenarios.Overrides{PublicLCM: c.url})
				require.NoError(b, err)
				var shown, dropped, wall float64
				for b.Loop() {
					out, err := run.Scenario(b.Context(), sc, run.Options{Out: filepath.Join(b.TempDir(), "run")})
					require.NoError(b, err)
					require.NoError(b, out.Err)
					wall += out.WallS
					if out.LCM != nil {
						require.Zero(b, out.LCM.Failed)
						shown += float64(out.LCM.Shown)
						dropped += float64(out.LCM.Dropped)
					}
				}
				b.ReportMetric(wall/float64(b.N), "wall-s")
				b.ReportMetric(shown/wall, "shown/s")
				b.ReportMetric(dropped/max(1, shown+dropped), "dropped")
			})
		}
	}
}
