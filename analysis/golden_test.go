package analysis_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/internal/golden"
	"metasim/metasim"
	"metasim/record/journal"
)

// fixedRun is a robot of three clients: a camera every 10 ms, a planner that is slow and answers, and a base that steps and
// subscribes to both; and a client that subscribes to a channel without a publisher.
func fixedRun() *world {
	camera := &actor{name: "camera", pubs: []string{"IMAGE"}, first: 10 * ms, act: func(at metasim.Instant, _ []metasim.Message) outcome {
		return outcome{work: 200 * us, sends: []string{"IMAGE"}, next: at.Time + 10*ms}
	}}
	planner := &actor{
		name: "planner", pubs: []string{"PLAN"}, subs: []string{"IMAGE"}, first: metasim.Forever,
		act: func(metasim.Instant, []metasim.Message) outcome {
			return outcome{work: 900 * us, sends: []string{"PLAN"}}
		},
	}
	base := &actor{
		name: "base", pubs: []string{"ODOMETRY"}, subs: []string{"PLAN", "IMAGE"}, first: 5 * ms, steps: true,
		act: func(at metasim.Instant, _ []metasim.Message) outcome {
			return outcome{work: 150 * us, sends: []string{"ODOMETRY"}, next: at.Time + 5*ms}
		},
	}
	idle := &actor{
		name: "a-logger-with-a-long-name", subs: []string{"ODOMETRY", "BATTERY"}, first: metasim.Forever,
		act: func(metasim.Instant, []metasim.Message) outcome { return outcome{work: 20 * us} },
	}
	return &world{
		actors: []*actor{camera, planner, base, idle}, flight: 10 * us, timed: true, cores: 2,
		config: metasim.Config{Delays: fixed{"IMAGE": 2 * ms, "PLAN": 0, "ODOMETRY": ms}, Until: 200 * ms},
	}
}

func TestGolden(t *testing.T) {
	tl, r := analyze(t, fixedRun())
	r.About(&journal.Manifest{
		Scenario: "robot", Digests: journal.Digests{Digest: strings.Repeat("0123456789abcdef", 4)}, Deterministic: true, OK: true,
		Traffic: &journal.Traffic{FramesIn: 150, FramesOut: 90, BytesIn: 6000, BytesOut: 4321, Wakeups: 140, RoundsS: 0.0021},
	})
	require.NoError(t, r.Predict(predict.New(tl)))
	for name, width := range map[string]int{"robot.80.txt": 80, "robot.160.txt": 160} {
		var b strings.Builder
		require.NoError(t, r.WriteText(&b, report.Style{Width: width, Explain: width == 160}))
		golden.Equal(t, "testdata/"+name, b.String())
		for line := range strings.SplitSeq(b.String(), "\n") {
			require.LessOrEqual(t, len(line), width, line)
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	golden.Equal(t, "testdata/"+"robot.json", string(text)+"\n")
}
