package show

import (
	"bytes"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
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

// fieldsOf takes a message apart.
func fieldsOf(t *testing.T, b []byte, tell func(n protowire.Number, v uint64, text []byte)) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		require.Positive(t, size)
		b = b[size:]
		var v uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, size = protowire.ConsumeFixed64(b)
		default:
			text, size = protowire.ConsumeBytes(b)
		}
		require.Positive(t, size)
		b = b[size:]
		tell(n, v, text)
	}
}

// On each track slices nest and time does not go back; each arrow has two ends; each track and parent is described first.
func TestSlicesNestAndArrowsEnd(t *testing.T) {
	type state struct {
		at    uint64
		depth int
	}
	tracks := map[uint64]*state{0: {}}
	begins, ends := map[uint64]int{}, map[uint64]int{}
	fieldsOf(t, traceOf(t), func(n protowire.Number, _ uint64, packet []byte) {
		require.EqualValues(t, tracePacket, n)
		var at uint64
		fieldsOf(t, packet, func(n protowire.Number, v uint64, body []byte) {
			switch n {
			case packetTimestamp:
				at = v
			case packetDescriptor:
				var uuid, parent uint64
				fieldsOf(t, body, func(n protowire.Number, v uint64, _ []byte) {
					switch n {
					case trackUUID:
						uuid = v
					case trackParent:
						parent = v
					}
				})
				require.NotContains(t, tracks, uuid)
				require.Contains(t, tracks, parent)
				tracks[uuid] = &state{}
			case packetEvent:
				var kind, uuid uint64
				fieldsOf(t, body, func(n protowire.Number, v uint64, _ []byte) {
					switch n {
					case eventType:
						kind = v
					case eventTrack:
						uuid = v
					case eventFlow:
						begins[v]++
					case eventTermination:
						ends[v]++
					}
				})
				s := tracks[uuid]
				require.NotNil(t, s)
				require.GreaterOrEqual(t, at, s.at)
				s.at = at
				switch kind {
				case sliceBegin:
					s.depth++
				case sliceEnd:
					s.depth--
				}
				require.GreaterOrEqual(t, s.depth, 0)
				require.LessOrEqual(t, s.depth, 2)
			}
		})
	})
	for uuid, s := range tracks {
		require.Zero(t, s.depth, uuid)
	}
	require.NotEmpty(t, begins)
	require.Equal(t, begins, ends)
}

// A disk that is full is told.
func TestATraceThatCannotBeWritten(t *testing.T) {
	tl, _ := robot(t)
	full := errors.New("full")
	require.ErrorIs(t, Perfetto(failing{full}, tl), full)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
