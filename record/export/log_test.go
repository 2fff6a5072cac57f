package export

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/lcm"
	"metasim/metasim"
	"metasim/scenarios"
)

// written exports a run's directory.
func written(t testing.TB, dir, format string) []byte {
	t.Helper()
	names, r := opened(t, dir)
	var out bytes.Buffer
	s := begin(t, format, &out, names)
	_, err := walkJournal(names, r, everyKind, s.Write)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return out.Bytes()
}

// events reads an event log that has no fault.
func events(t testing.TB, log []byte) (all []lcm.Event) {
	t.Helper()
	r := lcm.NewReader(bytes.NewReader(log))
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			require.Zero(t, r.Skipped())
			return all
		}
		require.NoError(t, err)
		all = append(all, ev)
	}
}

// The bytes are the scenario's: not the transport's, not the processors', not those of one repetition.
func TestEveryRepetitionGivesTheSameBytes(t *testing.T) {
	cartPole := shipped(t, "cart-pole")
	cartPole.Until = 3 * metasim.Second // of twenty, which show no more
	for name, sc := range map[string]*scenarios.Scenario{"mixed": parse(t, mixed), "cart-pole": cartPole} {
		t.Run(name, func(t *testing.T) {
			first := map[string][32]byte{}
			for _, how := range []struct {
				transport string
				procs     int
			}{{"mem", 1}, {"mem", 2}, {"mem", 8}, {"unix", 1}, {"unix", 8}} {
				dir := carryOut(t, sc, how.transport, how.procs)
				for _, format := range []string{"lcmlog", "delivered", "mcap"} {
					sum := sha256.Sum256(written(t, dir, format))
					if _, ok := first[format]; !ok {
						first[format] = sum
					}
					require.Equal(t, first[format], sum, "%s over %s with %d processors", format, how.transport, how.procs)
				}
			}
		})
	}
}

func TestLogOfPingPong(t *testing.T) {
	dir := carryOut(t, shipped(t, "ping-pong"), "mem", 2)
	sent := events(t, written(t, dir, "lcmlog"))
	require.Len(t, sent, 20)
	delivered := events(t, written(t, dir, "delivered"))
	require.Len(t, delivered, 20)
	for i := range 20 {
		round := int64(i / 2)
		want := lcm.Event{Number: int64(i), Time: 55_000 * round, Channel: "PING", Payload: sent[i].Payload}
		there := lcm.Event{Number: int64(i), Time: 55_000*round + 5_000, Channel: "PING@pinger>ponger", Payload: sent[i].Payload}
		if i%2 == 1 {
			want.Channel, want.Time = "PONG", want.Time+5_000
			there.Channel, there.Time = "PONG@ponger>pinger", 55_000*(round+1)
		}
		require.Equal(t, want, sent[i])
		require.Equal(t, there, delivered[i])
		require.EqualValues(t, round, sent[i].Payload[0])
	}
}

// A log that goes through a run comes out as it went in: what is written has the structure of what lcm-logger writes.
func TestARecordedLogComesOutAgain(t *testing.T) {
	real, err := os.ReadFile("../../lcm/testdata/real.lcmlog")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "real.lcmlog"), real, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("name: replay\nclients:\n"+
		"  - {name: player, model: lcmlog, with: {file: real.lcmlog}}\n"+
		"  - {name: all, model: sink, with: {channels: [\".*\"]}}\n"), 0o644))
	sc, _, err := scenarios.Load(filepath.Join(dir, "s.yaml"), scenarios.Overrides{})
	require.NoError(t, err)
	want := events(t, real)
	start := want[0].Time
	for i := range want {
		want[i].Time -= start
		want[i].Number = int64(i)
	}
	require.Equal(t, want, events(t, written(t, carryOut(t, sc, "mem", 2), "lcmlog")))
}

func TestLogOfOneClient(t *testing.T) {
	dir := carryOut(t, parse(t, mixed), "mem", 2)
	of := func(kind Kind, client string) (channels []string, n int, c Count) {
		names, r := opened(t, dir)
		var out bytes.Buffer
		v, err := newView(names, client)
		require.NoError(t, err)
		l := newEventLog(&out, v, kind, false)
		_, err = walkJournal(names, r, l.Kinds(), l.Write)
		require.NoError(t, err)
		require.NoError(t, l.Close())
		seen := map[string]bool{}
		for i, ev := range events(t, out.Bytes()) {
			require.EqualValues(t, i, ev.Number)
			if !seen[ev.Channel] {
				seen[ev.Channel] = true
				channels = append(channels, ev.Channel)
			}
			n++
		}
		return channels, n, l.Count()
	}
	channels, n, c := of(Sent, "b")
	assert.Equal(t, []string{"B"}, channels)
	assert.Equal(t, 400, n)
	assert.Equal(t, Count{Messages: 400, Empty: 400, Last: 399 * metasim.Millisecond}, c, "empty payloads are there, and counted")
	channels, _, _ = of(Delivered, "mirror")
	assert.Equal(t, []string{"A"}, channels, "a channel as it is, as it was for the client")
	channels, _, _ = of(Delivered, "all")
	assert.ElementsMatch(t, []string{"A", "B", "BACK", "PING"}, channels)
	_, err := newView([]string{"a"}, "z")
	assert.ErrorContains(t, err, `no client "z"; use a`)
}

// made is an occurrence between a and b.
func made(channel string, at metasim.Time) *occurrence {
	return &occurrence{Kind: Sent, Message: metasim.Message{Channel: channel, Sent: metasim.Instant{Time: at}}}
}

func TestALogRefusesWhatReadersRefuse(t *testing.T) {
	var out bytes.Buffer
	l := newEventLog(&out, whole(t, "a", "b"), Sent, false)
	for _, name := range []string{"", strings.Repeat("x", 256), "A\x00B"} {
		require.ErrorContains(t, l.Write(made(name, 0)), fmt.Sprintf("the name %.100q has %d bytes and does not fit event logs", name, len(name)))
	}
	assert.ErrorContains(t, l.Write(made(strings.Repeat("x", 300), 0)), "has 300 bytes")
	assert.ErrorContains(t, l.Write(made("A", metasim.Forever)), `a message of "a" on "A" is sent at forever`)
	require.NoError(t, l.Write(made(strings.Repeat("x", 255), 1999)))
	require.NoError(t, l.Write(made("A", metasim.Forever-1)))
	require.NoError(t, l.Close())
	evs := events(t, out.Bytes())
	require.Len(t, evs, 2)
	assert.EqualValues(t, 1, evs[0].Time, "rounded down")
	assert.EqualValues(t, math.MaxInt64/1000, evs[1].Time)
}

// What fails while a file is written is not swallowed.
func TestAFullDiskIsAnError(t *testing.T) {
	for _, format := range []string{"lcmlog", "mcap"} {
		dir := carryOut(t, shipped(t, "cart-pole"), "mem", 2)
		names, r := opened(t, dir)
		s := begin(t, format, &full{left: 1 << 14}, names)
		_, err := walkJournal(names, r, everyKind, s.Write)
		require.ErrorIs(t, errors.Join(err, s.Close()), errFull, format)
	}
}

var errFull = errors.New("the disk is full")

// full takes so many bytes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}
