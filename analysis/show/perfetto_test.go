package show

import (
	"bytes"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/analysis/trace"
	"metasim/internal/golden"
	"metasim/metasim"
)

// traceOf returns the trace of a timeline, read too.
func traceOf(t require.TestingT, tl *trace.Timeline) ([]byte, *readTrace) {
	var b bytes.Buffer
	events, err := Perfetto(&b, tl)
	require.NoError(t, err)
	r := read(t, b.Bytes())
	require.Len(t, r.all, events)
	return b.Bytes(), r
}

// What protoc reads of it by Perfetto's schema, without a field that the schema does not have.
func TestATraceIsOfPerfettosForm(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: no protoc, so nobody reads the trace by its schema")
	}
	decode := func(b []byte) string {
		cmd := exec.Command(protoc, "--decode=perfetto.protos.Trace", "--proto_path=testdata", "testdata/trace.proto")
		cmd.Stdin = bytes.NewReader(b)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Empty(t, regexp.MustCompile(`(?m)^\s*\d+[: ]`).FindAll(out, 3), "fields that the schema does not have")
		return string(out)
	}
	tl, _ := robot(t)
	b, _ := traceOf(t, tl)
	require.Contains(t, decode(b), "compressed_packets")
	text := decode(unpack(t, b))
	golden.Equal(t, "testdata/robot.trace.txt", text)
	for _, want := range []string{`name: "for planner"`, `name: "computes (critical)"`, `name: "sends PLAN"`, "type: TYPE_COUNTER"} {
		require.Contains(t, text, want)
	}
}

// What is read of a trace is what a plain look at the timeline says, track by track: of a run, of one that takes several
// parcels, and of anything that might be one.
func TestATraceSaysWhatHappened(t *testing.T) {
	check := func(t require.TestingT, tl *trace.Timeline) {
		_, r := traceOf(t, tl)
		require.Equal(t, plainly(tl), r.tracks)
	}
	tl, _ := robot(t)
	check(t, tl)
	check(t, answering(2000))
	rapid.Check(t, func(t *rapid.T) { check(t, anyTimeline(t)) })
}

// What a query sums up of the slices on the critical path is what the table of clients says.
func TestCriticalSlicesAddUp(t *testing.T) {
	tl, report := robot(t)
	_, r := traceOf(t, tl)
	total := 0.0
	for _, c := range report.Clients {
		sum, open := int64(0), false
		for _, e := range r.tracks["/Wall clock/"+c.Name] {
			switch {
			case e.kind == sliceBegin && e.name == "computes (critical)":
				sum, open = sum-e.at, true
			case e.kind == sliceEnd && open:
				sum, open = sum+e.at, false
			}
		}
		require.InDelta(t, c.CriticalS, trace.Seconds(sum), 1e-12, c.Name)
		total += c.CriticalS
	}
	require.InDelta(t, report.CriticalConservativeS, total, 1e-9)
}

// anyTimeline returns one with many things at one time, and some of them before the run began.
func anyTimeline(t *rapid.T) *trace.Timeline {
	some := func(most int) int64 { return int64(rapid.IntRange(0, most).Draw(t, "n")) }
	tl := &trace.Timeline{Names: []string{"a", "b", "c"}[:1+some(2)], Channels: []string{"C", "D"}, Begin: some(5)}
	tl.Starts = make([]trace.Start, len(tl.Names))
	tl.Paths = [][]metasim.Hop{{}, {{From: 0, To: 0, Channel: strings.Repeat("C", int(some(300))), Min: 5}}}
	anybody := func() metasim.ClientID { return metasim.ClientID(some(len(tl.Names) - 1)) }
	for who := range tl.Names {
		now, stands := tl.Begin*some(1), metasim.Time(0)
		if now > 0 {
			now += some(4)
			tl.Starts[who] = trace.Start{End: now, Work: anyWork(t, tl, metasim.ClientID(who), tl.Begin, now)}
		}
		for range some(5) {
			g := trace.Grant{Client: metasim.ClientID(who), Cause: anybody(), Polled: now}
			g.From.Time, g.Until.Time, g.Holds[0] = stands, stands+9, int32(len(tl.Holds))
			for range some(2) {
				h := trace.Hold{Begin: now, End: now + some(2), Root: anybody(), Path: int32(some(2)) - 1}
				now = h.End
				tl.Holds = append(tl.Holds, h)
			}
			g.Granted, g.Holds[1] = now, int32(len(tl.Holds))
			now, stands = now+some(6), stands+metasim.Time(some(3))
			g.Reported = now
			g.Work = anyWork(t, tl, g.Client, g.Granted, g.Reported)
			tl.Grants = append(tl.Grants, g)
		}
	}
	for range some(6) {
		m := trace.Message{LinkID: trace.LinkID{From: anybody(), To: anybody(), Channel: uint32(some(1))}, Size: uint32(some(9)), Queued: some(20)}
		m.Sent.Time = metasim.Time(some(9))
		m.Due.Time = m.Sent.Time + metasim.Time(some(3))
		m.Delivered = some(1) * (m.Queued + some(3))
		tl.Messages = append(tl.Messages, m)
	}
	tl.End = tl.Begin + some(40)
	tl.Profile = []trace.Sample{{End: tl.End, Now: 12, Running: 0.5}}
	return tl
}

// anyWork puts parts of the critical path between begin and end, and returns how long the client works there: that, and perhaps more.
func anyWork(t *rapid.T, tl *trace.Timeline, c metasim.ClientID, begin, end int64) (work int64) {
	for at := begin; at < end; at++ {
		switch rapid.IntRange(0, 3).Draw(t, "nanosecond") {
		case 0:
			tl.Critical = append(tl.Critical, trace.Part{Client: c, Begin: at, End: at + 1})
			work++
		case 1:
			work++
		}
	}
	return work
}

// A message of any length stands in another as it would if its length had been known before.
func TestMessagesInMessages(t *testing.T) {
	for _, length := range []int{0, 1, 127, 128, 129, 1<<14 - 1, 1 << 14, 1<<21 + 1} {
		content := bytes.Repeat([]byte{7}, length)
		m, inner := message("before").open(eventAnnotation)
		require.True(t, bytes.Equal(message("before").bytes(eventAnnotation, content), append(m, content...).close(inner)), length)
	}
}

// On each track slices nest and time does not go back.
func TestSlicesNest(t *testing.T) {
	tl, _ := robot(t)
	_, r := traceOf(t, tl)
	for name, events := range r.tracks {
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
	run, _ := robot(t)
	for _, tl := range []*trace.Timeline{run, {
		Names: []string{"first", "second"}, Channels: []string{"C"}, End: 10,
		Messages: []trace.Message{{LinkID: trace.LinkID{From: 1, To: 0}, Queued: 5, Delivered: 5}, {LinkID: trace.LinkID{From: 0, To: 1}, Queued: 5, Delivered: 5}},
	}} {
		_, r := traceOf(t, tl)
		begun, ended := map[uint64]bool{}, map[uint64]bool{}
		for _, e := range r.inOrder() {
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

// A thousand messages that arrive at once do not fill the screen.
func TestMessagesArePiledSoHighOnly(t *testing.T) {
	tl := &trace.Timeline{Names: []string{"a", "b"}, Channels: []string{"C"}, End: 10}
	for range 1000 {
		tl.Messages = append(tl.Messages, trace.Message{LinkID: trace.LinkID{From: 0, To: 1}, Queued: 5, Delivered: 5})
	}
	_, r := traceOf(t, tl)
	require.Equal(t, maxStacked, r.height())
	require.Equal(t, plainly(tl), r.tracks)
}

// A disk that is full is told.
func TestATraceThatCannotBeWritten(t *testing.T) {
	tl, _ := robot(t)
	full := errors.New("full")
	_, err := Perfetto(failing{full}, tl)
	require.ErrorIs(t, err, full)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
