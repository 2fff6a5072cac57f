// Package parquet writes tables in the format of Apache Parquet, which notebooks and databases read. Of the format it has what the tables
// of a report need: columns of integers, floating-point numbers and text, any cell of which may be empty, without compression.
//
// A file is, in this order:
//
//	"PAR1"
//	row groups of up to 131,072 rows, and in each the columns one after the other
//	the footer: a FileMetaData, which says where each column of each row group is
//	the length of the footer: 4 bytes, little-endian
//	"PAR1"
//
// A column of a row group is one data page. It has first, for each row, whether there is a cell (its definition level), and then the
// cells: 8 bytes each, little-endian; or, of text, its number in a dictionary, a page that stands before. Each page begins with a
// PageHeader. The headers and the footer are structs of parquet.thrift (https://github.com/apache/parquet-format), in Thrift's compact
// protocol; numbers of fields and values of enums are those of that file.
//
// Memory is needed for one column of one row group, and for the footer: however long a table is.
package parquet

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// A Column is the cells of a column, by row. One of the functions is set, which says of what type they are. It returns false for an empty cell.
type Column struct {
	Name  string
	Int   func(row int) (int64, bool)
	Float func(row int) (float64, bool)
	Text  func(row int) (string, bool) // what is not UTF-8 in it is replaced
}

// kind returns the type of a column in the file.
func (c *Column) kind() int64 {
	switch {
	case c.Int != nil:
		return kindInt64
	case c.Float != nil:
		return kindDouble
	}
	return kindByteArray
}

// Enums of parquet.thrift.
const (
	kindInt64     = 2
	kindDouble    = 5
	kindByteArray = 6

	optional = 1 // a FieldRepetitionType
	utf8     = 0 // a ConvertedType

	plain         = 0 // Encodings
	rle           = 3
	rleDictionary = 8

	dataPage       = 0
	dictionaryPage = 2
)

const magic = "PAR1"

// groupRows is how many rows a row group has at most.
const groupRows = 1 << 17

// Write writes a table. by is the program that makes it.
func Write(to io.Writer, by string, rows int, columns []Column) error {
	w := &writer{to: bufio.NewWriterSize(to, 1<<16), columns: columns}
	w.write([]byte(magic))
	for first := 0; first < rows; first += groupRows {
		w.group(first, min(rows, first+groupRows))
	}
	footer := w.footer(by, rows)
	w.write(footer)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	w.write([]byte(magic))
	return w.to.Flush() // fails if any write before has failed
}

// A writer writes one file.
type writer struct {
	to      *bufio.Writer
	offset  int64 // how many bytes were written
	columns []Column
	groups  []group

	// These are of the column that is written.
	levels  []uint32 // of each row: 1, there is a cell; 0, there is none
	numbers []uint32 // of the cells in the dictionary
	page    []byte
}

// A group says what the footer tells of a row group.
type group struct {
	rows   int
	chunks []chunk
}

// A chunk is a column of a row group.
type chunk struct {
	begin, data, end int64 // data is where its data page begins
}

func (w *writer) write(b []byte) {
	w.offset += int64(len(b))
	_, _ = w.to.Write(b) // Flush returns the error
}

// group writes the rows from first on, up to end.
func (w *writer) group(first, end int) {
	g := group{rows: end - first}
	for i := range w.columns {
		g.chunks = append(g.chunks, w.column(&w.columns[i], first, end))
	}
	w.groups = append(w.groups, g)
}

// column writes a column of a row group.
func (w *writer) column(c *Column, first, end int) chunk {
	ch := chunk{begin: w.offset}
	w.levels, w.numbers, w.page = w.levels[:0], w.numbers[:0], w.page[:0]
	add := w.adder(c)
	for row := first; row < end; row++ {
		level := uint32(0)
		if add(row) {
			level = 1
		}
		w.levels = append(w.levels, level)
	}
	encoding := int64(plain)
	if c.Text != nil { // the page is the dictionary so far
		encoding = rleDictionary
		highest := uint32(0)
		for _, n := range w.numbers {
			highest = max(highest, n)
		}
		values := min(len(w.numbers), int(highest)+1)
		w.pageOf(dictionaryPage, values, plain, w.page)
		width := max(1, bits.Len32(highest))
		w.page = pack(append(w.page[:0], byte(width)), w.numbers, width)
	}
	ch.data = w.offset
	levels := pack(make([]byte, 4), w.levels, 1)
	binary.LittleEndian.PutUint32(levels, uint32(len(levels)-4))
	w.pageOf(dataPage, end-first, encoding, levels, w.page)
	ch.end = w.offset
	return ch
}

// adder returns a function that adds a cell to the page, and tells whether there is one.
func (w *writer) adder(c *Column) func(row int) bool {
	eight := func(v uint64, ok bool) bool {
		if ok {
			w.page = binary.LittleEndian.AppendUint64(w.page, v)
		}
		return ok
	}
	switch {
	case c.Int != nil:
		return func(row int) bool { v, ok := c.Int(row); return eight(uint64(v), ok) }
	case c.Float != nil:
		return func(row int) bool { v, ok := c.Float(row); return eight(math.Float64bits(v), ok) }
	}
	known := map[string]uint32{}
	return func(row int) bool {
		v, ok := c.Text(row)
		if !ok {
			return false
		}
		v = strings.ToValidUTF8(v, "\uFFFD")
		number, old := known[v]
		if !old {
			number = uint32(len(known))
			known[v] = number
			w.page = append(binary.LittleEndian.AppendUint32(w.page, uint32(len(v))), v...)
		}
		w.numbers = append(w.numbers, number)
		return true
	}
}

// pack appends numbers of a width in bits, in the hybrid of run lengths and packed bits: as one run if they are all the same, else packed.
func pack(b []byte, numbers []uint32, width int) []byte {
	if len(numbers) == 0 {
		return b
	}
	if !slices.ContainsFunc(numbers, func(n uint32) bool { return n != numbers[0] }) {
		b = binary.AppendUvarint(b, uint64(len(numbers))<<1)
		run := binary.LittleEndian.AppendUint32(nil, numbers[0])
		return append(b, run[:(width+7)/8]...)
	}
	eights := (len(numbers) + 7) / 8 // the last one is filled up with zeros
	b = binary.AppendUvarint(b, uint64(eights)<<1|1)
	var word uint64
	have := 0 // bits of word
	for i := range 8 * eights {
		if i < len(numbers) {
			word |= uint64(numbers[i]) << have
		}
		for have += width; have >= 8; have -= 8 {
			b = append(b, byte(word))
			word >>= 8
		}
	}
	return b
}

// pageOf writes a page of some values.
func (w *writer) pageOf(kind int64, values int, encoding int64, parts ...[]byte) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	var h thrift
	h.begin()
	h.i32(1, kind)
	h.i32(2, int64(size)) // as it is, and compressed
	h.i32(3, int64(size))
	header := 5
	if kind == dictionaryPage {
		header = 7
	}
	h.structure(header)
	h.i32(1, int64(values))
	h.i32(2, encoding)
	if kind == dataPage {
		h.i32(3, rle) // of the definition levels
		h.i32(4, rle) // of repetition levels, of which there are none
	}
	h.end()
	h.end()
	w.write(h.bytes)
	for _, part := range parts {
		w.write(part)
	}
}

// footer returns the FileMetaData.
func (w *writer) footer(by string, rows int) []byte {
	var f thrift
	f.begin()
	f.i32(1, 2) // the version of the format
	f.list(2, structType, 1+len(w.columns))
	f.begin() // of the root
	f.text(4, "schema")
	f.i32(5, int64(len(w.columns)))
	f.end()
	for i := range w.columns {
		c := &w.columns[i]
		f.begin()
		f.i32(1, c.kind())
		f.i32(3, optional)
		f.text(4, c.Name)
		if c.kind() == kindByteArray {
			f.i32(6, utf8)
		}
		f.end()
	}
	f.i64(3, int64(rows))
	f.list(4, structType, len(w.groups))
	for _, g := range w.groups {
		f.begin()
		f.list(1, structType, len(g.chunks))
		for i, ch := range g.chunks {
			w.chunk(&f, &w.columns[i], g.rows, ch)
		}
		f.i64(2, g.chunks[len(g.chunks)-1].end-g.chunks[0].begin)
		f.i64(3, int64(g.rows))
		f.end()
	}
	f.text(6, by)
	f.end()
	return f.bytes
}

// chunk adds a ColumnChunk to the footer.
func (w *writer) chunk(f *thrift, c *Column, rows int, ch chunk) {
	f.begin()
	f.i64(2, 0)    // deprecated, and required
	f.structure(3) // a ColumnMetaData
	f.i32(1, c.kind())
	encodings := []int64{plain, rle}
	if ch.begin < ch.data {
		encodings = append(encodings, rleDictionary)
	}
	f.list(2, i32Type, len(encodings))
	for _, e := range encodings {
		f.number(e)
	}
	f.list(3, binaryType, 1) // its path
	f.string(c.Name)
	f.i32(4, 0) // it is not compressed
	f.i64(5, int64(rows))
	f.i64(6, ch.end-ch.begin) // as it is, and compressed
	f.i64(7, ch.end-ch.begin)
	f.i64(9, ch.data)
	if ch.begin < ch.data {
		f.i64(11, ch.begin) // its dictionary
	}
	f.end()
	f.end()
}
