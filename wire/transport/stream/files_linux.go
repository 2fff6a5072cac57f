package stream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"metasim/wire"
)

// MemoryFile makes a file in memory. It has no name, and it can be sealed. On a system without such files the error is errors.ErrUnsupported.
func MemoryFile(name string) (*os.File, error) {
	// It cannot be executed; kernels before 6.3 do not know that flag.
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("metasim", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("metasim", flags)
	}
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		return nil, fmt.Errorf("this system has no memory that can be shared and sealed (memfd_create: %w): %w; "+
			"use unix:///path", err, errors.ErrUnsupported)
	case err != nil:
		return nil, fmt.Errorf("memfd_create: %w; free memory, or raise the limit of open files (ulimit -n)", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// partSeals let nobody change a file: neither its bytes nor its size.
const partSeals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// greetingFile is an empty file, which says that a side takes descriptors. Nil: this system has none.
var greetingFile = sync.OnceValue(func() *os.File {
	f, err := MemoryFile("metasim greeting")
	if err != nil {
		return nil
	}
	return f
})

// makePart makes a sealed file of bytes.
func makePart(parts ...[]byte) (*os.File, error) {
	f, err := MemoryFile("metasim part")
	if err != nil {
		return nil, err
	}
	for _, b := range parts {
		if err == nil {
			_, err = f.Write(b)
		}
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, partSeals|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// A partFile is a part of a stream that came in a file.
type partFile struct {
	file *os.File
	size int
	at   int // what was read of it
}

// A wrongFile says why a file is refused.
type wrongFile struct{ what, bound string }

func (w *wrongFile) Error() string { return w.what + "; " + w.bound }

// openPart looks at a file that has come, and takes it over unless it fails. What it accepts cannot change any more, has all its memory, and nobody
// waits who reads it: so no peer can have this side see two contents, die of SIGBUS, or hang.
func openPart(f *os.File) (*partFile, error) {
	fd := int(f.Fd())
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&partSeals != partSeals {
		return nil, &wrongFile{"a descriptor of what is not sealed", "what comes apart is a file in memory that can be neither written nor resized"}
	}
	if mode, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || mode&unix.O_ACCMODE == unix.O_WRONLY {
		return nil, &wrongFile{"a descriptor of what cannot be read", "what comes apart is a file in memory that is open for reading"}
	}
	var info unix.Stat_t
	var system unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &info), unix.Fstatfs(fd, &system)); err != nil {
		return nil, err
	}
	switch {
	case system.Type != unix.TMPFS_MAGIC: // huge pages would be mapped beyond the memory that is for them
		return nil, &wrongFile{fmt.Sprintf("a file in a file system of type %#x", system.Type), "what comes apart is a file of memfd_create without huge pages"}
	case info.Size == 0 || info.Size > wire.MaxFrame:
		return nil, &wrongFile{fmt.Sprintf("a file of %d bytes", info.Size), fmt.Sprintf("what comes apart has from 1 to %d", wire.MaxFrame)}
	case info.Blocks*512 < info.Size:
		return nil, &wrongFile{fmt.Sprintf("a file of %d bytes with %d in memory", info.Size, info.Blocks*512), "what comes apart has no holes"}
	}
	return &partFile{file: f, size: int(info.Size)}, nil
}

func (f *partFile) left() int { return f.size - f.at }

func (f *partFile) read(b []byte) (int, error) {
	n, err := f.file.ReadAt(b[:min(len(b), f.left())], int64(f.at))
	f.at += n
	if err == io.EOF && n > 0 { // it ends with what was asked for
		err = nil
	}
	return n, err
}

func (f *partFile) close() error { return f.file.Close() }

// mostKept is how many files a KeptFiles keeps. Each takes a descriptor and a few mappings.
const mostKept = 128

// KeptFiles are the files whose bytes are in payloads of this process, for as long as these are used: so they can be sent on as they are.
type KeptFiles struct {
	mu    sync.Mutex
	parts map[uintptr]*partFile // by the address of their first byte. A finalizer takes a file out before its memory is used again
	lost  []unsafe.Pointer      // memory that is never given back, as nothing could be put in the place of its file
	heap  reserve
}

// find returns the descriptor of the file that has these bytes and no others. It is valid for as long as they are used.
func (k *KeptFiles) find(b []byte) (fd int, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.parts[uintptr(unsafe.Pointer(unsafe.SliceData(b)))]
	if f == nil || f.size != len(b) {
		return 0, false
	}
	return int(f.file.Fd()), true
}

// behind returns head with a file behind it, in memory that stays valid and has room for more, and takes the file over.
//
// The file is mapped in the place of memory of the Go heap. So it is the collector that knows for how long it is used, as with everything else, and before it
// gives the memory to somebody else, a finalizer puts empty memory in its place. The mapping is private: who writes to it, which nobody may, writes to a copy.
func (k *KeptFiles) behind(head []byte, f *partFile, room int) ([]byte, error) {
	whole, mapped := k.mapBehind(head, f, room)
	if mapped {
		return whole, nil
	}
	_, err := f.file.ReadAt(whole[len(head):], 0)
	_ = f.close() // it was read
	return whole, err
}

// copyOf returns a copy of parts, one behind the other, that is in a file from a byte on. Nil: this system has no room for one more.
func (k *KeptFiles) copyOf(parts [][]byte, from int) []byte {
	head, rest := make([]byte, 0, from), make([][]byte, 0, len(parts))
	size := -from
	for _, p := range parts {
		size += len(p)
		n := min(from-len(head), len(p))
		head, rest = append(head, p[:n]...), append(rest, p[n:])
	}
	if k.full() {
		return nil
	}
	file, err := makePart(rest...)
	if err != nil {
		return nil
	}
	f := &partFile{file: file, size: size}
	whole, mapped := k.mapBehind(head, f, 0)
	if !mapped {
		_ = f.close() // nobody has read it
		return nil
	}
	return whole
}

// mapBehind is behind for a file that can be mapped. If this one cannot, its place is memory as any other, and the caller still has the file.
func (k *KeptFiles) mapBehind(head []byte, f *partFile, room int) (whole []byte, mapped bool) {
	page := uintptr(os.Getpagesize())
	length := roundUp(uintptr(f.size), page)
	all := uncleared(len(head) + int(page+length) + room)
	base := uintptr(unsafe.Pointer(unsafe.SliceData(all)))
	at := roundUp(base+uintptr(len(head)), page) - base
	begin := int(at) - len(head)
	whole = all[begin : int(at)+f.size : int(at)+f.size+room]
	copy(whole, head)
	if !k.keep(base+at, f) {
		return whole, false
	}
	if mapPart(unsafe.Pointer(&all[at]), length, int(f.file.Fd())) == nil {
		runtime.SetFinalizer(&all[0], func(first *byte) {
			_ = k.giveBack(unsafe.Add(unsafe.Pointer(first), at), length).close() // nothing was written to it
		})
		return whole, true
	}
	k.giveBack(unsafe.Pointer(&all[at]), length)
	return whole, false
}

// full reports whether no more files are kept.
func (k *KeptFiles) full() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.parts) >= mostKept
}

// keep notes where the bytes of a file will be. It reports false if too many are kept.
func (k *KeptFiles) keep(at uintptr, f *partFile) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.parts) >= mostKept {
		return false
	}
	if k.parts == nil {
		k.parts = map[uintptr]*partFile{}
	}
	k.parts[at] = f
	k.heap.fit(f.size)
	return true
}

// giveBack ends the use of a file, which it returns, and makes its place memory as any other.
func (k *KeptFiles) giveBack(place unsafe.Pointer, length uintptr) *partFile {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.parts[uintptr(place)]
	delete(k.parts, uintptr(place))
	if mapPart(place, length, -1) != nil {
		k.lost = append(k.lost, place)
	}
	return f
}

// mapPart puts a file, or empty memory for the descriptor -1, in the place of memory. What the system returns is that place: the check of pointers, which is on with the race
// detector, does not see that.
//
//go:nocheckptr
func mapPart(place unsafe.Pointer, length uintptr, fd int) error {
	flags := unix.MAP_PRIVATE | unix.MAP_FIXED
	if fd < 0 {
		flags |= unix.MAP_ANONYMOUS
	}
	_, err := unix.MmapPtr(fd, 0, place, length, unix.PROT_READ|unix.PROT_WRITE, flags)
	return err
}

func roundUp(n, to uintptr) uintptr { return (n + to - 1) / to * to }
