package parquet

import "encoding/binary"

// Types of Thrift's compact protocol.
const (
	i32Type    = 5
	i64Type    = 6
	binaryType = 8
	listType   = 9
	structType = 12
)

// A thrift encodes structs in Thrift's compact protocol. The fields of a struct come in order of their numbers.
type thrift struct {
	bytes []byte
	last  []int // the number of the last field, of each struct that has begun
}

// begin begins a struct that is no field: the outermost one, or an element of a list.
func (t *thrift) begin() { t.last = append(t.last, 0) }

// end ends the struct that was begun last.
func (t *thrift) end() {
	t.bytes = append(t.bytes, 0)
	t.last = t.last[:len(t.last)-1]
}

// field begins a field. It is told by how much its number is higher than that of the one before: 1 to 15.
func (t *thrift) field(number, kind int) {
	last := &t.last[len(t.last)-1]
	t.bytes = append(t.bytes, byte((number-*last)<<4|kind))
	*last = number
}

// structure begins a field that is a struct.
func (t *thrift) structure(number int) {
	t.field(number, structType)
	t.begin()
}

func (t *thrift) i32(number int, v int64) {
	t.field(number, i32Type)
	t.number(v)
}

func (t *thrift) i64(number int, v int64) {
	t.field(number, i64Type)
	t.number(v)
}

func (t *thrift) text(number int, s string) {
	t.field(number, binaryType)
	t.string(s)
}

// list begins a field that is a list of n elements, which follow.
func (t *thrift) list(number, kind, n int) {
	t.field(number, listType)
	if n < 15 {
		t.bytes = append(t.bytes, byte(n<<4|kind))
		return
	}
	t.bytes = binary.AppendUvarint(append(t.bytes, byte(15<<4|kind)), uint64(n))
}

// number encodes an integer of either size.
func (t *thrift) number(v int64) { t.bytes = binary.AppendVarint(t.bytes, v) }

func (t *thrift) string(s string) {
	t.bytes = append(binary.AppendUvarint(t.bytes, uint64(len(s))), s...)
}
