package levels

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/world"
	"metasim/metasim"
)

// protocolVersion is that of orders and acknowledgements of one step, and aheadVersion that of several steps at once. Both ends must know the same.
const (
	protocolVersion = 1
	aheadVersion    = 2
)

// An order asks a secondary for one step, or for several, which differ in what it has done itself alone.
type order struct {
	steps    int
	fresh    bool // the secondary forgets all that it has
	measured bool // what it takes is measured: it does nothing that it is not asked for
	info     world.Info
	next     metasim.Time // of the run: nothing is asked before
	drop     []ecm.Entity // with all below them, in order
	move     []ecm.Entity // what the secondary moves in this step, in order; the rest of its state stands still
	changes  ecm.Changes
}

// An acknowledgement says what came of an order.
type acknowledgement struct {
	iteration uint64
	moved     uint64        // how many models
	failed    string        // why; empty: it did not
	changes   []ecm.Changes // by step
}

// An orderHeader begins an order, little-endian. Then come, as varints, how many steps it is for, if it is for several, how many are dropped and each as the distance from the one before, what is moved
// likewise, and the changes as package ecm encodes them.
type orderHeader struct {
	Version    uint8
	Fresh      bool
	Measured   bool
	_          uint8
	Iteration  uint64
	Time, Step int64
	Next       int64
}

// An acknowledgementHeader begins an acknowledgement. Then come the changes, or what went wrong; of several steps, the changes of each with their length before them.
type acknowledgementHeader struct {
	Version          uint8
	Failed           bool
	_                uint16
	Iteration, Moved uint64
}

// append appends the encoding of an order.
func (o *order) append(b []byte) ([]byte, error) {
	b, err := binary.Append(b, binary.LittleEndian, orderHeader{Version: versionOf(o.steps), Fresh: o.fresh, Measured: o.measured, Iteration: o.info.Iteration,
		Time: int64(o.info.Time), Step: int64(o.info.Step), Next: int64(o.next)})
	if o.steps > 1 {
		b = binary.AppendUvarint(b, uint64(o.steps))
	}
	b = appendEntities(appendEntities(b, o.drop), o.move)
	return o.changes.Append(b), err
}

func appendEntities(b []byte, all []ecm.Entity) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	last := ecm.Entity(0)
	for _, e := range all {
		b = binary.AppendUvarint(b, uint64(e-last))
		last = e
	}
	return b
}

var errOrder = errors.New("an order whose fields contradict one another; only the world may publish on this channel")

func decodeOrder(b []byte) (*order, error) {
	var h orderHeader
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	if err != nil {
		return nil, fmt.Errorf("an order of %d bytes is too short; only the world may publish on this channel", len(b))
	}
	if err := checkVersion(h.Version); err != nil {
		return nil, err
	}
	if h.Iteration == 0 || h.Step <= 0 {
		return nil, errOrder
	}
	o := &order{fresh: h.Fresh, measured: h.Measured, info: world.Info{Iteration: h.Iteration, Time: metasim.Time(h.Time), Step: metasim.Time(h.Step)}, next: metasim.Time(h.Next)}
	b, o.steps = b[n:], 1
	if h.Version == aheadVersion {
		steps, n := binary.Uvarint(b)
		if n <= 0 || steps < 2 || steps > mostAhead {
			return nil, errOrder
		}
		b, o.steps = b[n:], int(steps)
	}
	for _, into := range []*[]ecm.Entity{&o.drop, &o.move} {
		if *into, b, err = decodeEntities(b); err != nil {
			return nil, err
		}
	}
	o.changes, err = ecm.Decode(b)
	return o, err
}

func decodeEntities(b []byte) ([]ecm.Entity, []byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) { // each takes a byte at least
		return nil, nil, errOrder
	}
	b = b[n:]
	all, last := make([]ecm.Entity, 0, count), ecm.Entity(0)
	for range count {
		step, n := binary.Uvarint(b)
		e := last + ecm.Entity(step)
		if n <= 0 || e <= last {
			return nil, nil, errOrder
		}
		all, last, b = append(all, e), e, b[n:]
	}
	return all, b, nil
}

// append appends the encoding of an acknowledgement.
func (a *acknowledgement) append(b []byte) ([]byte, error) {
	b, err := binary.Append(b, binary.LittleEndian, acknowledgementHeader{Version: versionOf(len(a.changes)), Failed: a.failed != "", Iteration: a.iteration, Moved: a.moved})
	if a.failed != "" {
		return append(b, a.failed...), err
	}
	if len(a.changes) == 1 {
		return a.changes[0].Append(b), err
	}
	for k := range a.changes {
		one := a.changes[k].Append(nil)
		b = append(binary.AppendUvarint(b, uint64(len(one))), one...)
	}
	return b, err
}

// versionOf returns the version of what is for so many steps.
func versionOf(steps int) uint8 {
	if steps > 1 {
		return aheadVersion
	}
	return protocolVersion
}

// decodeAcknowledgement reads an acknowledgement. The changes of a single step are put into one, and are valid until its next use. Those of several steps get memory of their own, as they are kept for later steps.
func decodeAcknowledgement(b []byte, one *ecm.Memory) (a acknowledgement, err error) {
	var h acknowledgementHeader
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	if err != nil {
		return a, fmt.Errorf("an acknowledgement of %d bytes is too short", len(b))
	}
	if err := checkVersion(h.Version); err != nil {
		return a, err
	}
	a.iteration, a.moved = h.Iteration, h.Moved
	if h.Failed {
		a.failed = string(b[n:])
		return a, nil
	}
	b = b[n:]
	if h.Version == protocolVersion {
		c, err := one.Decode(b)
		a.changes = []ecm.Changes{c}
		return a, err
	}
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return a, fmt.Errorf("an acknowledgement of several steps that ends within one")
		}
		c, err := ecm.Decode(b[n:][:size])
		if err != nil {
			return a, err
		}
		a.changes, b = append(a.changes, c), b[n:][size:]
	}
	return a, nil
}

func checkVersion(v uint8) error {
	if v != protocolVersion && v != aheadVersion {
		return fmt.Errorf("the other side speaks version %d of distributed worlds, this one up to %d; run the same metasim on both", v, aheadVersion)
	}
	return nil
}

// keepTogether is how many edits share memory: as long as one of their values is in the state, all are in memory.
const keepTogether = 32

// keep gives the values of edits memory of their own, or one value would hold the whole acknowledgement.
func keep(edits []ecm.Edit) {
	for together := range slices.Chunk(edits, keepTogether) {
		size := 0
		for n := range together {
			for i := range together[n].Set {
				size += len(together[n].Set[i].Value)
			}
		}
		all := make([]byte, 0, size)
		for n := range together {
			for i := range together[n].Set {
				value, from := &together[n].Set[i].Value, len(all)
				all = append(all, *value...)
				*value = all[from:len(all):len(all)]
			}
		}
	}
}
