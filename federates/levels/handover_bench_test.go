package levels

import (
	"errors"
	"flag"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/world"
	"metasim/metasim"
	"metasim/record"
)

var runDir = flag.String("run-dir", "", "the directory of a run of a world with secondaries, whose hand-overs BenchmarkHandOvers times; run it with --run-ahead 0s, or one order is for several steps")

// An orderedStep is a step of a recorded world.
type orderedStep struct {
	iteration uint64
	move      map[string]string // by channel of orders: what a secondary was to move, as it is encoded
	acked     int64             // when the last acknowledgement came, in nanoseconds of wall clock
}

// addStep takes a message that a client sent, if it is an order or an acknowledgement. An order may have several steps: they count as one.
func addStep(steps []orderedStep, send metasim.Send, wall int64) ([]orderedStep, error) {
	switch {
	case strings.HasSuffix(send.Channel, "/order"):
		o, err := decodeOrder(slices.Clone(send.Payload))
		if err != nil {
			return nil, err
		}
		if n := len(steps); n == 0 || steps[n-1].iteration != o.info.Iteration {
			steps = append(steps, orderedStep{iteration: o.info.Iteration, move: map[string]string{}})
		}
		steps[len(steps)-1].move[send.Channel] = string(appendEntities(nil, o.move))
	case strings.HasSuffix(send.Channel, "/ack") && len(steps) > 0:
		steps[len(steps)-1].acked = wall
	}
	return steps, nil
}

// byHandOver returns how long steps took, in milliseconds, each from the last acknowledgement of the step before to its own: those in which a model has another secondary than in the step before, and the others.
func byHandOver(steps []orderedStep) (handovers, others []float64) {
	for i := 1; i < len(steps); i++ {
		took := float64(steps[i].acked-steps[i-1].acked) / 1e6
		if maps.Equal(steps[i].move, steps[i-1].move) {
			others = append(others, took)
		} else {
			handovers = append(handovers, took)
		}
	}
	slices.Sort(handovers)
	slices.Sort(others)
	return handovers, others
}

// How long a world waits where models are handed over, merged or split, beside the steps in which none is: from the journal of a run, by wall clock.
func BenchmarkHandOvers(b *testing.B) {
	if *runDir == "" {
		b.Skip("SKIPPED LOUDLY: no run is named whose hand-overs are timed; name its directory with -run-dir")
	}
	var steps []orderedStep
	for b.Loop() {
		steps = readSteps(b, *runDir)
	}
	handovers, others := byHandOver(steps)
	require.NotEmpty(b, handovers, "nothing is handed over in this run")
	require.NotEmpty(b, others)
	b.ReportMetric(0, "ns/op") // of reading
	for of, all := range map[string][]float64{"handover": handovers, "other": others} {
		b.ReportMetric(float64(len(all)), of+"s")
		b.ReportMetric(all[len(all)/2], of+"-median-ms")
		b.ReportMetric(all[len(all)*99/100], of+"-p99-ms")
		b.ReportMetric(all[len(all)-1], of+"-max-ms")
	}
}

// readSteps returns the steps of a recorded run.
func readSteps(b *testing.B, dir string) (steps []orderedStep) {
	run, err := record.Open(dir)
	require.NoError(b, err)
	j, err := run.OpenJournal()
	require.NoError(b, err)
	defer func() { require.NoError(b, j.Close()) }()
	for {
		e, err := j.Next()
		if errors.Is(err, io.EOF) {
			return steps
		}
		require.NoError(b, err)
		if send, ok := e.Event.(*metasim.Send); ok {
			steps, err = addStep(steps, *send, e.Wall)
			require.NoError(b, err)
		}
	}
}

// Of four steps the third one hands a model over: what counts is who moves what, from acknowledgement to acknowledgement.
func TestHandOversAreTimed(t *testing.T) {
	var steps []orderedStep
	send := func(wall int64, channel string, payload []byte, err error) {
		require.NoError(t, err)
		steps, err = addStep(steps, metasim.Send{Channel: channel, Payload: payload}, wall)
		require.NoError(t, err)
	}
	for n, move := range [][2][]ecm.Entity{{{2, 3}, {4}}, {{2, 3}, {4}}, {{2}, {3, 4}}, {{2}, {3, 4}}} {
		begun := int64(n*n) * 1e6
		for k, name := range []string{"world/a", "world/b"} {
			o := order{steps: 1, info: world.Info{Iteration: uint64(n + 1), Step: metasim.Millisecond}, move: move[k]}
			payload, err := o.append(nil)
			send(begun, name+"/order", payload, err)
		}
		send(begun+5e5, "world/b/ack", nil, nil)
		send(begun+9e5, "world/a/ack", nil, nil)
		send(begun+1e6, "world/hash", nil, nil)
	}
	handovers, others := byHandOver(steps)
	assert.Equal(t, []float64{3}, handovers)
	assert.Equal(t, []float64{1, 5}, others)
}
