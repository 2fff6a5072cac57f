package analysis_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// BenchmarkReport reads and reports a run of a hundred thousand grants, of clients in lock step: each waits for
// all others, so that each report changes which client holds which back.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{4, 64} {
		b.Run(fmt.Sprint("clients=", n), func(b *testing.B) {
			steps := 100_000 / n
			w := &world{timed: true, config: metasim.Config{Delays: fixed{"ALL": ms}, Until: metasim.Time(steps) * ms}}
			for i := range n {
				w.actors = append(w.actors, worker(fmt.Sprintf("w%03d", i), int64(1+i%7)*us))
			}
			src := record(b, w)
			b.ReportAllocs()
			var grants uint64
			for b.Loop() {
				src.Journal = &memoryJournal{entries: w.entries}
				tl, err := trace.Read(src)
				require.NoError(b, err)
				r := report.New(tl)
				require.NoError(b, r.Predict(predict.New(tl)))
				require.NoError(b, r.WriteText(io.Discard, report.Style{Width: 80}))
				grants = r.Grants
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(grants), "ns/grant")
		})
	}
}
