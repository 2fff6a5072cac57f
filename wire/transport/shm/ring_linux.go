package shm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"metasim/wire"
)

// A ring carries bytes one way. The words lie in shared memory: of each the peer may make what it likes, at any time.
// So each side keeps the index it owns for itself and only shows it there; of the peer's it asks how far the two are
// apart, and refuses what cannot be. Where a byte lies in the data follows from the own index and the mask alone.
type ring struct {
	tail   *atomic.Uint32 // bytes written since the beginning, modulo 2^32; stored by the writer
	head   *atomic.Uint32 // bytes read, likewise; stored by the reader
	reader *atomic.Uint32 // 1 while the reader sleeps, or is about to; a futex
	writer *atomic.Uint32 // likewise for the writer
	data   []byte         // a power of two of them
	peer   string         // for errors
}

// rings returns both rings of a memory: from the client to the server, and back.
func rings(m memory, size uint32, peer string) (up, down ring) {
	at := func(i int) ring {
		word := func(offset int) *atomic.Uint32 {
			return (*atomic.Uint32)(unsafe.Pointer(&m[i*ringStride+offset]))
		}
		begin := headerSize + i*int(size)
		return ring{
			tail: word(atTail), head: word(atHead), reader: word(atReader), writer: word(atWriter),
			data: m[begin : begin+int(size) : begin+int(size)], peer: peer,
		}
	}
	return at(0), at(1)
}

func (r *ring) size() uint32 { return uint32(len(r.data)) }

// used returns how many bytes lie unread between two indices.
func (r *ring) used(tail, head uint32) (uint32, error) {
	used := tail - head
	if used > r.size() {
		return 0, &wire.ProtocolError{
			Peer: r.peer, What: fmt.Sprintf("a ring of shared memory with %d bytes unread", used),
			Bound: fmt.Sprintf("it holds %d", r.size()), Remedy: "let nobody else write to the memory",
		}
	}
	return used, nil
}

// A source is the reading end of a ring.
type source struct {
	ring
	next uint32 // the head, as only this side knows for sure
}

// take reads what is there, up to the length of b: nothing where the ring is empty.
func (s *source) take(b []byte) (int, error) {
	used, err := s.used(s.tail.Load(), s.next)
	if used == 0 || err != nil {
		return 0, err
	}
	from := s.data[s.next&(s.size()-1):]
	n := copy(b[:min(len(b), int(used))], from)
	n += copy(b[n:min(len(b), int(used))], s.data) // what went around the end
	s.next += uint32(n)
	s.head.Store(s.next)
	// A writer that waits is woken for half a ring and not for a byte. It is woken at the latest when all was read.
	if left := used - uint32(n); left <= s.size()/2 {
		rouse(s.writer)
	}
	return n, nil
}

// A sink is the writing end of a ring.
type sink struct {
	ring
	next uint32 // the tail, as only this side knows for sure
	read uint32 // the head, as last seen: it is looked at only when there seems to be no room
}

// put writes as much of b as there is room for: nothing where the ring is full.
func (s *sink) put(b []byte) (int, error) {
	room := s.size() - (s.next - s.read)
	if uint64(room) < uint64(len(b)) {
		head := s.head.Load()
		used, err := s.used(s.next, head)
		if err != nil {
			return 0, err
		}
		s.read, room = head, s.size()-used
	}
	if room == 0 {
		return 0, nil
	}
	b = b[:min(len(b), int(room))]
	n := copy(s.data[s.next&(s.size()-1):], b)
	copy(s.data, b[n:]) // what goes around the end
	s.next += uint32(len(b))
	s.tail.Store(s.next)
	rouse(s.reader)
	return len(b), nil
}

// rouse wakes who sleeps on the word, or is about to. Stores and loads of sync/atomic have one order for all: either
// the sleeper's last look sees what was stored before the rouse, or the rouse sees the sleeper's 1.
func rouse(word *atomic.Uint32) {
	if word.Load() != 0 && word.Swap(0) != 0 {
		wake(word)
	}
}
