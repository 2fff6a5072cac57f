package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A memory is a mapped file that two processes share.
type memory []byte

// fileSize is how large the file with two rings of that size is.
func fileSize(ring uint32) int { return headerSize + 2*int(ring) }

// seals keep the size of the file as it is: who maps a file that another process truncates dies of SIGBUS.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// createMemory makes a file without a name, so that nothing is left of it whatever happens to its users, and seals its
// size. The caller closes the file when the peer has it; a mapping lives on without.
func createMemory(ring uint32) (*os.File, error) {
	fd, err := memfd()
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "metasim rings")
	if err := unix.Ftruncate(fd, int64(fileSize(ring))); err != nil {
		return nil, errors.Join(fmt.Errorf("shm: size the memory: %w", err), file.Close())
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals|unix.F_SEAL_SEAL); err != nil {
		return nil, errors.Join(fmt.Errorf("shm: seal the memory: %w", err), file.Close())
	}
	return file, nil
}

// memfd asks for a file that cannot be executed either; kernels before 6.3 do not know that wish.
func memfd() (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("metasim", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("metasim", flags)
	}
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		return 0, fmt.Errorf("shm: this system gives no memory that can be shared and sealed (memfd_create: %w): %w; "+
			"use unix:///path", err, errors.ErrUnsupported)
	case err != nil:
		return 0, fmt.Errorf("shm: memfd_create: %w; free memory, or raise the limit of open files (ulimit -n)", err)
	}
	return fd, nil
}

// mapMemory maps a file with two rings of that size. It trusts neither the file's size nor that it stays: a file that
// is not sealed, or of another size than announced, is refused.
func mapMemory(file *os.File, ring uint32) (memory, error) {
	have, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("shm: the file is none whose size can be sealed: %w", err)
	}
	if have&seals != seals {
		return nil, fmt.Errorf("shm: the memory may change its size (seals %#x); seal it with %#x", have, seals)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	if info.Size() != int64(fileSize(ring)) {
		return nil, fmt.Errorf("shm: the memory has %d bytes; two rings of %d take %d", info.Size(), ring, fileSize(ring))
	}
	m, err := unix.Mmap(int(file.Fd()), 0, fileSize(ring), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shm: map %d bytes: %w", fileSize(ring), err)
	}
	return m, nil
}

// unmap gives the memory back. Nobody may touch it any more.
func (m memory) unmap() error {
	if err := unix.Munmap(m); err != nil {
		return fmt.Errorf("shm: unmap: %w", err)
	}
	return nil
}
