package live

import (
	"encoding/binary"
	"fmt"

	"metasim/federates/authority/transfer"
)

// A datagram tells of entities that its sender owns: the byte 1, then for each the length of its name u8, name, epoch u16, steps u64, little-endian. What does not fit into
// one is in the next; each stands for itself, so any may be lost or late.
const sightsDatagram = 1

const (
	maxDatagram = 1000 // bytes, which any network carries in one piece
	sightBytes  = 1 + 2 + 8
)

// A Sight is what another server said last of an entity that it owned.
type Sight struct {
	Owner string            `json:"owner"`
	Epoch transfer.Sequence `json:"epoch"`
	Steps uint64            `json:"steps"`
}

// A told entity is one of a datagram.
type told struct {
	entity string
	epoch  transfer.Sequence
	steps  uint64
}

// sightings returns the datagrams that tell of entities. A name that no datagram has room for is left out.
func sightings(all []told) (out [][]byte) {
	b := []byte{sightsDatagram}
	for _, t := range all {
		if len(t.entity) > maxName {
			continue
		}
		if len(b)+sightBytes+len(t.entity) > maxDatagram {
			out, b = append(out, b), []byte{sightsDatagram}
		}
		b = append(append(b, byte(len(t.entity))), t.entity...)
		b = binary.LittleEndian.AppendUint16(b, uint16(t.epoch))
		b = binary.LittleEndian.AppendUint64(b, t.steps)
	}
	if len(b) > 1 {
		out = append(out, b)
	}
	return out
}

// A CutError: a datagram ends within an entity.
type CutError struct {
	From string
	At   int // byte
}

func (e *CutError) Error() string {
	return fmt.Sprintf("%s sent a datagram that ends within the entity at byte %d", e.From, e.At)
}

// readSightings reads a datagram.
func readSightings(from string, b []byte) (all []told, err error) {
	for at := 1; at < len(b); {
		n := int(b[at])
		if len(b)-at < sightBytes+n {
			return nil, &CutError{from, at}
		}
		f := b[at+1+n:]
		all = append(all, told{string(b[at+1 : at+1+n]), transfer.Sequence(binary.LittleEndian.Uint16(f)), binary.LittleEndian.Uint64(f[2:])})
		at += sightBytes + n
	}
	return all, nil
}

// see takes what a server said of an entity, unless something newer is known: of a later ownership, or a later step of the same.
func see(seen map[string]Sight, from string, t told) {
	if was, known := seen[t.entity]; known && (was.Epoch.NewerThan(t.epoch) || was.Epoch == t.epoch && (was.Steps > t.steps || was.Owner != from)) {
		return
	}
	seen[t.entity] = Sight{from, t.epoch, t.steps}
}
