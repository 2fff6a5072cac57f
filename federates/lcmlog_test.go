package federates

import (
	"bytes"
	"io"
	"io/fs"
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
