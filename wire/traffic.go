package wire

import "encoding/binary"

// Traffic is what has gone over a connection, in each direction as its owner sees it. A frame is counted with its length.
type Traffic struct {
	FramesIn  uint64 // read, whole and in order
	FramesOut uint64 // that the transport took; of the last one perhaps a part
	BytesIn   uint64 // of the frames that were read
	BytesOut  uint64 // that the transport took
}

// Add adds the traffic of another connection.
func (t *Traffic) Add(u Traffic) {
	t.FramesIn += u.FramesIn
	t.FramesOut += u.FramesOut
	t.BytesIn += u.BytesIn
	t.BytesOut += u.BytesOut
}

// A tally counts frames and their bytes. It belongs to one goroutine at a time.
type tally struct {
	frames, bytes uint64
	left          uint32           // bytes of the frame at hand that have not come
	length        [lengthSize]byte // of the next frame
	have          uint8            // how many bytes of that have come
}

// frame counts one whole frame.
func (t *tally) frame(size int) {
	t.frames++
	t.bytes += uint64(size)
}

// stream counts frames as they follow what came before, wherever that was cut. A frame counts once its length is known.
func (t *tally) stream(b []byte) {
	t.bytes += uint64(len(b))
	for len(b) > 0 {
		if t.left > 0 {
			n := min(len(b), int(t.left))
			t.left -= uint32(n)
			b = b[n:]
			continue
		}
		n := copy(t.length[t.have:], b)
		t.have += uint8(n)
		b = b[n:]
		if t.have == lengthSize {
			t.left = binary.LittleEndian.Uint32(t.length[:])
			t.frames++
			t.have = 0
		}
	}
}
