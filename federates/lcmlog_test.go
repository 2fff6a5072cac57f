package federates

import (
	"bytes"
	"io"
	"io/fs"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/catalog"
	"metasim/lcm"
	"metasim/metasim"
)

const logs = "../lcm/testdata"

// logOf writes events as a log, with something else before each if junk is given.
func logOf(t *testing.T, junk string, events ...lcm.Event) []byte {
	var b bytes.Buffer
	w := lcm.NewWriter(&b)
	for _, e := range events {
		b.WriteString(junk)
		require.NoError(t, w.Write(e))
	}
	return b.Bytes()
}

// holding opens every file as the same bytes.
func holding(content []byte) catalog.Env {
	return catalog.Env{Open: func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// replay runs a log to a sink of everything.
func replay(t *testing.T, env catalog.Env, with map[string]any) (result string, seen []delivery) {
	results, seen := testRun{parts: []part{
		{name: "player", model: "lcmlog", with: with, env: env},
		{name: "sink", model: "sink", with: map[string]any{"channels": []any{".*"}}},
	}}.mustRun(t)
	return string(results["player"].Result), seen
}

func TestARealLogIsPublishedAsItWasRecorded(t *testing.T) {
	f, err := os.Open(logs + "/real.lcmlog")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	result, seen := replay(t, catalog.Env{Open: openBelow(logs)}, map[string]any{"file": "real.lcmlog"})
	assert.JSONEq(t, `{"published":8,"skipped_bytes":0}`, result)
	require.Len(t, seen, 8)
	r := lcm.NewReader(f)
	var first int64
	for i, s := range seen {
		e, err := r.Next()
		require.NoError(t, err)
		if i == 0 {
			first = e.Time
		}
		assert.Equal(t, e.Channel, s.Channel)
		assert.True(t, bytes.Equal(e.Payload, s.Payload))
		assert.Equal(t, metasim.Time(e.Time-first)*metasim.Microsecond, s.Sent.Time)
	}
}

func TestSpeedAndTimesThatGoBack(t *testing.T) {
	env := holding(logOf(t, "",
		lcm.Event{Time: 1000, Channel: "A"}, lcm.Event{Time: 4001, Channel: "A"},
		lcm.Event{Time: 2000, Channel: "B"}, lcm.Event{Time: 5000, Channel: "A"}))
	_, seen := replay(t, env, map[string]any{"file": "x", "speed": 2})
	var times []metasim.Time
	for _, s := range seen {
		times = append(times, s.Sent.Time)
	}
	assert.Equal(t, []metasim.Time{0, 1500500, 1500500, 2 * ms}, times, "B goes out at the latest time so far")
}

// times runs a log, and returns when each event was published.
func times(t *testing.T, with map[string]any, stamps ...int64) (result string, at []metasim.Time) {
	events := make([]lcm.Event, len(stamps))
	for i, s := range stamps {
		events[i] = lcm.Event{Number: int64(i), Time: s, Channel: "A", Payload: []byte{byte(i)}}
	}
	with["file"] = "x"
	result, seen := replay(t, holding(logOf(t, "", events...)), with)
	for _, s := range seen {
		at = append(at, s.Sent.Time)
	}
	return result, at
}

// One event with a time of another age loses nothing that follows; it is skipped and counted.
func TestStrayTimes(t *testing.T) {
	const now, century = 1_700_000_000_000_000, 100 * 365 * 24 * 3600 * 1_000_000
	want := []metasim.Time{0, ms, 2 * ms}
	for name, stamps := range map[string][]int64{
		"far ahead":         {now, now + 1000, now + century, now + 2000},
		"beyond all":        {now, now + 1000, math.MaxInt64, now + 2000},
		"back to 1970":      {now, 0, now + 1000, now + 2000},
		"before":            {now, now + 1000, math.MinInt64, now + 2000},
		"the first":         {0, now, now + 1000, now + 2000},
		"the first, later":  {now + century, now, now + 1000, now + 2000},
		"the last":          {now, now + 1000, now + 2000, now + century},
		"the last, earlier": {now, now + 1000, now + 2000, 0},
	} {
		result, at := times(t, map[string]any{}, stamps...)
		assert.Equal(t, want, at, name)
		assert.JSONEq(t, `{"published":3,"skipped_bytes":0,"stray_events":1}`, result, name)
	}
	result, at := times(t, map[string]any{}, now, now+century, now+century+1, 3, 4, now+1000, now+2000)
	assert.Equal(t, want, at, "several one after another")
	assert.JSONEq(t, `{"published":3,"skipped_bytes":0,"stray_events":4}`, result)
}

// When the recorder's clock was set back for good, what follows keeps its distances.
func TestAClockThatWasSet(t *testing.T) {
	const day = 24 * 3600 * 1_000_000
	stamps := []int64{10 * day, 10*day + 1000}
	for i := range int64(10) {
		stamps = append(stamps, 1000*i)
	}
	result, at := times(t, map[string]any{}, stamps...)
	require.Len(t, at, 12)
	assert.Equal(t, []metasim.Time{0, ms, ms, 2 * ms, 3 * ms}, at[:5])
	assert.JSONEq(t, `{"published":12,"skipped_bytes":0,"back_events":1}`, result)
}

// A log goes back in at its own times, as one that was made of a run.
func TestStart(t *testing.T) {
	for start, want := range map[string][]metasim.Time{
		"first": {0, 2 * ms}, "recorded": {5 * ms, 7 * ms}, "1s": {1000 * ms, 1002 * ms},
	} {
		_, at := times(t, map[string]any{"start": start}, 5000, 7000)
		assert.Equal(t, want, at, start)
	}
	_, at := times(t, map[string]any{"start": "1s", "speed": 2}, 5000, 7000)
	assert.Equal(t, []metasim.Time{1000 * ms, 1001 * ms}, at)
	result, at := times(t, map[string]any{"start": "recorded"}, -5, 7000)
	assert.Equal(t, []metasim.Time{7 * ms}, at)
	assert.JSONEq(t, `{"published":1,"skipped_bytes":0,"early_events":1}`, result)
	_, err := catalog.Make("lcmlog", map[string]any{"file": "x", "start": "now"}, catalog.Env{})
	assert.EqualError(t, err, `model lcmlog: start is "now", not first, recorded or a duration; write for example start: recorded`)
}

// A channel whose name is no UTF-8 cannot be in a run: its events are skipped and counted.
func TestNamesThatAreNoUTF8(t *testing.T) {
	env := holding(logOf(t, "", lcm.Event{Channel: "A"}, lcm.Event{Number: 1, Time: 5, Channel: "\xff\x00"}, lcm.Event{Time: 1000, Channel: "A"}))
	result, seen := replay(t, env, map[string]any{"file": "x"})
	assert.Len(t, seen, 2)
	assert.JSONEq(t, `{"published":2,"skipped_bytes":0,"unnamed_events":1}`, result)
	in, err := catalog.Make("lcmlog", map[string]any{"file": "x"}, env)
	require.NoError(t, err)
	require.Len(t, in.Doubts, 1)
	assert.ErrorContains(t, in.Doubts[0], `has events on channels whose names are no UTF-8: 1, the first event 1 on "\xff\x00"`)
}

func TestScaledTimes(t *testing.T) {
	assert.Equal(t, metasim.Time(1<<60+1), scaled(1<<60+1, 1), "exact")
	assert.Equal(t, metasim.Time(3), scaled(10, 3))
	assert.Equal(t, metasim.Forever, scaled(1<<60, 1e-6))
	assert.Equal(t, metasim.Forever, scaled(metasim.Forever, 2))
}

func TestDamageIsCounted(t *testing.T) {
	whole := logOf(t, "junk", lcm.Event{Time: 1, Channel: "A"}, lcm.Event{Time: 2, Channel: "A"})
	torn := logOf(t, "", lcm.Event{Time: 3, Channel: "A", Payload: make([]byte, 50)})
	result, seen := replay(t, holding(append(whole, torn[:40]...)), map[string]any{"file": "x"})
	assert.Len(t, seen, 2)
	assert.JSONEq(t, `{"published":2,"skipped_bytes":48}`, result)
}

func TestALogThatCannotBeRead(t *testing.T) {
	_, err := catalog.Make("lcmlog", map[string]any{"file": "none.lcmlog"}, catalog.Env{Open: openBelow(logs)})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, `file is "none.lcmlog", which cannot be read: `)
	_, err = catalog.Make("lcmlog", map[string]any{"file": "x"}, holding([]byte("name: no log at all")))
	assert.EqualError(t, err, `model lcmlog: file is "x", which holds no event of an LCM log; `+
		"name a log that lcm-logger wrote, relative to the scenario's directory")
	_, err = catalog.Make("lcmlog", map[string]any{"file": "x"}, catalog.Env{})
	assert.ErrorContains(t, err, "no files are open to this client")
}

func TestALogThatChangesUnderTheRun(t *testing.T) {
	before := logOf(t, "", lcm.Event{Time: 1, Channel: "A"})
	after := logOf(t, "", lcm.Event{Time: 1, Channel: "B"})
	opened := 0
	env := catalog.Env{Open: func(string) (io.ReadCloser, error) {
		opened++
		if opened == 1 {
			return io.NopCloser(bytes.NewReader(before)), nil
		}
		return io.NopCloser(bytes.NewReader(after)), nil
	}}
	_, _, err := testRun{parts: []part{{name: "p", model: "lcmlog", with: map[string]any{"file": "x"}, env: env}}}.run(t)
	assert.ErrorContains(t, err, `x: channel "B" was not there when the run began`)
}
