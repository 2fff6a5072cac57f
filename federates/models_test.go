package federates

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/metasim"
	"metasim/wire"
)

const ms = metasim.Millisecond

// every is a rule for all links.
func every(d metasim.Time) []delay.Rule {
	return []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(d)}}}
}

func TestCountedPayloads(t *testing.T) {
	assert.Equal(t, []byte{2, 1, 0, 0, 0, 0, 0, 0, 0, 0}, counted(0x102, 10))
	assert.Equal(t, []byte{2, 1, 0}, counted(0x102, 3))
	assert.Empty(t, counted(0x102, 0))
	spec, err := catalog.Lookup("source")
	require.NoError(t, err)
	size := spec.Params[len(spec.Params)-1]
	assert.Equal(t, "size", size.Name)
	assert.EqualValues(t, wire.MaxPayload, *size.Max)
}

func TestSourceAndSink(t *testing.T) {
	result, seen := testRun{rules: every(ms), parts: []part{
		{name: "a", model: "source", with: map[string]any{
			"channel": "A", "period": "10ms", "start": "3ms", "count": 3, "size": 9}},
		{name: "b", model: "sink", with: map[string]any{"channels": []any{"A", "A.*"}}},
	}}.mustRun(t)
	require.Len(t, seen, 3)
	for i, s := range seen {
		assert.Equal(t, metasim.At(3*ms+metasim.Time(i)*10*ms), s.Sent)
		assert.Equal(t, []byte{byte(i), 0, 0, 0, 0, 0, 0, 0, 0}, s.Payload)
	}
	assert.JSONEq(t, `{"sent":3}`, string(result["a"].Result))
	assert.Equal(t, metasim.At(23*ms), result["a"].End, "it leaves with the last message")
	assert.JSONEq(t, `{"received":3,"bytes":27}`, string(result["b"].Result), "two patterns, one message")
}

func TestASourceOfAWord(t *testing.T) {
	_, seen := testRun{rules: every(ms), parts: []part{
		{name: "a", model: "source", with: map[string]any{"channel": "A", "period": "10ms", "count": 2, "word": "cart-3"}},
		{name: "b", model: "sink", with: map[string]any{"channels": []any{"A"}}},
	}}.mustRun(t)
	require.Len(t, seen, 2)
	for _, s := range seen {
		assert.Equal(t, "cart-3", string(s.Payload))
	}
}

func TestSourceWithoutCountGoesOnToTheEnd(t *testing.T) {
	result, seen := testRun{until: 20 * ms, parts: []part{
		{name: "a", model: "source", with: map[string]any{"channel": "A", "period": "5ms"}},
		{name: "b", model: "sink", with: map[string]any{"channels": []any{"A"}}},
	}}.mustRun(t)
	assert.Len(t, seen, 4, "0, 5, 10 and 15 ms; the end is exclusive")
	assert.Equal(t, metasim.Start, seen[0].Sent)
	assert.JSONEq(t, `{"sent":4}`, string(result["a"].Result))
	assert.JSONEq(t, `{"received":4,"bytes":32}`, string(result["b"].Result))
}

func TestPingAndEcho(t *testing.T) {
	rules := append(every(5*ms), delay.Rule{From: "ponger", Spec: delay.Spec{Delay: delay.Constant(50 * ms)}})
	result, seen := testRun{rules: rules, parts: []part{
		{name: "pinger", model: "ping", with: map[string]any{"out": "PING", "in": "PONG", "rounds": 10, "size": 4}},
		{name: "ponger", model: "echo", with: map[string]any{"in": "PING", "out": "PONG"}},
	}}.mustRun(t)
	require.Len(t, seen, 20)
	for i, s := range seen {
		begin := metasim.Time(i/2) * 55 * ms
		want := metasim.At(begin)
		if i%2 == 1 {
			want = metasim.At(begin + 5*ms)
		}
		assert.Equal(t, want, s.Sent, "message %d", i)
		assert.Equal(t, uint32(i/2), binary.LittleEndian.Uint32(s.Payload), "it counts its sends")
	}
	assert.JSONEq(t, `{"rounds":10}`, string(result["pinger"].Result))
	assert.JSONEq(t, `{"echoed":10}`, string(result["ponger"].Result))
	assert.Equal(t, metasim.At(550*ms), result["pinger"].End)
	assert.EqualValues(t, 10, result["pinger"].Sent)
}

func TestPingWhoseAnswerIsLostLeavesAtLast(t *testing.T) {
	result, _ := testRun{parts: []part{
		{name: "pinger", model: "ping", with: map[string]any{"out": "PING", "in": "PONG", "rounds": 1}},
	}}.mustRun(t)
	assert.JSONEq(t, `{"rounds":0}`, string(result["pinger"].Result))
}

func TestRing(t *testing.T) {
	result, seen := testRun{until: 10 * ms, rules: every(ms), parts: []part{
		{name: "a", model: "ring", with: map[string]any{"in": "CA", "out": "AB", "first": true, "size": 3}},
		{name: "b", model: "ring", with: map[string]any{"in": "AB", "out": "BC"}},
		{name: "c", model: "ring", with: map[string]any{"in": "BC", "out": "CA"}},
	}}.mustRun(t)
	require.Len(t, seen, 9)
	for i, s := range seen {
		assert.Equal(t, metasim.At(metasim.Time(i+1)*ms), s.Due)
		assert.Equal(t, string("bca"[i%3]), s.to)
		assert.Equal(t, []byte{0, 0, 0}, s.Payload, "unchanged")
	}
	for _, name := range []string{"a", "b", "c"} {
		assert.JSONEq(t, `{"hops":3}`, string(result[name].Result), name)
	}
}

// recordingConn is a connection to no server: it records what is written.
type recordingConn struct{ written []wire.Packet }

func (e *recordingConn) Read() ([]wire.Packet, error) { return nil, io.EOF }
func (e *recordingConn) Close() error                 { return nil }
func (e *recordingConn) Peer() string                 { return "nobody" }
func (e *recordingConn) Traffic() wire.Traffic        { return wire.Traffic{} }
func (e *recordingConn) WriteFrames(frames []byte) error {
	packets, err := wire.NewReader(bytes.NewReader(frames), "the model").Read()
	return errors.Join(err, e.Write(packets))
}

func (e *recordingConn) Write(p []wire.Packet) error {
	e.written = append(e.written, p...)
	return nil
}

// What scenarios are checked against is what clients then say.
func TestModelsDeclareWhatTheCatalogSays(t *testing.T) {
	env := catalog.Env{Name: "x-1", Entry: "x", Index: 1, Count: 3, Open: openBelow("../lcm/testdata")}
	for name, with := range enough {
		in, err := catalog.Make(name, with, env)
		require.NoError(t, err, name)
		m, err := New(name, with, env)
		require.NoError(t, err, name)
		b := client.NewBuilder("x-1")
		require.NoError(t, m.Declare(b), name)
		conn := &recordingConn{}
		_, err = b.Complete(t.Context(), client.WithConn(conn))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NotEmpty(t, conn.written)
		hello, ok := conn.written[0].Body.(wire.Hello)
		require.True(t, ok)
		assert.ElementsMatch(t, in.Ports.Publications, hello.Publications, name)
		assert.ElementsMatch(t, in.Ports.Subscriptions, hello.Subscriptions, name)
	}
}

// A model that is described can be made, and the other way round.
func TestTheCatalogAndTheModelsAgree(t *testing.T) {
	var described []string
	for _, s := range catalog.Models() {
		described = append(described, s.Name)
	}
	made := slices.Sorted(maps.Keys(models))
	made = slices.Sorted(slices.Values(slices.AppendSeq(made, maps.Keys(savers))))
	assert.Equal(t, described, made, "list a model in package catalog and in package federates, in order of name")
}

func TestNewRefusesWhatTheCatalogRefuses(t *testing.T) {
	_, err := New("ping", map[string]any{"rounds": -1}, catalog.Env{})
	var all catalog.ParamErrors
	require.True(t, errors.As(err, &all))
	assert.Len(t, all, 3)
}

// enough is a set of parameters that makes each model.
var enough = map[string]map[string]any{
	"source":              {"channel": "A", "period": "5ms"},
	"sink":                {"channels": []any{"A", "B.*"}},
	"echo":                {"in": "A", "out": "B"},
	"ping":                {"in": "A", "out": "B", "rounds": 10},
	"ring":                {"in": "A", "out": "B", "first": true},
	"phold":               {"lps": 8, "population": 2, "remote": 0.5, "mean": "1ms", "lookahead": "100us"},
	"lcmlog":              {"file": "real.lcmlog"},
	"bridge":              {"url": "udpm://:7700", "in": []any{"A"}, "out": []any{"B.*"}},
	"cartpole-plant":      {},
	"cartpole-estimator":  {},
	"cartpole-controller": {},
}

// Whatever a scenario says, it is taken or refused in words.
func FuzzWith(f *testing.F) {
	f.Add("phold", `{"lps": 8, "population": 1e0, "remote": 0.5, "mean": "1ms", "lookahead": "1us"}`)
	f.Add("sink", `{"channels": ["A", 1, null, ""]}`)
	f.Add("cartpole-plant", `{"sample": "7ms", "angle": 1e300}`)
	f.Fuzz(func(t *testing.T, model, with string) {
		var written map[string]any
		if json.Unmarshal([]byte(with), &written) != nil {
			return
		}
		_, err := catalog.Make(model, written, catalog.Env{Entry: "x", Count: 2})
		if err == nil {
			_, err = New(model, written, catalog.Env{Entry: "x", Count: 2})
			require.NoError(t, err)
			return
		}
		if _, unknown := catalog.Lookup(model); unknown != nil {
			return
		}
		var wrong catalog.ParamErrors
		require.ErrorAs(t, err, &wrong)
		for _, p := range wrong {
			assert.NotEmpty(t, p.Model)
			assert.NotEmpty(t, p.Wrong)
			assert.NotEmpty(t, p.Remedy)
		}
	})
}
