package bus

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A segmenter lets the system cut one large write into datagrams of one size (UDP_SEGMENT, "GSO"; Linux 4.18), so that it
// passes through its layers once for all of them. Without a receiver a datagram of 140 bytes then takes 0.15 us instead of
// 2.2 us. The datagrams on the wire are the same. It works for runs of one size, which a steady stream of messages has.
type segmenter struct {
	off bool // the system has refused it
}

const (
	maxSegments    = 64   // UDP_MAX_SEGMENTS in every kernel that has it
	maxSegmentSize = 1200 // bytes; the system refuses a segment that does not fit into the MTU with its headers
)

// run returns how many of the datagrams, from the first on, can be sent with one write. The last of them may be shorter.
func (s *segmenter) run(ds []datagram) int {
	size := ds[0].size()
	if s.off || size > maxSegmentSize {
		return 1
	}
	n := 1
	for n < min(len(ds), maxSegments, maxShort/size) && ds[n].size() <= size {
		n++
		if ds[n-1].size() < size {
			break
		}
	}
	return n
}

// control returns the control message that asks for segments of size bytes.
func (s *segmenter) control(size int) []byte {
	b := make([]byte, unix.CmsgSpace(2))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0])) // CmsgSpace has room for the header; make aligns it
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	*(*uint16)(unsafe.Pointer(&b[unix.CmsgLen(0)])) = uint16(size)
	return b
}

// refused reports whether an error may be about segments. Then segments are not used again.
func (s *segmenter) refused(err error) bool {
	for _, e := range []error{unix.EINVAL, unix.EIO, unix.EMSGSIZE, unix.EOPNOTSUPP, unix.ENOPROTOOPT} {
		s.off = s.off || errors.Is(err, e)
	}
	return s.off
}
