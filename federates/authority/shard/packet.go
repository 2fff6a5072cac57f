package shard

import (
	"encoding/binary"
	"fmt"

	"metasim/federates/authority/claim"
	"metasim/federates/authority/credit"
	"metasim/federates/authority/transfer"
)

// A packet between servers is little-endian. Its first byte says what it is.
//
//	updates  sequence u64, then for each entity: length of its name u8, name, ownership u16, touches u16, authority u16, flags u8, steps u64, x i64, y i64, vx i32, vy i32
//	credit   sequence u64, bytes u64
//	load     round u64, work u64, x i64, y i64 (where the server looks from), flags u8
const (
	updatesPacket = 1
	creditPacket  = 2
	loadPacket    = 3
)

// The flags of an update and of a load.
const (
	fromOwner = 1 // its sender owns the entity
	slows     = 2
	held      = 4 // the owner lets nobody touch it

	leaving = 1
)

// An update is what one server says to another of an entity.
type update struct {
	entity string
	claim  claim.Claim
	owner  bool // the sender owns it
	state  transfer.State
}

// A MalformedError: what a server sent is no packet between servers.
type MalformedError struct {
	From string
	At   int // byte
	Why  string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("%s sent what is no packet between simulation servers: at byte %d %s", e.From, e.At, e.Why)
}

// updatesHead returns a packet of updates without any.
func updatesHead() []byte { return append(make([]byte, 0, 512), updatesPacket, 0, 0, 0, 0, 0, 0, 0, 0) }

// stamp takes the credit for a packet of updates, and writes its sequence number. The head takes none, so one without updates can always be sent.
func stamp(b []byte, p *peer) error {
	sequence, err := p.out.Send(uint64(len(b) - headBytes))
	binary.LittleEndian.PutUint64(b[1:], sequence)
	return err
}

func appendUpdate(b []byte, u *update) []byte {
	b = append(append(b, byte(len(u.entity))), u.entity...)
	b = binary.LittleEndian.AppendUint16(b, uint16(u.claim.Ownership))
	b = binary.LittleEndian.AppendUint16(b, uint16(u.claim.Touches))
	b = binary.LittleEndian.AppendUint16(b, uint16(u.claim.Authority))
	body, flags := u.state.Body, byte(0)
	if u.owner {
		flags |= fromOwner
	}
	if body.Slows {
		flags |= slows
	}
	if u.claim.Holder != claim.Default {
		flags |= held
	}
	b = binary.LittleEndian.AppendUint64(append(b, flags), u.state.Steps)
	b = binary.LittleEndian.AppendUint64(b, uint64(body.X))
	b = binary.LittleEndian.AppendUint64(b, uint64(body.Y))
	b = binary.LittleEndian.AppendUint32(b, uint32(body.VX))
	return binary.LittleEndian.AppendUint32(b, uint32(body.VY))
}

// readUpdates reads a packet of updates; side is that of the world.
func readUpdates(from string, sender claim.Index, b []byte, side int64) (sequence uint64, all []update, err error) {
	if len(b) < headBytes {
		return 0, nil, &MalformedError{from, len(b), "it ends before its sequence number does"}
	}
	sequence = binary.LittleEndian.Uint64(b[1:])
	for at := headBytes; at < len(b); {
		name := int(b[at])
		if len(b)-at < updateBytes+name {
			return 0, nil, &MalformedError{from, at, "an update is cut off"}
		}
		u := update{entity: string(b[at+1 : at+1+name])}
		f := b[at+1+name:]
		u.claim.Ownership = claim.Sequence(binary.LittleEndian.Uint16(f))
		u.claim.Touches = claim.Sequence(binary.LittleEndian.Uint16(f[2:]))
		u.claim.Authority = claim.Index(binary.LittleEndian.Uint16(f[4:]))
		flags := f[6]
		u.owner = flags&fromOwner != 0
		if flags&held != 0 {
			u.claim.Holder = sender
		}
		u.state.Steps = binary.LittleEndian.Uint64(f[7:])
		u.state.Body = &transfer.Body{
			X: int64(binary.LittleEndian.Uint64(f[15:])), Y: int64(binary.LittleEndian.Uint64(f[23:])),
			VX: int64(int32(binary.LittleEndian.Uint32(f[31:]))), VY: int64(int32(binary.LittleEndian.Uint32(f[35:]))),
			Side: side, Slows: flags&slows != 0,
		}
		if p := u.state.Body; name == 0 || flags > fromOwner|slows|held || p.X < 0 || p.Y < 0 || p.X > side || p.Y > side {
			return 0, nil, &MalformedError{from, at, "an update has no name, unknown flags, or a place outside of the world"}
		}
		all = append(all, u)
		at += updateBytes + name
	}
	return sequence, all, nil
}

func creditBytes(c credit.Credit) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte{creditPacket}, c.Sequence), c.Bytes)
}

func readCredit(from string, b []byte) (credit.Credit, error) {
	if len(b) != 1+16 {
		return credit.Credit{}, &MalformedError{from, len(b), "a credit ends; it has 17 bytes"}
	}
	return credit.Credit{Sequence: binary.LittleEndian.Uint64(b[1:]), Bytes: binary.LittleEndian.Uint64(b[9:])}, nil
}

func (l *load) bytes() []byte {
	b := []byte{loadPacket}
	for _, n := range []uint64{l.round, l.work, uint64(l.look[0]), uint64(l.look[1])} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	if l.leaving {
		return append(b, leaving)
	}
	return append(b, 0)
}

func readLoad(from string, b []byte) (l load, err error) {
	if len(b) != 1+32+1 || b[33] > leaving {
		return l, &MalformedError{from, len(b), "a load ends, or has unknown flags; it has 34 bytes"}
	}
	n := func(i int) uint64 { return binary.LittleEndian.Uint64(b[1+8*i:]) }
	return load{round: n(0), work: n(1), look: [2]int64{int64(n(2)), int64(n(3))}, leaving: b[33] == leaving}, nil
}
