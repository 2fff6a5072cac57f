package ecm

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// maxType bounds the name of a type.
const maxType = 255

// Decode reads encoded changes. It takes exactly what Append writes, and shares the memory of values with b. The error is a *FormatError.
func Decode(b []byte) (Changes, error) { return new(Memory).Decode(b) }

// Decode reads encoded changes as the function does, and uses memory.
func (m *Memory) Decode(b []byte) (c Changes, err error) {
	d := decoder{all: b, rest: b, set: m.set[:0]}
	c.Edits = m.edits[:0]
	defer func() {
		if r := recover(); r != nil {
			wrong, ok := r.(*FormatError)
			if !ok {
				panic(r)
			}
			c, err = Changes{}, wrong
		}
	}()
	d.changes(&c)
	m.edits, m.set = c.Edits, d.set
	return c, nil
}

// A decoder reads canonical bytes. What is wrong ends it with a panic of *FormatError, which Decode recovers: every read would
// otherwise be followed by the same three lines.
type decoder struct {
	all, rest []byte
	types     []string
	used      []bool
	set       []Component // of all edits: one piece of memory, or a few
}

func (d *decoder) fail(format string, args ...any) {
	panic(&FormatError{len(d.all) - len(d.rest), fmt.Sprintf(format, args...)})
}

func (d *decoder) changes(c *Changes) {
	if v := d.byte(); v != formatVersion {
		d.fail("version %d of the encoding, this program knows %d", v, formatVersion)
	}
	for range d.count() {
		name := string(d.bytes())
		if name == "" || len(name) > maxType {
			d.fail("the name of a type has %d bytes, not 1 to %d", len(name), maxType)
		}
		if n := len(d.types); n > 0 && name <= d.types[n-1] {
			d.fail("type %q is not behind %q", name, d.types[n-1])
		}
		d.types = append(d.types, name)
	}
	d.used = make([]bool, len(d.types))
	for range d.count() {
		n := Counter{d.uint32(), d.uint32()}
		if k := len(c.Counters); n.Count == 0 || k > 0 && n.Writer <= c.Counters[k-1].Writer {
			d.fail("the counter of writer %d is 0, or out of order", n.Writer)
		}
		c.Counters = append(c.Counters, n)
	}
	last := Entity(0)
	for range d.count() {
		last = d.entity(last)
		c.Removed = append(c.Removed, last)
	}
	last = 0
	edits := d.count()
	room := min(edits, 1024) // of what is said to follow, which may not be true
	c.Edits, d.set = slices.Grow(c.Edits, room), slices.Grow(d.set, 2*room)
	for range edits {
		last = d.entity(last)
		c.Edits = append(c.Edits, Edit{Entity: last})
		d.edit(&c.Edits[len(c.Edits)-1])
	}
	for i, used := range d.used {
		if !used {
			d.fail("type %q does not occur", d.types[i])
		}
	}
	if len(d.rest) > 0 {
		d.fail("%d bytes too many", len(d.rest))
	}
}

func (d *decoder) edit(e *Edit) {
	switch created := d.byte(); created {
	case 0:
	case 1:
		e.Created, e.Parent = true, Entity(d.uvarint())
		if e.Parent == e.Entity {
			d.fail("entity %v is its own parent", e.Entity)
		}
	default:
		d.fail("neither 0 nor 1 where entity %v is created or not", e.Entity)
	}
	last, first := -1, len(d.set)
	for range d.count() {
		last = d.position(last)
		s := Component{Type: d.types[last], Kind: Kind(d.byte())}
		if s.Kind != Periodic && s.Kind != OneTime {
			d.fail("kind %d of a change", s.Kind)
		}
		s.Value = d.bytes()
		d.set = append(d.set, s)
	}
	if len(d.set) > first {
		e.Set = d.set[first:len(d.set):len(d.set)]
	}
	last = -1
	for range d.count() {
		last = d.position(last)
		e.Removed = append(e.Removed, d.types[last])
	}
	if why := e.senseless(); why != "" {
		d.fail("%s", why)
	}
}

// senseless says why an edit cannot be, whatever the state.
func (e *Edit) senseless() string {
	if !e.Created && len(e.Set)+len(e.Removed) == 0 {
		return fmt.Sprintf("nothing changes of entity %v", e.Entity)
	}
	if e.Created && len(e.Removed) > 0 {
		return fmt.Sprintf("entity %v is created, and loses %s", e.Entity, e.Removed[0])
	}
	i := 0
	for _, r := range e.Removed {
		for i < len(e.Set) && e.Set[i].Type < r {
			i++
		}
		if i < len(e.Set) && e.Set[i].Type == r {
			return fmt.Sprintf("%s of entity %v is set and removed", r, e.Entity)
		}
	}
	return ""
}

func (d *decoder) uvarint() uint64 {
	if len(d.rest) > 0 && d.rest[0] < 0x80 { // most numbers
		v := d.rest[0]
		d.rest = d.rest[1:]
		return uint64(v)
	}
	return d.longer()
}

// longer reads a number of more than a byte.
func (d *decoder) longer() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail("no number, or one beyond 64 bits")
	}
	if n > 1 && d.rest[n-1] == 0 {
		d.fail("a number with needless bytes")
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) uint32() uint32 {
	v := d.uvarint()
	if v > math.MaxUint32 {
		d.fail("%d is beyond 32 bits", v)
	}
	return uint32(v)
}

// count reads the length of a list: every element takes a byte at least, so that it bounds the memory.
func (d *decoder) count() int {
	v := d.uvarint()
	if v > uint64(len(d.rest)) {
		d.fail("%d of what %d bytes have no room for", v, len(d.rest))
	}
	return int(v)
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail("they end here")
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) bytes() []byte {
	n := d.count()
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// entity reads an entity behind the last one.
func (d *decoder) entity(last Entity) Entity {
	step := d.uvarint()
	if e := last + Entity(step); step > 0 && e > last && e.count() > 0 {
		return e
	}
	d.fail("no entity, or one out of order")
	return 0
}

// position reads a type behind the last one.
func (d *decoder) position(last int) int {
	v := d.uvarint()
	if v >= uint64(len(d.types)) || int(v) <= last {
		d.fail("type %d of %d, or out of order", v, len(d.types))
	}
	d.used[v] = true
	return int(v)
}
