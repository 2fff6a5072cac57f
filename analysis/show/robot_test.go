package show

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
	"metasim/record/journal"
)

// fixed gives each link the delay of its channel.
type fixed map[string]metasim.Time

func (f fixed) Link(_, _, channel string) metasim.Link { return steady(f[channel]) }

type steady metasim.Time

func (s steady) Min() metasim.Time                          { return metasim.Time(s) }
func (s steady) Earliest(x metasim.Instant) metasim.Instant { return x.Add(metasim.Time(s)) }
func (s steady) Transit(dues []metasim.Instant, _ uint64, sent metasim.Instant, _ int) []metasim.Instant {
	return append(dues, sent.Add(metasim.Time(s)))
}

// robot is a run of four clients: a camera, a slow planner, a base that steps and subscribes to both, and a logger. Its journal does not
// change, so its report does not change either.
func robot(t testing.TB) (*trace.Timeline, *report.Report) {
	t.Helper()
	f, err := os.Open("testdata/robot.journal")
	require.NoError(t, err)
	reader := journal.NewReader(f, nil)
	tl, err := trace.Read(trace.Source{
		Config: metasim.Config{
			Clients: []string{"a-logger-with-a-long-name", "base", "camera", "planner"},
			Delays:  fixed{"IMAGE": 2 * metasim.Millisecond, "ODOMETRY": metasim.Millisecond}, Until: 200 * metasim.Millisecond,
		},
		Journal: reader,
	})
	require.NoError(t, err)
	require.NoError(t, tl.Torn)
	r := report.New(tl)
	r.About(&journal.Manifest{Scenario: "robot", Digests: journal.Digests{Digest: strings.Repeat("0123456789abcdef", 4)}, Deterministic: true, OK: true})
	require.NoError(t, r.Predict(predict.New(tl)))
	return tl, r
}
