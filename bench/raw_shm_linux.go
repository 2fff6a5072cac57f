package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedMemory says whether this system has the transport shm.
const sharedMemory = true

// A slot is one direction of a raw exchange over shared memory: the two sides take turns, so one message is enough.
type slot struct {
	count  atomic.Uint32 // messages so far: the word that the reader sleeps on
	closed atomic.Uint32
	data   [56 + 64]byte
}

// memorySize is that of the file: two slots, and what is left of the page.
const memorySize = 4096

// A memoryStream is one end of an exchange over a mapped file, with futexes and no spinning.
type memoryStream struct {
	in, out *slot
	read    uint32
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
	if s.in.closed.Load() != 0 {
		return 0, io.ErrClosedPipe
	}
	copy(s.out.data[:], p)
	s.out.count.Add(1)
	return len(p), futex(&s.out.count, 1, 1) // FUTEX_WAKE one
}

func (s *memoryStream) Read(p []byte) (int, error) {
	for s.in.count.Load() == s.read {
		if s.in.closed.Load() != 0 {
			return 0, io.EOF
		}
		err := futex(&s.in.count, 0, s.read) // FUTEX_WAIT
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return 0, err
		}
	}
	s.read++
	return copy(p, s.in.data[:]), nil
}

// Close tells the other side. The memory goes with the process: that side may still look at it, and this one read it.
func (s *memoryStream) Close() error {
	s.out.closed.Store(1)
	s.out.count.Add(1)
	s.in.closed.Store(1)
	return futex(&s.out.count, 1, 1)
}

func futex(word *atomic.Uint32, op, value uint32) error {
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op), uintptr(value), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// A memoryListener is for one stream.
type memoryListener struct{ dir string }

func listenRawSHM() (rawListener, error) {
	dir, err := os.MkdirTemp("", "metasim-bench-")
	if err != nil {
		return nil, err
	}
	return &memoryListener{dir}, os.WriteFile(filepath.Join(dir, "m"), make([]byte, memorySize), 0o600)
}

func (l *memoryListener) url() string { return "shm://" + filepath.Join(l.dir, "m") }

func (l *memoryListener) accept(context.Context) (io.ReadWriteCloser, error) {
	return openMemory(filepath.Join(l.dir, "m"), 0)
}

func (l *memoryListener) Close() error { return os.RemoveAll(l.dir) }

func dialRawSHM(path string) (io.ReadWriteCloser, error) { return openMemory(path, 1) }
