package parquet

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A row is what the library reads of a row.
type row struct {
	Int   *int64   `parquet:"int,optional"`
	Float *float64 `parquet:"float,optional"`
	Text  *string  `parquet:"text,optional"`
}

// cells has a column of each type. A cell is empty where its pointer is nil.
func cells(rows []row) []Column {
	return []Column{
		{Name: "int", Int: func(i int) (v int64, ok bool) {
			if p := rows[i].Int; p != nil {
				return *p, true
			}
			return 0, false
		}},
		{Name: "float", Float: func(i int) (v float64, ok bool) {
			if p := rows[i].Float; p != nil {
				return *p, true
			}
			return 0, false
		}},
		{Name: "text", Text: func(i int) (v string, ok bool) {
			if p := rows[i].Text; p != nil {
				return *p, true
			}
			return "", false
		}},
	}
}

// read reads a file with a library that others wrote.
func read(t require.TestingT, file []byte, n int) []row {
	f, err := library.OpenFile(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	require.EqualValues(t, n, f.NumRows())
	r := library.NewGenericReader[row](f)
	rows := make([]row, n)
	for have := 0; have < n; {
		k, err := r.Read(rows[have:])
		if have += k; err != io.EOF {
			require.NoError(t, err)
		}
	}
	require.NoError(t, r.Close())
	return rows
}

func write(t require.TestingT, rows []row) []byte {
	var b bytes.Buffer
	require.NoError(t, Write(&b, "metasim", len(rows), cells(rows)))
	return b.Bytes()
}

// Whatever a table has, another program reads it.
func TestOthersReadIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SampledFrom([]int{1, 2, 3, 300}).Draw(t, "texts")
		full := rapid.SampledFrom([]int{0, 1, 50, 100}).Draw(t, "full")
		there := func() bool { return rapid.IntRange(1, 100).Draw(t, "there") <= full }
		rows := make([]row, rapid.IntRange(0, 300).Draw(t, "rows"))
		for i := range rows {
			if there() {
				rows[i].Int = new(rapid.Int64().Draw(t, "int"))
			}
			if there() {
				rows[i].Float = new(rapid.Float64().Draw(t, "float"))
			}
			if there() {
				rows[i].Text = new(fmt.Sprint(strings.Repeat("é", rapid.IntRange(0, texts-1).Draw(t, "text"))))
			}
		}
		require.Equal(t, rows, read(t, write(t, rows), len(rows)))
	})
}

// A long table has several row groups, each with dictionaries of its own.
func TestRowGroups(t *testing.T) {
	const n = groupRows + 7
	name := func(i int) string { return fmt.Sprint("client-", i%700) }
	var file bytes.Buffer
	require.NoError(t, Write(&file, "metasim", n, []Column{
		{Name: "int", Int: func(i int) (int64, bool) { return int64(i), true }}, {Name: "text", Text: func(i int) (string, bool) { return name(i), true }},
	}))
	f, err := library.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	require.NoError(t, err)
	require.Len(t, f.RowGroups(), 2)
	rows, err := library.Read[struct {
		Int  int64  `parquet:"int,optional"`
		Text string `parquet:"text,optional"`
	}](f, f.Size())
	require.NoError(t, err)
	require.Len(t, rows, n)
	for i, r := range rows {
		if r.Int != int64(i) || r.Text != name(i) {
			require.FailNow(t, "another row", "%d: %v", i, r)
		}
	}
}

// Text that is not UTF-8 would make the file unreadable for some.
func TestTextIsUTF8(t *testing.T) {
	file := write(t, []row{{Text: new("a\xffb")}})
	require.Equal(t, "a\uFFFDb", *read(t, file, 1)[0].Text)
}

// As much memory is needed for a long table as for one row group.
func TestMemoryIsBounded(t *testing.T) {
	allocated := func(rows int) uint64 {
		columns := []Column{{Name: "n", Int: func(row int) (int64, bool) { return int64(row), true }}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.NoError(t, Write(io.Discard, "metasim", rows, columns))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	require.Less(t, allocated(8*groupRows), 2*allocated(groupRows))
}

// What cannot be written is an error.
func TestFullDisk(t *testing.T) {
	rows := make([]row, 10)
	require.ErrorIs(t, Write(failing{}, "metasim", len(rows), cells(rows)), io.ErrShortWrite)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
