package shm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"metasim/wire"
	"metasim/wire/transport/stream"
)

// A ring carries bytes one way. Its words are in shared memory, where the peer may change each of them at any time. So each
// side keeps its own index in its own memory and only stores copies there. It uses the peer's index for nothing but the
// distance to its own, and refuses a distance that is too large. The place of a byte follows from the own index alone.
type ring struct {
	tail   *atomic.Uint32 // bytes written since the beginning, modulo 2^32; stored by the writer
	head   *atomic.Uint32 // bytes read since the beginning, modulo 2^32; stored by the reader
	reader *atomic.Uint32 // 1 while the reader sleeps, or is about to; a futex
	writer *atomic.Uint32 // the same for the writer
	files  *atomic.Uint32 // files sent since the beginning, modulo 2^32; stored by the writer
	opened *atomic.Uint32 // files of these that the reader has opened; stored by the reader
	data   []byte         // its length is a power of two
	peer   string         // for errors
}

// rings returns both rings of a memory: from the client to the server, and back.
func rings(m memory, size uint32, peer string) (up, down ring) {
	at := func(i int) ring {
		word := func(offset int) *atomic.Uint32 { return m.word(i*ringStride + offset) }
		begin := headerSize + i*int(size)
		return ring{
			tail: word(atTail), head: word(atHead), reader: word(atReader), writer: word(atWriter),
			files: word(atFiles), opened: word(atOpened),
			data: m[begin : begin+int(size) : begin+int(size)], peer: peer,
		}
	}
	return at(0), at(1)
}

// word returns a word of the memory.
func (m memory) word(offset int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&m[offset])) }

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
	next uint32 // the head; the word in shared memory is a copy
	had  uint32 // how many files were opened, likewise
}

// takeUntil reads up to len(b) bytes that were written before a tail, without waiting, and returns how many.
func (s *source) takeUntil(b []byte, tail uint32) (int, error) {
	used, err := s.used(tail, s.next)
	if used == 0 || err != nil {
		return 0, err
	}
	from := s.data[s.next&(s.size()-1):]
	n := copy(b[:min(len(b), int(used))], from)
	n += copy(b[n:min(len(b), int(used))], s.data) // the part that wrapped around
	s.next += uint32(n)
	s.head.Swap(s.next)
	// A writer that waits is woken when half the ring is free, not for each byte.
	if left := used - uint32(n); left <= s.size()/2 {
		rouse(s.writer)
	}
	return n, nil
}

// A sink is the writing end of a ring.
type sink struct {
	ring
	next uint32 // the tail; the word in shared memory is a copy
	read uint32 // the head when it was last loaded: it is loaded again only when the ring seems to be full
	sent uint32 // how many files were sent, as next
}

// put writes as much of b as there is room for, without waiting, and returns how much.
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
	copy(s.data, b[n:]) // the part that wraps around
	s.next += uint32(len(b))
	s.tail.Swap(s.next)
	rouse(s.reader)
	return len(b), nil
}

// rouse wakes the side that sleeps on the word, or is about to. The operations of sync/atomic have one total order: either
// the sleeper's last look sees what was stored before the rouse, or the rouse sees the sleeper's 1. What is stored before a rouse,
// and that 1, are stored with Swap: the race detector's Store is a plain one of the processor, which a later Load may overtake.
func rouse(word *atomic.Uint32) {
	if word.Load() != 0 && word.Swap(0) != 0 {
		wake(word)
	}
}

const (
	// spins is how often a wait looks again before it sleeps. Each look takes 10 ns, so that is a microsecond in all. More
	// helps little while the peer runs, and costs much while the peer waits for this processor.
	spins = 100
	// maxSleep is how long a wait sleeps before it looks again unasked. It bounds the harm of a peer that breaks the
	// protocol and changes the word on which this side sleeps.
	maxSleep = time.Second
)

// defaultSpins is spins on more than two processors. With two, the system and other processes need the one on which this
// side would spin, and a microsecond of spinning makes a round trip a fifth longer.
func defaultSpins() int {
	if runtime.GOMAXPROCS(0) > 2 {
		return spins
	}
	return 0
}

// A wait is one wait for a ring to change. Its owner looks at the ring, calls once if it found nothing, and looks again. The
// first calls of once return soon, the next one stores 1 to the word, and the one after that sleeps on it.
type wait struct {
	word  *atomic.Uint32
	yield bool // let other goroutines run first
	spins int  // left
	armed bool // the word is 1

	maxSleep time.Duration
}

// once waits until the owner should look again, but not longer than until the deadline (zero: none).
func (w *wait) once(deadline time.Time) error {
	switch {
	case w.yield:
		w.yield = false
		runtime.Gosched()
		return nil
	case w.spins > 0:
		w.spins--
		return nil
	case !w.armed:
		w.word.Swap(1)
		w.armed = true
		return nil
	}
	w.armed = false
	patience := w.maxSleep
	if !deadline.IsZero() {
		patience = min(patience, max(time.Until(deadline), 1))
	}
	return sleep(w.word, 1, patience)
}

// end stores 0 to the word again, so that the peer does not wake a side that is awake.
func (w *wait) end() {
	if w.armed {
		w.word.Store(0)
	}
}

// The operations of futex(2), which golang.org/x/sys does not name. They are without FUTEX_PRIVATE_FLAG, because the two
// processes share the word.
const (
	futexWait = 0
	futexWake = 1
)

// sleep blocks this thread while the word is value, until a wake, a signal or the end of patience (which is positive). It
// may also return without a reason: the caller looks again.
func sleep(word *atomic.Uint32, value uint32, patience time.Duration) error {
	ts := unix.NsecToTimespec(int64(patience))
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
	if errno == 0 || errors.Is(errno, unix.EAGAIN) || errors.Is(errno, unix.EINTR) || errors.Is(errno, unix.ETIMEDOUT) {
		return nil
	}
	return errno
}

// wake ends all sleeps on the word. It never blocks, so it need not tell Go's scheduler.
func wake(word *atomic.Uint32) {
	// It cannot fail on memory that is mapped.
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, math.MaxInt32, 0, 0, 0)
}

// The layout of the memory, as the package comment describes it.
const (
	headerSize  = 4096 // before the bytes of the first ring: a page
	ringStride  = 512  // from the words of the first ring to those of the second
	atTail      = 0    // the words of a ring; each has two cache lines to itself, as processors load them in pairs
	atHead      = 128
	atReader    = 256
	atWriter    = 384
	atFiles     = 1024
	atOpened    = 1152
	atTakes     = 2048 // whether the client takes files; then whether the server does
	takesStride = 128

	// ringSize is the size of each ring that a client makes: about the buffer of a unix socket in Linux, so that a writer
	// may be as far ahead, and small enough that both rings fit into the cache of one core.
	ringSize    = 256 << 10
	minRingSize = 16
	maxRingSize = 16 << 20
)

// A memory is a mapped file that two processes share.
type memory []byte

// fileSize returns the size of a file that holds the header and two rings. All sizes are in bytes.
func fileSize(ring uint32) int { return headerSize + 2*int(ring) }

// seals fix the size of the file: a process that maps a file which another one truncates dies of SIGBUS.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// createMemory makes a file without a name, so that nothing is left of it when its users die, and seals its size. The
// caller closes the file when the peer has it; the mappings stay.
func createMemory(ring uint32) (*os.File, error) {
	file, err := stream.MemoryFile("metasim rings")
	if err != nil {
		return nil, err
	}
	fd := int(file.Fd())
	if err := unix.Ftruncate(fd, int64(fileSize(ring))); err != nil {
		return nil, errors.Join(fmt.Errorf("size the memory: %w", err), file.Close())
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals|unix.F_SEAL_SEAL); err != nil {
		return nil, errors.Join(fmt.Errorf("seal the memory: %w", err), file.Close())
	}
	return file, nil
}

// mapMemory maps a file with two rings of this size. A file that is not sealed, or has another size, is refused.
func mapMemory(file *os.File, ring uint32) (memory, error) {
	have, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("the size of the file cannot be sealed: %w", err)
	}
	if have&seals != seals {
		return nil, fmt.Errorf("the memory may change its size (seals %#x); seal it with %#x", have, seals)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != int64(fileSize(ring)) {
		return nil, fmt.Errorf("the memory has %d bytes; two rings of %d take %d", info.Size(), ring, fileSize(ring))
	}
	m, err := unix.Mmap(int(file.Fd()), 0, fileSize(ring), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", fileSize(ring), err)
	}
	return m, nil
}

// unmap returns the memory to the system. It must not be used afterwards.
func (m memory) unmap() error {
	if err := unix.Munmap(m); err != nil {
		return fmt.Errorf("unmap: %w", err)
	}
	return nil
}
