package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The layout of the memory, as the package comment describes it.
const (
	headerSize = 4096 // before the bytes of the first ring: a page
	ringStride = 512  // from the words of the first ring to those of the second
	atTail     = 0    // the words of a ring; each has two cache lines to itself, as processors load them in pairs
	atHead     = 128
	atReader   = 256
	atWriter   = 384

	// ringSize is the size of each ring that a client makes: about the buffer of a unix socket in Linux, so that a writer
	// may be as far ahead, and small enough that both rings fit into the cache of one core.
	ringSize    = 256 << 10
	minRingSize = 16
	maxRingSize = 16 << 20
)

// A memory is a mapped file that two processes share.
type memory []byte

// fileSize is the size of the file with two rings of this size, in bytes.
func fileSize(ring uint32) int { return headerSize + 2*int(ring) }

// seals fix the size of the file: a process that maps a file which another one truncates dies of SIGBUS.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// createMemory makes a file without a name, so that nothing is left of it when its users die, and seals its size. The
// caller closes the file when the peer has it; the mappings stay.
func createMemory(ring uint32) (*os.File, error) {
	fd, err := memfd()
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "metasim rings")
	if err := unix.Ftruncate(fd, int64(fileSize(ring))); err != nil {
		return nil, errors.Join(fmt.Errorf("size the memory: %w", err), file.Close())
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals|unix.F_SEAL_SEAL); err != nil {
		return nil, errors.Join(fmt.Errorf("seal the memory: %w", err), file.Close())
	}
	return file, nil
}

// memfd also asks for a file that cannot be executed; kernels before 6.3 do not know this flag.
func memfd() (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("metasim", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("metasim", flags)
	}
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		return 0, fmt.Errorf("this system has no memory that can be shared and sealed (memfd_create: %w): %w; "+
			"use unix:///path", err, errors.ErrUnsupported)
	case err != nil:
		return 0, fmt.Errorf("memfd_create: %w; free memory, or raise the limit of open files (ulimit -n)", err)
	}
	return fd, nil
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
