package compare_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/compare"
	"metasim/record/journal"
)

func runs(t testing.TB, a, b string) *compare.Verdict {
	t.Helper()
	v, err := compare.Runs(a, b, nil)
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
	require.JSONEq(t, `{"equal":true,"first":null,"culprit":"","culprit_instant":null,"notes":[]}`, string(text))
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
		"equal": false,
		"first": {
			"instant": [7530299, 0], "to": "c001", "from": "c000", "channel": "c001",
			"a": {"from": "c000", "channel": "c001", "seq": 3, "sent": [6503674, 0], "due": [7530299, 0], "size": 8, "payload": "DqqXIJnh+qU="},
			"b": {"from": "c000", "channel": "c001", "seq": 3, "sent": [6503674, 0], "due": [7530299, 0], "size": 8, "payload": "D6qXIJnh+qU="}
		},
		"culprit": "c000", "culprit_instant": [6503674, 0], "notes": []
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
		require.Contains(t, v.Notes[0], "was killed, and is compared as far as it was recorded")
		require.True(t, runs(t, b, b).Equal)
	}
	w.fault = fault{client: "c002", after: 300, kind: "payload"}
	b, done, at := w.record(t)
	require.True(t, done)
	kill(t, b, 0.9)
	v := runs(t, b, a)
	require.Equal(t, "c002", v.Culprit)
	require.Equal(t, at, metasim.Instant(*v.CulpritAt))
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
	require.Contains(t, v.Notes[0], "is damaged, and is compared as far as it is good: the journal is good up to byte")
}

// TestOtherClients: a client that one run alone has is named, and the others are compared.
func TestOtherClients(t *testing.T) {
	w := world{clients: 3, sends: 300, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	b, _, _ := w.record(t)
	amend(t, b, func(m *journal.Manifest) { m.Clients[1] = "c001x" })
	v := runs(t, a, b)
	require.Contains(t, v.Notes, `A has a client "c001", and B has not: it is not compared`)
	require.Contains(t, v.Notes, `B has a client "c001x", and A has not: it is not compared`)
}

func TestRefuses(t *testing.T) {
	w := world{clients: 2, sends: 30, order: 1, seed: 1, size: 8}
	a, _, _ := w.record(t)
	_, err := compare.Runs(a, t.TempDir(), nil)
	require.ErrorContains(t, err, "is no run")
	b, _, _ := w.record(t)
	file := filepath.Join(b, "journal")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text[8] = 7
	require.NoError(t, os.WriteFile(file, append(text, 0), 0o644))
	var version *journal.VersionError
	_, err = compare.Runs(a, b, nil)
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
