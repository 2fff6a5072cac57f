package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedMemory exchanges messages over a mapped file, with futexes and no spinning.
var sharedMemory = &rawTransport{listen: listenMemory, dial: dialMemory}

// A slot is one direction of an exchange: the two sides take turns, so one message is enough.
type slot struct {
	count atomic.Uint32 // messages so far, or closed: the word that the reader sleeps on
	data  [60 + 64]byte
}

// closed is the count of a slot whose writer has closed it.
const closed = math.MaxUint32

// memorySize is that of the file: two slots, and what is left of the page.
const memorySize = 4096

// A memoryStream is one end of an exchange.
type memoryStream struct {
	in, out *slot
	read    uint32
}

// listenMemory is for one stream.
func listenMemory(dir string) (*rawListener, error) {
	path := filepath.Join(dir, "m")
	accept := func(context.Context) (io.ReadWriteCloser, error) { return openMemory(path, 0) }
	return &rawListener{path, accept, func() error { return nil }}, os.WriteFile(path, make([]byte, memorySize), 0o600)
}

func dialMemory(_ context.Context, path string) (io.ReadWriteCloser, error) {
	return openMemory(path, 1)
}

func openMemory(path string, mine int) (*memoryStream, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, memorySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	slots := (*[2]slot)(unsafe.Pointer(&memory[0]))
	return &memoryStream{in: &slots[1-mine], out: &slots[mine]}, nil
}

func (s *memoryStream) Write(p []byte) (int, error) {
	if len(p) > len(s.out.data) {
		return 0, fmt.Errorf("%d bytes do not fit a slot", len(p))
	}
	copy(s.out.data[:], p)
	return len(p), s.tell(s.out.count.Load() + 1)
}

func (s *memoryStream) Read(p []byte) (int, error) {
	for s.in.count.Load() == s.read {
		err := futex(&s.in.count, 0, s.read) // FUTEX_WAIT
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return 0, err
		}
	}
	if s.in.count.Load() == closed {
		return 0, io.EOF
	}
	s.read++
	return copy(p, s.in.data[:]), nil
}

// Close tells the other side. The memory goes with the process: that side may still look at it.
func (s *memoryStream) Close() error { return s.tell(closed) }

// tell sets the count that the other side reads, and wakes it.
func (s *memoryStream) tell(count uint32) error {
	s.out.count.Store(count)
	return futex(&s.out.count, 1, 1) // FUTEX_WAKE one
}

func futex(word *atomic.Uint32, op, value uint32) error {
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op), uintptr(value), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
