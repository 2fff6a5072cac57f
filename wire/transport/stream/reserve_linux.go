package stream

import (
	"math"
	"runtime/metrics"
	"strings"
	"unsafe"
)

const (
	reservedFiles = 4        // so many files of the largest size that has come
	mostReserved  = 64 << 20 // bytes
)

// A reserve is a part of the heap that nobody touches, so the system gives no page of it. The collector counts it as memory in use, and lets as much more garbage gather. The bytes
// of a file count as garbage in each process that maps it, but their memory is there once. Without a reserve a process that receives files of 16 MiB, and does little else, would be
// collected at every second one.
type reserve []byte

// fit has the reserve fit files of a size, unless the program says itself how often its garbage is collected.
func (r *reserve) fit(size int) {
	wanted := min(reservedFiles*size, mostReserved)
	if wanted > len(*r) && collectedByDefault() {
		*r = uncleared(min(max(wanted, 2*len(*r)), mostReserved)) // each time twice as much, where each file is a little larger
	}
}

// collectedByDefault reports whether neither GOGC nor GOMEMLIMIT, nor what sets the same in the program, has another value than Go's.
func collectedByDefault() bool {
	set := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(set)
	return set[0].Value.Uint64() == 100 && set[1].Value.Uint64() == math.MaxInt64
}

// uncleared returns memory of its own, of which no page is touched but the first.
func uncleared(size int) []byte {
	var b strings.Builder // as append and make clear what they return
	b.Grow(size)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), size)
}
