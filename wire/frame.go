package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// How much a Reader reads ahead: little for a peer that says little, as there may be ten thousand; more for one that
// fills it, and less again after so many reads that left most of it empty. A frame that fits is decoded where it lies.
const (
	minAhead = 1 << 10
	maxAhead = 64 << 10
	fewReads = 32
)

// firstPiece is how much memory a large frame is given before more of it comes.
const firstPiece = 256 << 10

// A Reader takes frames off a byte stream.
type Reader struct {
	// MaxFrame is the longest frame. Zero: the constant MaxFrame. Tests make it small.
	MaxFrame int

	from    io.Reader
	peer    string
	buf     []byte
	ahead   []byte // the part of buf that was read and not yet decoded
	full    bool   // the last read filled buf: a larger one saves reads
	few     int    // how many reads in a row left three quarters of buf empty
	large   []byte // memory for a frame that does not fit buf, where no payload kept it
	largest int    // the largest frame that came whole
	decoder Decoder
	taken   tally
}

// NewReader reads frames from r. The peer's name is for errors.
func NewReader(r io.Reader, peer string) *Reader { return &Reader{from: r, peer: peer} }

// Read waits for the next frame and returns its packets, and those of the frames that came with it; they are valid until
// the next Read. It fails with io.EOF
// where the stream ends between two frames, with a *ProtocolError where what comes is no frame (it wraps
// io.ErrUnexpectedEOF where the stream ends inside one), and with the stream's own error where that breaks.
func (r *Reader) Read() ([]Packet, error) {
	limit := r.MaxFrame
	if limit == 0 {
		limit = MaxFrame
	}
	if err := r.await(lengthSize); err != nil {
		return nil, r.ended(err, len(r.ahead), lengthSize)
	}
	size := binary.LittleEndian.Uint32(r.ahead)
	if uint64(size) > uint64(limit) {
		return nil, &ProtocolError{
			Peer: r.peer, What: fmt.Sprintf("a frame of %d bytes", size), Bound: fmt.Sprintf("a frame has at most %d", limit),
			Remedy: speak,
		}
	}
	whole := lengthSize + int(size)
	if whole > maxAhead {
		return r.readLarge(int(size))
	}
	if err := r.await(whole); err != nil {
		return nil, r.ended(err, len(r.ahead), whole)
	}
	packets, err := r.decoder.Packets(r.ahead[lengthSize:whole])
	r.ahead = r.ahead[whole:]
	if err != nil {
		return nil, from(r.peer, err)
	}
	r.taken.frame(whole)
	for len(packets) < manyPackets && r.another(limit) {
		packets = r.decoder.packets
	}
	return packets, nil
}

// Taken is how many frames were read, and their bytes. No Read is under way meanwhile.
func (r *Reader) Taken() (frames, bytes uint64) { return r.taken.frames, r.taken.bytes }

// manyPackets is how many packets a Read returns without looking for more.
const manyPackets = 1 << 10

// another decodes one more frame, if all of it lies ahead and it is in order: what is wrong with it is for the next Read
// to say.
func (r *Reader) another(limit int) bool {
	if len(r.ahead) < lengthSize {
		return false
	}
	size := binary.LittleEndian.Uint32(r.ahead)
	if uint64(size) > uint64(min(limit, len(r.ahead)-lengthSize)) {
		return false
	}
	whole := lengthSize + int(size)
	if r.decoder.add(r.ahead[lengthSize:whole]) != nil {
		return false
	}
	r.ahead = r.ahead[whole:]
	r.taken.frame(whole)
	return true
}

// Ready reports whether a Read would return without waiting, or wait for the rest of a large frame only. What it reads
// to find out comes from try, which fails with io.ErrNoProgress where there is nothing yet.
func (r *Reader) Ready(try io.Reader) bool {
	for looked := false; ; looked = true {
		if len(r.ahead) >= lengthSize {
			whole := lengthSize + uint64(binary.LittleEndian.Uint32(r.ahead))
			if whole > maxAhead || uint64(len(r.ahead)) >= whole {
				return true
			}
		}
		if looked {
			return false
		}
		from := r.from
		r.from = try
		err := r.await(len(r.ahead) + 1)
		r.from = from
		if err != nil {
			return !errors.Is(err, io.ErrNoProgress) // a Read will say it again
		}
	}
}

// await reads until n bytes lie ahead, and takes what comes with them. On an error there are fewer.
func (r *Reader) await(n int) error {
	have := len(r.ahead)
	if have >= n {
		return nil
	}
	size := max(len(r.buf), minAhead)
	if r.few >= fewReads && size > minAhead {
		size, r.few = size/2, 0
	}
	for size < n || r.full && size < maxAhead {
		size, r.full = 2*size, false
	}
	buf := r.buf
	if size != len(buf) {
		buf = make([]byte, size)
	}
	copy(buf, r.ahead)
	more, err := io.ReadAtLeast(r.from, buf[have:], n-have)
	r.buf, r.ahead, r.full = buf, buf[:have+more], have+more == len(buf)
	switch {
	case 4*(have+more) > len(buf):
		r.few = 0
	case more > 0:
		r.few++
	}
	return err
}

// readLarge reads a frame into memory of its own, which a large payload may keep.
func (r *Reader) readLarge(size int) ([]Packet, error) {
	r.ahead = r.ahead[lengthSize:]
	frame := r.large[:0]
	for r.large = nil; len(frame) < size; {
		if len(frame) == cap(frame) {
			frame = r.grow(frame, size)
		}
		have := len(frame)
		frame = frame[:min(size, cap(frame))]
		n := copy(frame[have:], r.ahead)
		r.ahead = r.ahead[n:]
		m, err := io.ReadFull(r.from, frame[have+n:])
		if err != nil {
			return nil, r.ended(err, lengthSize+have+n+m, lengthSize+size)
		}
	}
	r.largest = max(r.largest, size)
	packets, kept, err := r.decoder.take(frame)
	if err == nil {
		r.taken.frame(lengthSize + size)
	}
	if !kept && cap(frame) <= keepBuffer {
		r.large = frame
	}
	return packets, from(r.peer, err)
}

// grow makes room for more of a frame: all at once where one as large came before, and otherwise by what has come. So
// a length that is announced costs little.
func (r *Reader) grow(frame []byte, size int) []byte {
	grown := make([]byte, len(frame), min(size, max(firstPiece, 4*len(frame), r.largest)))
	copy(grown, frame)
	return grown
}

// ended tells an end between two frames from one inside a frame, of which have bytes came.
func (r *Reader) ended(err error, have, size int) error {
	if err == io.EOF && have == 0 {
		return io.EOF
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("wire: read from %s: %w", r.peer, err)
	}
	return &ProtocolError{
		Peer: r.peer, What: fmt.Sprintf("%d bytes of a frame", have), Bound: fmt.Sprintf("at least %d belong to it", size),
		Remedy: "close a connection between two frames", Err: io.ErrUnexpectedEOF,
	}
}

// A Writer puts frames on a byte stream.
type Writer struct {
	to      io.Writer
	peer    string
	encoder Encoder
	given   tally
}

// NewWriter writes frames to w. The peer's name is for errors.
func NewWriter(w io.Writer, peer string) *Writer { return &Writer{to: w, peer: peer} }

// Write sends packets, in order, in one write. It fails with a *ProtocolError where they cannot be sent, and nothing
// was sent then; and with the stream's own error where that breaks.
func (w *Writer) Write(packets []Packet) error {
	frames, err := w.encoder.Frames(packets)
	if err != nil || len(frames) == 0 {
		return err
	}
	err = w.WriteFrames(frames)
	w.encoder.release()
	return err
}

// WriteFrames sends what an Encoder made, in one write.
func (w *Writer) WriteFrames(frames []byte) error {
	n, err := w.to.Write(frames)
	w.given.stream(frames[:n])
	if err != nil {
		return fmt.Errorf("wire: write to %s: %w", w.peer, err)
	}
	return nil
}

// Note takes notice of what was sent past the Writer: all of some frames, or a part after which the rest follows.
func (w *Writer) Note(sent []byte) { w.given.stream(sent) }

// Given is how many frames went out, and how many bytes of them. No Write is under way meanwhile.
func (w *Writer) Given() (frames, bytes uint64) { return w.given.frames, w.given.bytes }
