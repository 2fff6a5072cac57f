package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// starts returns where the records of a journal begin, and where it ends.
func starts(journal []byte) []int {
	at := []int{headerSize}
	for _, body := range bodies(journal) {
		at = append(at, at[len(at)-1]+frameSize+len(body))
	}
	return at
}

func TestATornTailIsReportedAndTheGoodPartRead(t *testing.T) {
	journal, want := write(t, story()...), story()
	at := starts(journal)
	good := 0
	for cut := range journal {
		if cut >= at[good+1] {
			good++
		}
		got, err := read(journal[:cut])
		require.Len(t, got, good, "cut at %d", cut)
		require.Equal(t, want[:good], append([]Entry{}, got...))
		if cut == at[good] {
			require.NoError(t, err, "nothing is torn between two records")
			continue
		}
		var torn *TornError
		require.ErrorAs(t, err, &torn, "cut at %d", cut)
		offset := at[good]
		if cut < headerSize {
			offset = 0
		}
		require.Equal(t, TornError{Offset: int64(offset), Records: int64(good), Reason: torn.Reason}, *torn)
		if cut == 0 {
			require.Empty(t, torn.Reason, "an empty file is of a run that was killed before its first write, not a damaged one")
			continue
		}
		require.Contains(t, torn.Reason, "ends inside")
	}
}

func TestEveryFlippedBitIsDetected(t *testing.T) {
	journal, want := write(t, story()...), story()
	at := starts(journal)
	good := 0
	for i := range journal {
		if i >= at[good+1] {
			good++
		}
		for bit := range 8 {
			damaged := bytes.Clone(journal)
			damaged[i] ^= 1 << bit
			got, err := read(damaged)
			require.Equal(t, want[:good], append([]Entry{}, got...), "byte %d", i)
			var torn *TornError
			var version *VersionError
			switch {
			case i < len(magic):
				require.ErrorIs(t, err, ErrNotJournal)
			case i < headerSize:
				require.ErrorAs(t, err, &version)
			default:
				require.ErrorAs(t, err, &torn, "byte %d bit %d", i, bit)
				require.Equal(t, int64(at[good]), torn.Offset)
				require.Equal(t, int64(good), torn.Records)
			}
		}
	}
}

func TestZerosAfterACrashAreNoRecords(t *testing.T) {
	journal := write(t, story()...)
	got, err := read(append(bytes.Clone(journal), make([]byte, 4096)...))
	assert.Equal(t, story(), got)
	assert.EqualError(t, err, fmt.Sprintf("the journal is good up to byte %d (13 records), and damaged from there on: "+
		"a record has 0 bytes, but 1 to 269484032 are allowed", len(journal)))
}

func TestTheErrorIsTheSameForEver(t *testing.T) {
	journal := write(t, story()...)
	r := NewReader(bytes.NewReader(journal[:len(journal)-1]), nil)
	for range len(story()) - 1 {
		_, err := r.Next()
		require.NoError(t, err)
	}
	_, first := r.Next()
	_, second := r.Next()
	require.Error(t, first)
	assert.Equal(t, first, second)
	r = NewReader(io.MultiReader(bytes.NewReader(journal[:40]), iotest.ErrReader(os.ErrPermission)), nil)
	for range 2 {
		_, err := r.Next()
		require.ErrorIs(t, err, os.ErrPermission)
	}
}

func TestOtherFilesAndVersionsAreRefusedClearly(t *testing.T) {
	_, err := read([]byte("PK\x03\x04 something else"))
	require.ErrorIs(t, err, ErrNotJournal)
	journal := write(t)
	binary.LittleEndian.PutUint32(journal[8:], 7)
	_, err = read(journal)
	assert.EqualError(t, err,
		"this journal has format 7, and this metasim reads format 1; read it with the metasim that wrote it")
	var torn *TornError
	_, err = read(journal[:headerSize-1])
	require.ErrorAs(t, err, &torn)
	assert.Equal(t, TornError{Reason: "the file ends inside the header"}, *torn)
	_, err = read(nil)
	require.ErrorAs(t, err, &torn)
	assert.Equal(t, TornError{}, *torn, "an empty file is of a run that was killed before its first write, not a damaged one")
}

// A length is believed only as far as bytes really come.
func TestAHugeLengthAllocatesNothing(t *testing.T) {
	journal := write(t, Entry{Event: &metasim.Begin{}})
	binary.LittleEndian.PutUint32(journal[headerSize:], maxRecord)
	r := NewReader(bytes.NewReader(journal), nil)
	_, err := r.Next()
	var torn *TornError
	require.ErrorAs(t, err, &torn)
	assert.LessOrEqual(t, cap(r.body), 1<<16)
	binary.LittleEndian.PutUint32(journal[headerSize:], maxRecord+1)
	_, err = read(journal)
	assert.ErrorContains(t, err, "a record has 269484033 bytes")
}

// What is well framed and makes no sense is refused, never guessed at.
func TestBodiesThatAreNotUnderstoodAreRefused(t *testing.T) {
	for reason, body := range map[string]string{
		"a record has the kind 0":        "\x10\x03",
		"a record has the kind 9":        "\x08\x09",
		"continues an entry":             "\x08\x03",
		"of kind 1 has no event":         "\x08\x01\x10\x03",
		"of kind 2 has an event":         "\x08\x02\x22\x00",
		"of kind 1 has an event, but":    "\x08\x01\x22\x00\x22\x00",
		"malformed":                      "\x08\x01\x22\x05",
		"a Record has a field 12":        "\x08\x01\x22\x00\x62\x00",
		"a Begin has a field 1":          "\x08\x01\x22\x02\x08\x01",
		"a Permit has a field 2":         "\x08\x01\x52\x02\x10\x01",
		"a Credit has a field 3":         "\x08\x01\x5a\x02\x18\x01",
		"an Instant has a field 3":       "\x08\x01\x52\x04\x0a\x02\x18\x01",
		"an effect of a record is empty": "\x08\x02\x7a\x00",
		"an Effect has a field 8":        "\x08\x02\x7a\x02\x42\x00",
		"has two types at once":          "\x08\x02\x7a\x04\x22\x00\x22\x00",
		"number of a record is 2":        "\x08\x01\x42\x02\x38\x02",
		"number of a record is 4294967296, but at most 4294967295 is allowed": "\x08\x01\x32\x06\x08\x80\x80\x80\x80\x10",
	} {
		_, err := read(frame([]byte(body)))
		var torn *TornError
		require.ErrorAs(t, err, &torn, reason)
		assert.Contains(t, torn.Reason, reason)
		assert.Equal(t, int64(headerSize), torn.Offset)
	}
}

// FuzzReader reads bytes as a journal.
func FuzzReader(f *testing.F) {
	journal := write(f, story()...)
	f.Add(journal)
	f.Add(journal[:len(journal)-5])
	f.Add(journal[:headerSize])
	f.Fuzz(func(t *testing.T, journal []byte) { checkRead(t, journal) })
}

// FuzzBody reads bytes as the body of a record that follows a story, with a checksum that is right.
func FuzzBody(f *testing.F) {
	story := bodies(write(f, story()...))
	for _, body := range story {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 0 {
			checkRead(t, frame(append(story[:5:5], body)...))
		}
	})
}

// checkRead reads a journal, whatever it holds: it ends, it holds little, and what it gives is written and read
// again.
func checkRead(t *testing.T, journal []byte) {
	r := NewReader(bytes.NewReader(journal), nil)
	var entries []Entry
	for {
		e, err := r.Next()
		if err != nil {
			var torn *TornError
			var version *VersionError
			if !errors.As(err, &torn) && !errors.As(err, &version) && !errors.Is(err, ErrNotJournal) {
				require.ErrorIs(t, err, io.EOF)
			}
			break
		}
		if e.Event != nil || e.Effects != nil { // a Settle without effects is legal, and not written
			entries = append(entries, e)
		}
	}
	require.LessOrEqual(t, cap(r.body), 1<<16+2*len(journal))
	require.LessOrEqual(t, len(entries), len(journal))
	again, err := read(write(t, entries...))
	require.NoError(t, err)
	require.Equal(t, entries, again)
}
