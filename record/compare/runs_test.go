package compare_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/compare"
	"metasim/record/journal"
)

func words(t testing.TB, v *compare.Verdict) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, v.WriteText(&text))
	return text.String()
}

func runs(t testing.TB, a, b string) *compare.Verdict {
	t.Helper()
	v, err := compare.Runs(a, b, compare.Options{})
	require.NoError(t, err)
	return v
}

var large = world{clients: 3, sends: 100_000, order: 1, seed: 1, size: 8}

// TestPlanted plants a fault of each kind in a long run, and finds its client and instant.
func TestPlanted(t *testing.T) {
	a, _, _ := large.record(t)
	for _, kind := range []string{"payload", "channel", "extra", "unheard", "missing", "leave"} {
		t.Run(kind, func(t *testing.T) {
			w := large
			w.order, w.fault = 2, fault{client: "c001", after: 23_456, kind: kind}
			b, done, at := w.record(t)
			require.True(t, done)
			v := runs(t, a, b)
			require.False(t, v.Equal)
			require.Equal(t, "c001", v.Culprit)
			require.Equal(t, at, metasim.Instant(*v.CulpritAt))
			require.False(t, metasim.Instant(v.First.At).Before(at))
			require.Empty(t, v.Notes)
			back := runs(t, b, a)
			require.Equal(t, v.First.A, back.First.B)
			require.Equal(t, v.Culprit, back.Culprit)
		})
	}
	w := large
	w.order = 2
	b, _, _ := w.record(t)
	v := runs(t, a, b)
	require.True(t, v.Equal)
	require.Nil(t, v.First)
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, `{"equal":true,"until":null,"changes":[],"first":null,"differ":[],"cause":"","culprit":"","culprit_instant":null,"notes":[]}`, string(text))
}

// TestMessages shows the JSON of a divergence.
func TestMessages(t *testing.T) {
	small := world{clients: 2, sends: 40, order: 1, seed: 1, size: 8}
	a, _, _ := small.record(t)
	small.fault = fault{client: "c000", after: 3, kind: "payload"}
	b, _, _ := small.record(t)
	text, err := json.Marshal(runs(t, a, b))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"equal": false, "until": null, "changes": [],
		"first": {
			"instant": [7530299, 0], "to": "c001", "from": "c000", "channel": "c001",
			"a": {"from": "c000", "channel": "c001", "seq": 3, "sent": [6503674, 0], "due": [7530299, 0], "size": 8, "payload": "DqqXIJnh+qU="},
			"b": {"from": "c000", "channel": "c001", "seq": 3, "sent": [6503674, 0], "due": [7530299, 0], "size": 8, "payload": "D6qXIJnh+qU="}
		},
		"differ": ["deliveries", "sends"], "cause": "client", "culprit": "c000", "culprit_instant": [6503674, 0], "notes": []
	}`, string(text))
}

// kill turns a run into one that was killed: its journal is cut, and its manifest does not have the end.
func kill(t testing.TB, path string, part float64) {
	t.Helper()
	file := filepath.Join(path, "journal")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(file, int64(float64(info.Size())*part)))
	require.NoError(t, os.Remove(filepath.Join(path, "index")))
	amend(t, path, func(m *journal.Manifest) { m.OK, m.Error, m.Digest = false, "the run has not ended", "" })
}

func amend(t testing.TB, path string, change func(m *journal.Manifest)) {
	t.Helper()
	d, err := journal.Open(path)
	require.NoError(t, err)
	m, err := d.Manifest()
	require.NoError(t, err)
	change(m)
	require.NoError(t, d.WriteManifest(m))
}

// TestKilled: a run that was killed is compared as far as it was recorded, and what is missing is not a difference.
func TestKilled(t *testing.T) {
	w := world{clients: 3, sends: 3000, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	w.order = 2
	for _, part := range []float64{0.1, 0.5, 0.9, 0.999} {
		b, _, _ := w.record(t)
		kill(t, b, part)
		v := runs(t, a, b)
		require.True(t, v.Equal)
		require.Positive(t, metasim.Instant(*v.Until).Time)
		require.Equal(t, fmt.Sprintf("equal as far as recorded, until %v\n", v.Until), words(t, v))
		one, two := read(t, a), read(t, b)
		for name := range one.in {
			require.Equal(t, before(one.in[name], *v.Until), before(two.in[name], *v.Until), "all that happened before is in both")
			require.Equal(t, before(one.out[name], *v.Until), before(two.out[name], *v.Until))
		}
		require.Contains(t, v.Notes[0], "was killed, and is compared as far as it was recorded")
		require.True(t, runs(t, b, b).Equal)
		require.NotNil(t, runs(t, b, b).Until)
	}
	w.fault = fault{client: "c002", after: 300, kind: "payload"}
	b, done, at := w.record(t)
	require.True(t, done)
	kill(t, b, 0.9)
	v := runs(t, b, a)
	require.Equal(t, "c002", v.Culprit)
	require.Equal(t, at, metasim.Instant(*v.CulpritAt))
}

// before is what occurred before an instant.
func before(all []occurrence, at record.Instant) []occurrence {
	i := slices.IndexFunc(all, func(o occurrence) bool { return !o.at.Before(metasim.Instant(at)) })
	if i < 0 {
		return all
	}
	return all[:i]
}

// TestFailed: a note says in a line why a run failed.
func TestFailed(t *testing.T) {
	w := world{clients: 2, sends: 300, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	b, _, _ := w.record(t)
	amend(t, b, func(m *journal.Manifest) { m.OK, m.Error = false, "it did not go well\nlast output:\n  | no" })
	v := runs(t, a, b)
	require.True(t, v.Equal)
	require.Equal(t, []string{"B (" + b + ") failed, and is compared as far as it went: it did not go well"}, v.Notes)
}

// TestKilledAfterALeave: a client that has left sends nothing more, whenever its run was killed.
func TestKilledAfterALeave(t *testing.T) {
	w := world{clients: 3, sends: 3000, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	w.order, w.fault = 2, fault{client: "c002", after: 100, kind: "leave"}
	b, done, at := w.record(t)
	require.True(t, done)
	kill(t, b, 0.998)
	v := runs(t, a, b)
	require.Equal(t, "c002", v.Culprit)
	require.Equal(t, at, metasim.Instant(*v.CulpritAt))
	require.Equal(t, "c002", v.First.To, "it did not get what it did not wait for")
	require.Nil(t, v.First.B)
}

// TestDamaged: a journal that is damaged is compared as far as it is good; an index that is, is not needed.
func TestDamaged(t *testing.T) {
	w := world{clients: 3, sends: 3000, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	w.order = 2
	flip := func(path, file string) {
		file = filepath.Join(path, file)
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		b[len(b)/2] ^= 1
		require.NoError(t, os.WriteFile(file, b, 0o644))
	}
	b, _, _ := w.record(t)
	flip(b, "index")
	v := runs(t, a, b)
	require.True(t, v.Equal)
	require.Empty(t, v.Notes)
	flip(b, "journal")
	v = runs(t, a, b)
	require.True(t, v.Equal)
	require.Len(t, v.Notes, 1)
	require.Contains(t, v.Notes[0], "is damaged, and is compared as far as it is good: "+filepath.Join(b, "journal")+" is good up to byte")
}

// TestOtherClients: runs with other clients are compared only if that is wanted.
func TestOtherClients(t *testing.T) {
	w := world{clients: 3, sends: 300, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	b, _, _ := w.record(t)
	amend(t, b, func(m *journal.Manifest) { m.Clients[1] = "c001x" })
	_, err := compare.Runs(a, b, compare.Options{})
	var others *record.OtherClientsError
	require.ErrorAs(t, err, &others)
	require.Equal(t, []string{"c001"}, others.A)
	require.Equal(t, []string{"c001x"}, others.B)
	require.EqualError(t, err, `the runs do not have the same clients: only A has "c001", only B has "c001x"; `+
		"compare those that both have with --anyway")
	v, err := compare.Runs(a, b, compare.Options{Anyway: true})
	require.NoError(t, err)
	require.Contains(t, v.Notes, "only the clients that both runs have are compared")
	amend(t, b, func(m *journal.Manifest) {
		m.Clients = nil
		for i := range 7 {
			m.Clients = append(m.Clients, fmt.Sprint("x", i))
		}
	})
	_, err = compare.Runs(a, b, compare.Options{})
	require.ErrorContains(t, err, `only B has "x0", "x1", "x2", "x3", "x4" and 2 more`)
}

// TestChanges: in what two scenarios differ, whatever it is. Clients are told by their names.
func TestChanges(t *testing.T) {
	w := world{clients: 2, sends: 30, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	b, _, _ := w.record(t)
	amend(t, a, func(m *journal.Manifest) {
		m.Resolved = []byte(`{"seed":9007199254740993,"until":"1s","clients":[{"name":"p","with":{"x":"1, 2"}},{"name":"q"}],"links":[{"delay":"1ms"},{"delay":"2ms"}]}`)
	})
	amend(t, b, func(m *journal.Manifest) {
		m.Resolved = []byte(`{"seed":9007199254740992,"until":"1s","clients":[{"name":"r"},{"name":"q"},{"name":"p","with":{"x":"1"}}],"links":[{"delay":"1ms"},{"delay":"2.5ms"},{"delay":[1,"` + strings.Repeat("2", 100) + `"]}]}`)
	})
	v := runs(t, a, b)
	require.True(t, v.Equal)
	require.Equal(t, `the scenarios differ:
  clients.p.with.x: "1, 2", 1
  clients.r: nothing, {"name":"r"}
  links[1].delay: 2ms, 2.5ms
  links[2]: nothing, {"delay":[1,"22222222222222222222222222222222222222222222222...
  seed: 9007199254740993, 9007199254740992
equal
`, words(t, v))
	amend(t, b, func(m *journal.Manifest) { m.Resolved = nil })
	require.Contains(t, runs(t, a, b).Notes, "the manifests do not both hold their scenario, so it may not be the same")
}

// TestDamagedBehindItsIndex: an index says that two runs are equal, and one of the journals says something else, or cannot be read.
func TestDamagedBehindItsIndex(t *testing.T) {
	w := world{clients: 3, sends: 3000, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	b, _, _ := w.record(t)
	require.True(t, runs(t, a, b).Equal)
	file := filepath.Join(b, "journal")
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	require.NoError(t, os.WriteFile(file, bad, 0o644))
	v := runs(t, a, b)
	require.NotNil(t, v.Until, "it is equal as far as it is good, and no farther")
	require.Len(t, v.Notes, 1)
	require.Contains(t, v.Notes[0], "is damaged")

	require.NoError(t, os.WriteFile(file, good, 0o644))
	w.fault = fault{client: "c001", after: 300, kind: "payload"} // the journal of another run, in which one byte differs
	other, _, at := w.record(t)
	index, err := os.ReadFile(filepath.Join(a, "index"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(other, "index"), index, 0o644))
	v = runs(t, a, other)
	require.Equal(t, "c001", v.Culprit)
	require.Equal(t, at, metasim.Instant(*v.CulpritAt))
}

// FuzzIndex compares runs of which one has an index that was changed, with a checksum that is right.
func FuzzIndex(f *testing.F) {
	w := world{clients: 3, sends: 300, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(f)
	b, _, _ := w.record(f)
	good, err := os.ReadFile(filepath.Join(b, "index"))
	require.NoError(f, err)
	f.Add(uint16(21), uint64(0))
	f.Add(uint16(300), ^uint64(0))
	f.Add(uint16(100), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, at uint16, value uint64) {
		bad := bytes.Clone(good)
		binary.LittleEndian.PutUint64(bad[12+int(at)%(len(bad)-24):], value)
		sum := crc32.Checksum(bad[:len(bad)-4], crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(bad[len(bad)-4:], sum)
		require.NoError(t, os.WriteFile(filepath.Join(b, "index"), bad, 0o644))
		v, err := compare.Runs(a, b, compare.Options{})
		require.NoError(t, err)
		require.True(t, v.Equal, "the journals are equal")
	})
}

func TestRefuses(t *testing.T) {
	w := world{clients: 2, sends: 30, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	_, err := compare.Runs(a, t.TempDir(), compare.Options{})
	require.ErrorContains(t, err, "is no run")
	b, _, _ := w.record(t)
	file := filepath.Join(b, "journal")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text[8] = 7
	require.NoError(t, os.WriteFile(file, append(text, 0), 0o644))
	var version *journal.VersionError
	_, err = compare.Runs(a, b, compare.Options{})
	require.ErrorAs(t, err, &version)
	require.EqualValues(t, 7, version.Version)
}

// BenchmarkRuns compares two runs of 10^6 messages that differ in one of them: of few clients, of many, and as it would be
// without indexes, where both were killed.
func BenchmarkRuns(b *testing.B) {
	for _, c := range []struct {
		name    string
		clients int
		after   uint64 // c003's message that differs
		killed  bool
	}{{"few", 4, 123_456, false}, {"crowd", 250, 1234, false}, {"killed", 4, 123_456, true}} {
		b.Run(c.name, func(b *testing.B) {
			w := world{clients: c.clients, sends: 1_000_000, order: 1, seed: 1, size: 64}
			one, _, _ := w.record(b)
			w.order, w.fault = 2, fault{client: "c003", after: c.after, kind: "payload"}
			two, _, at := w.record(b)
			if c.killed {
				kill(b, one, 0.999)
				kill(b, two, 0.999)
			}
			for b.Loop() {
				require.Equal(b, at, metasim.Instant(*runs(b, one, two).CulpritAt))
			}
		})
	}
}
