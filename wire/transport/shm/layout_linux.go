package shm

import (
	"encoding/binary"
	"fmt"
)

// The layout of the memory, as doc.go draws it. Both sides are of one version and check so in the greeting.
const (
	magic   = "metasim\x00" // the first bytes of a greeting
	version = 1             // of the layout: the protocol's own version travels in the Hello

	headerSize = 4096 // before the bytes of the first ring: a page
	ringStride = 512  // from the words of the first ring to those of the second
	atTail     = 0    // the words of a ring; each has two cache lines to itself, as processors fetch them in pairs
	atHead     = 128
	atReader   = 256
	atWriter   = 384

	// ringSize is what a client gives each ring. It is about what Linux gives a unix socket, so that who may write
	// ahead of a reader there may do so here, and small enough that both rings stay in a core's own cache.
	ringSize    = 256 << 10
	minRingSize = 16
	maxRingSize = 16 << 20
)

const greetingSize = 16

// A greeting is what the client says with its memory on the socket, and the server back when it has mapped it: the
// magic, the version (u32) and the size of each ring (u32), little-endian.
func greeting(size uint32) []byte {
	b := append(make([]byte, 0, greetingSize), magic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	return binary.LittleEndian.AppendUint32(b, size)
}

// readGreeting returns the size of each ring.
func readGreeting(b []byte) (uint32, error) {
	if len(b) != greetingSize || string(b[:len(magic)]) != magic {
		return 0, fmt.Errorf("the peer does not speak of shared memory; use the URL that its server printed")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return 0, fmt.Errorf("the peer's memory has layout %d and ours %d; use one metasim on both sides", v, version)
	}
	size := binary.LittleEndian.Uint32(b[12:])
	if size < minRingSize || size > maxRingSize || size&(size-1) != 0 {
		return 0, fmt.Errorf("the peer's rings have %d bytes; use a power of two from %d to %d",
			size, minRingSize, maxRingSize)
	}
	return size, nil
}
