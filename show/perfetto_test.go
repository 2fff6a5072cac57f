package show

import (
	"bytes"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis"
)

func traceOf(t *testing.T) []byte {
	t.Helper()
	tl, _ := robot(t)
	var b bytes.Buffer
	require.NoError(t, Perfetto(&b, tl))
	return b.Bytes()
}

// What protoc reads of it by Perfetto's schema, without a field that the schema does not have.
func TestATraceIsOfPerfettosForm(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: no protoc, so nobody reads the trace by its schema")
	}
	cmd := exec.Command(protoc, "--decode=perfetto.protos.Trace", "--proto_path=testdata", "testdata/trace.proto")
	cmd.Stdin = bytes.NewReader(traceOf(t))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := string(out)
	require.Empty(t, regexp.MustCompile(`(?m)^\s*\d+[: ]`).FindAllString(text, 3), "fields that the schema does not have")
	golden(t, "robot.trace.txt", text)
	for _, want := range []string{`name: "for planner"`, `name: "computes (critical)"`, `name: "sends PLAN"`, "type: TYPE_COUNTER"} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 1, strings.Count(text, "sequence_flags: 1"))
}

// What is read of a trace is what a plain look at the timeline says, track by track.
func TestATraceSaysWhatHappened(t *testing.T) {
	tl, _ := robot(t)
	require.Equal(t, plainly(tl), read(t, traceOf(t)).tracks)
}

// On each track slices nest and time does not go back.
func TestSlicesNest(t *testing.T) {
	for name, events := range read(t, traceOf(t)).tracks {
		depth, at := 0, int64(0)
		for _, e := range events {
			require.GreaterOrEqual(t, e.at, at, name)
			at = e.at
			switch e.kind {
			case sliceBegin:
				depth++
			case sliceEnd:
				depth--
			}
			require.GreaterOrEqual(t, depth, 0, name)
			require.LessOrEqual(t, depth, 2, name)
		}
		require.Zero(t, depth, name)
	}
}

// A reader goes by time, and by the order of the file where that is the same: each arrow begins before it ends. Here one
// client hears from the next, whose track comes later, in the nanosecond in which that one spoke.
func TestArrowsBeginBeforeTheyEnd(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Perfetto(&b, &analysis.Timeline{
		Names: []string{"first", "second"}, Channels: []string{"C"}, End: 10,
		Messages: []analysis.Message{{From: 1, To: 0, Queued: 5, Delivered: 5}, {From: 0, To: 1, Queued: 5, Delivered: 5}},
	}))
	for _, trace := range [][]byte{b.Bytes(), traceOf(t)} {
		begun, ended := map[uint64]bool{}, map[uint64]bool{}
		for _, e := range read(t, trace).inOrder() {
			if e.arrow != 0 && !e.ends {
				require.False(t, begun[e.arrow])
				begun[e.arrow] = true
			}
			if e.ends {
				require.True(t, begun[e.arrow], "%+v", e)
				ended[e.arrow] = true
			}
		}
		require.NotEmpty(t, begun)
		require.Equal(t, begun, ended)
	}
}

// A disk that is full is told.
func TestATraceThatCannotBeWritten(t *testing.T) {
	tl, _ := robot(t)
	full := errors.New("full")
	require.ErrorIs(t, Perfetto(failing{full}, tl), full)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
