package record_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/record/past"
	"metasim/wire"
	"metasim/wire/session"
)

// small is a run with a short journal.
const small = `name: small
until: 20ms
clients:
  - {name: ping, model: ping, with: {rounds: 3, out: PING, in: PONG}}
  - {name: pong, model: echo, with: {in: PING, out: PONG}}
links:
  - {delay: 1ms}
`

// health examines a run, and returns what is said of one of its files.
func health(t *testing.T, dir, file string) (*record.Health, record.FileHealth) {
	t.Helper()
	h, err := record.Examine(dir, false)
	require.NoError(t, err)
	for _, f := range h.Files {
		if f.File == file {
			return h, f
		}
	}
	return h, record.FileHealth{}
}

// A bit that is wrong in any byte of any file is found, and so is a file that ends too early. The journal is good up to the last record
// before it, and every instant of that is told.
func TestExamineFindsEachDamage(t *testing.T) {
	dir := carryOut(t, parse(t, small)).RunDir
	h, whole := health(t, dir, "journal")
	require.Equal(t, record.Whole, h.Worst())
	require.EqualValues(t, metasim.At(6_000_000), *whole.Until)
	for file, stride := range map[string]int{"journal": 5, "manifest.json": 13, "index": 13} { // package journal tries every bit
		path := filepath.Join(dir, file)
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		last := int64(0)
		for i := 0; i < len(good); i += stride {
			damaged := bytes.Clone(good)
			damaged[i] ^= 1 << (i % 8)
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			h, f := health(t, dir, file)
			require.Equal(t, record.Damaged, h.Worst(), "%s, byte %d", file, i)
			require.Equal(t, record.Damaged, f.State, "%s, byte %d", file, i)
			require.LessOrEqual(t, f.Good, int64(i), "what is damaged is not good")
			require.GreaterOrEqual(t, f.Good, last, "what is before the damage is good")
			last = f.Good
			require.NoError(t, os.WriteFile(path, good[:i], 0o600))
			h, f = health(t, dir, file)
			require.Equal(t, record.Damaged, f.State, "%s, cut at %d", file, i)
			require.Equal(t, record.Damaged, h.Worst())
			require.LessOrEqual(t, f.Good, int64(i))
		}
		require.NoError(t, os.WriteFile(path, good, 0o600))
	}
	h, _ = health(t, dir, "journal")
	require.Equal(t, record.Whole, h.Worst(), "it is as it was")
}

// A run that was killed has no end, and is good as far as it goes, wherever its journal ends.
func TestExamineOfARunThatWasKilled(t *testing.T) {
	dir := carryOut(t, parse(t, small)).RunDir
	require.NoError(t, os.Remove(filepath.Join(dir, "index")))
	edit(t, dir, func(m *journal.Manifest) {
		m.Digests, m.OK, m.Error = journal.Digests{}, false, "the run has not ended"
	})
	good, err := os.ReadFile(filepath.Join(dir, "journal"))
	require.NoError(t, err)
	write := func(b []byte) { require.NoError(t, os.WriteFile(filepath.Join(dir, "journal"), b, 0o600)) }
	for cut := 0; cut <= len(good); cut += 3 {
		write(good[:cut])
		h, f := health(t, dir, "journal")
		require.Equal(t, record.CutOff, f.State, "cut at %d: %s", cut, f.Note)
		require.Equal(t, record.CutOff, h.Worst())
		require.LessOrEqual(t, f.Good, int64(cut))
		require.Equal(t, "part", h.Uses[0].Can)
	}
	write(append(bytes.Clone(good), make([]byte, 100_000)...))
	_, f := health(t, dir, "journal")
	require.Equal(t, record.CutOff, f.State, "a host that went down may leave zeros")
	write(append(append(bytes.Clone(good), make([]byte, 100_000)...), 1))
	_, f = health(t, dir, "journal")
	require.Equal(t, record.Damaged, f.State)
}

// A bit that is wrong anywhere in a checkpoint is found, and one that is cut off; and it is said of one of another client, of another run or ahead of the journal.
func TestExamineOfCheckpoints(t *testing.T) {
	dir := carryOut(t, parse(t, small)).RunDir
	edit(t, dir, func(m *journal.Manifest) {
		m.Digests, m.OK, m.Error = journal.Digests{}, false, "the run has not ended"
	})
	d, err := journal.Open(dir)
	require.NoError(t, err)
	m, err := d.Manifest()
	require.NoError(t, err)
	keep := func(m *journal.Manifest, size int64) {
		saved := &session.Saved{Sent: 1, Checkpoint: wire.Checkpoint{Now: metasim.At(3_000_000), Cause: metasim.Infinity, State: []byte("so far")}}
		require.NoError(t, past.NewCheckpoints(past.In(d), m.Started.UnixNano()).Keep(1, size, saved))
	}
	keep(m, 100)
	const file = "checkpoints/1-1"
	h, f := health(t, dir, file)
	require.Equal(t, record.FileHealth{File: file, State: record.Whole, Size: f.Size, Note: "checkpoint 1 of pong, at 3ms"}, f)
	require.NotEqual(t, record.Damaged, h.Worst())
	path := filepath.Join(dir, file)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range good {
		damaged := bytes.Clone(good)
		damaged[i] ^= 1 << (i % 8) // package past tries every bit
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, f := health(t, dir, file)
		require.Equal(t, record.Damaged, f.State, "byte %d", i)
		require.NoError(t, os.WriteFile(path, good[:i], 0o600))
		h, f := health(t, dir, file)
		require.Equal(t, record.Damaged, f.State, "cut at %d", i)
		require.Contains(t, f.Note, "metasim resume begins at the one before, or at the start")
		require.Equal(t, record.Damaged, h.Worst())
	}
	require.NoError(t, os.WriteFile(path, good, 0o600))
	require.NoError(t, os.Rename(path, filepath.Join(dir, "checkpoints", "0-1")))
	_, f = health(t, dir, "checkpoints/0-1")
	require.Equal(t, record.Damaged, f.State)
	require.Contains(t, f.Note, "it is the checkpoint of client 1")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "checkpoints")))
	keep(m, 1<<40)
	_, f = health(t, dir, file)
	require.Equal(t, record.Whole, f.State)
	require.Contains(t, f.Note, "the journal lacks what led to it")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "checkpoints")))
	keep(&journal.Manifest{}, 100)
	_, f = health(t, dir, file)
	require.Equal(t, record.Damaged, f.State)
	require.Contains(t, f.Note, "it is a checkpoint of another run")
}

// A run that was nested in another one is examined with it.
func TestExamineOfANestedRun(t *testing.T) {
	dir, inside := carryOut(t, parse(t, lossy)).RunDir, carryOut(t, parse(t, small)).RunDir
	nested := filepath.Join(dir, record.NestedDir+"cell-0")
	require.NoError(t, os.CopyFS(nested, os.DirFS(inside)))
	h, f := health(t, dir, "nested-cell-0/journal")
	require.Equal(t, record.Whole, f.State)
	require.Positive(t, f.Records)
	require.Equal(t, record.Whole, h.Worst())
	path := filepath.Join(nested, "journal")
	damaged, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged[len(damaged)/2] ^= 1
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	h, f = health(t, dir, "nested-cell-0/journal")
	require.Equal(t, record.Damaged, f.State)
	require.Equal(t, record.Damaged, h.Worst())
}

// What is missing, what has no checksum, and what is another run's.
func TestExamineOfOtherFiles(t *testing.T) {
	dir, other := carryOut(t, parse(t, small)).RunDir, carryOut(t, parse(t, lossy)).RunDir
	require.NoError(t, os.Mkdir(filepath.Join(dir, "clients"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "clients", "ping.stdout"), []byte("hello"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.partial"), nil, 0o600))
	h, f := health(t, dir, "clients/ping.stdout")
	require.Equal(t, record.FileHealth{File: "clients/ping.stdout", State: record.Unchecked, Size: 5, Note: "it has no checksum"}, f)
	require.Equal(t, record.Whole, h.Worst())
	_, f = health(t, dir, "index.partial")
	require.Contains(t, f.Note, "was not written to its end")

	foreign, err := os.ReadFile(filepath.Join(other, "index"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index"), foreign, 0o600))
	_, f = health(t, dir, "index")
	require.Equal(t, record.Damaged, f.State)
	require.Contains(t, f.Note, "it is not that of this journal")

	require.NoError(t, os.Remove(filepath.Join(dir, "manifest.json")))
	h, f = health(t, dir, "journal")
	require.Equal(t, record.Whole, f.State, "its checksums alone say so")
	require.Equal(t, "no", h.Uses[0].Can)
	require.Contains(t, h.Uses[0].Why, "has no manifest")
	require.Equal(t, record.Damaged, h.Worst())

	require.NoError(t, os.Remove(filepath.Join(other, "journal")))
	h, f = health(t, other, "journal")
	require.Equal(t, record.Missing, f.State)
	require.Equal(t, "no", h.Uses[2].Can)
	_, err = record.Examine(filepath.Join(dir, "nowhere"), false)
	require.ErrorContains(t, err, "is no run")
}
