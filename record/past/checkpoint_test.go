package past

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/foldhash"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/wire"
	"metasim/wire/session"
)

// journaled is a run of client 1, which was given and has sent so many messages, one at each nanosecond.
func journaled(t *testing.T, messages int) (dir journal.Dir, size int64, hashes []uint64) {
	t.Helper()
	dir, err := journal.Create(t.TempDir())
	require.NoError(t, err)
	w, err := dir.NewJournal([]string{"a", "b"})
	require.NoError(t, err)
	hashes = []uint64{foldhash.Seed}
	for i := range metasim.Time(messages) {
		at := metasim.At(i + 1)
		m := metasim.Message{From: 0, Seq: uint64(i), Channel: "IN", Sent: at, Due: at, Payload: []byte{byte(i)}}
		require.NoError(t, w.Observe(0, &metasim.Send{Client: 0, Channel: "IN", Sent: at, Payload: m.Payload}, []metasim.Effect{&metasim.Queue{To: 1, Message: m}}))
		require.NoError(t, w.Observe(0, nil, []metasim.Effect{
			&metasim.Deliver{To: 1, Number: uint64(i + 1), Message: m}, &metasim.Authorize{To: 1, Until: metasim.At(i + 2)},
		}))
		send := &metasim.Send{Client: 1, Channel: "OUT", Sent: at, Payload: []byte(fmt.Sprint(i))}
		hashes = append(hashes, foldhash.Word(hashes[i], metasim.HashSend(send.Sent, send.Channel, send.Payload)))
		require.NoError(t, w.Observe(0, send, nil))
	}
	size, written := w.Mark()
	require.NoError(t, written())
	require.NoError(t, w.Close())
	return dir, size, hashes
}

func ofRun(dir journal.Dir, began int64) *Checkpoints {
	return NewCheckpoints(In(dir), began)
}

func in(dir journal.Dir, file string) string { return dir.File("checkpoints/" + file) }

// after is the checkpoint after so many messages.
func after(n int, hashes []uint64) *session.Saved {
	return &session.Saved{Sent: uint64(n), Sends: hashes[n], Checkpoint: wire.Checkpoint{
		Now: metasim.At(metasim.Time(n)), Acked: uint64(n), Cause: metasim.Infinity, State: []byte("so far"),
	}}
}

// whole reads a past to its end.
func whole(t *testing.T, dir journal.Dir, size int64, c *Checkpoints) (all *session.Past, unfit []string) {
	t.Helper()
	p := NewReader(1, func() (Source, error) { return NewScan(dir, nil).Open(1, size) })
	complain := func(err error) { unfit = append(unfit, err.Error()) }
	p.From(func() []*Kept { return c.Last(1, size, complain) }, complain)
	defer func() { require.NoError(t, p.Close()) }()
	all = &session.Past{Client: 1}
	for first := true; ; first = false {
		part, last, err := p.Next()
		require.NoError(t, err)
		if first {
			all.Begin = part.Begin
		}
		all.Append(part)
		if last {
			return all, unfit
		}
	}
}

const messages = 2000

// TestAPastBeginsAtTheLastCheckpoint: with what follows, and nothing before.
func TestAPastBeginsAtTheLastCheckpoint(t *testing.T) {
	dir, size, hashes := journaled(t, messages)
	c := ofRun(dir, 1)
	all, unfit := whole(t, dir, size, c)
	require.Nil(t, all.Begin)
	require.Empty(t, unfit)
	require.Equal(t, messages, all.Sends.Len())
	for _, n := range []int{0, 700, 1300, messages} {
		require.NoError(t, c.Keep(1, size, after(n, hashes)))
		all, unfit = whole(t, dir, size, ofRun(dir, 1))
		require.Empty(t, unfit)
		require.Equal(t, after(n, hashes), all.Begin)
		require.Equal(t, messages-n, all.Sends.Len())
		given := []*metasim.Deliver{}
		for _, g := range all.Given.All() {
			given = append(given, g.Messages...)
		}
		require.Len(t, given, messages-n)
		require.LessOrEqual(t, all.Given.Len(), messages-n+1)
		if n < messages {
			require.Equal(t, metasim.At(metasim.Time(n+1)), (*all.Sends.First()).Sent)
			require.EqualValues(t, n+1, given[0].Number)
		}
		require.True(t, n == messages || all.Clock == metasim.At(messages))
	}
	files, err := os.ReadDir(dir.File("checkpoints"))
	require.NoError(t, err)
	require.Len(t, files, 2, "the last two are kept")
}

// TestCheckpointsThatAreNotUsed: the one before is used, or none; and it is said why.
func TestCheckpointsThatAreNotUsed(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir journal.Dir, newest string, size int64, hashes []uint64)
		says  string
	}{
		"of another run": {func(t *testing.T, dir journal.Dir, _ string, size int64, hashes []uint64) {
			require.NoError(t, ofRun(dir, 2).Keep(1, size, after(900, hashes)))
		}, "it is a checkpoint of another run"},
		"of another client": {func(t *testing.T, dir journal.Dir, newest string, size int64, hashes []uint64) {
			require.NoError(t, ofRun(dir, 1).Keep(0, size, after(900, hashes)))
			require.NoError(t, os.Rename(dir.File("checkpoints/0-1"), newest))
		}, "it is the checkpoint of client 0"},
		"other messages": {func(t *testing.T, dir journal.Dir, _ string, size int64, hashes []uint64) {
			other := after(900, hashes)
			other.Sends++
			require.NoError(t, ofRun(dir, 1).Keep(1, size, other))
		}, "the checkpoint of client 1 at 900ns is not used: the journal has other messages before it"},
		"more messages": {func(t *testing.T, dir journal.Dir, _ string, size int64, hashes []uint64) {
			other := after(900, hashes)
			other.Sent = messages + 1
			require.NoError(t, ofRun(dir, 1).Keep(1, size, other))
		}, "is not used: "},
		"more deliveries": {func(t *testing.T, dir journal.Dir, _ string, size int64, hashes []uint64) {
			other := after(900, hashes)
			other.Acked = messages + 1
			require.NoError(t, ofRun(dir, 1).Keep(1, size, other))
		}, "is not used: "},
		"ahead of the journal": {func(t *testing.T, dir journal.Dir, _ string, size int64, hashes []uint64) {
			require.NoError(t, ofRun(dir, 1).Keep(1, size+1, after(900, hashes)))
		}, ""},
		"empty": {func(t *testing.T, _ journal.Dir, newest string, _ int64, _ []uint64) {
			require.NoError(t, os.Truncate(newest, 0))
		}, "it is no checkpoint"},
		"another version": {func(t *testing.T, _ journal.Dir, newest string, _ int64, _ []uint64) {
			b, err := os.ReadFile(newest)
			require.NoError(t, err)
			b[len(checkpointMagic)]++
			require.NoError(t, os.WriteFile(newest, b, 0o600))
		}, "it is a checkpoint of version 2, and this metasim knows 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, size, hashes := journaled(t, messages)
			k := ofRun(dir, 1)
			require.NoError(t, k.Keep(1, size, after(500, hashes)))
			require.NoError(t, k.Keep(1, size, after(800, hashes)))
			c.spoil(t, dir, in(dir, "1-0"), size, hashes) // number 2
			all, unfit := whole(t, dir, size, ofRun(dir, 1))
			if c.says == "" {
				require.Empty(t, unfit)
			} else {
				require.Len(t, unfit, 1)
				require.Contains(t, unfit[0], c.says)
			}
			require.NotNil(t, all.Begin)
			require.NotEqual(t, metasim.At(900), all.Begin.Now)
			require.Equal(t, messages-int(all.Begin.Sent), all.Sends.Len())
		})
	}
}

// TestEveryFlippedBitOfACheckpointIsFound: all of the past is used then.
func TestEveryFlippedBitOfACheckpointIsFound(t *testing.T) {
	dir, size, hashes := journaled(t, 10)
	c := ofRun(dir, 1)
	require.NoError(t, c.Keep(1, size, after(5, hashes)))
	path := in(dir, "1-1")
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	for bit := range 8 * len(good) {
		bad := append([]byte{}, good...)
		bad[bit/8] ^= 1 << (bit % 8)
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		all, unfit := whole(t, dir, size, c)
		require.Nil(t, all.Begin, "bit %d", bit)
		require.Len(t, unfit, 1)
		require.Equal(t, 10, all.Sends.Len())
	}
}

// TestForget: what a shorter journal lacks, and what is damaged.
func TestForget(t *testing.T) {
	dir, size, hashes := journaled(t, 10)
	c := ofRun(dir, 1)
	require.NoError(t, c.Forget(2, 0), "there are none")
	require.NoError(t, c.Keep(1, size-1, after(5, hashes)))
	require.NoError(t, c.Keep(1, size, after(6, hashes)))
	require.NoError(t, c.Keep(0, size, after(6, hashes)))
	require.NoError(t, os.WriteFile(in(dir, "0-0"), []byte("damage"), 0o600))
	require.NoError(t, c.Forget(2, size-1))
	left, err := filepath.Glob(dir.File("checkpoints/*"))
	require.NoError(t, err)
	require.Equal(t, []string{in(dir, "1-1")}, left)
}
