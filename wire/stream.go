package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"metasim/internal/slab"
)

const (
	// A Reader reads ahead minAhead bytes at first, as there may be ten thousand connections. The buffer doubles up to
	// maxAhead when a read fills it, and halves after fewReads reads that left three quarters of it empty. A frame that
	// fits into the buffer is decoded in it.
	minAhead = 1 << 10
	maxAhead = 64 << 10
	fewReads = 32
	// firstPiece is how much memory a larger frame gets before more of it has come.
	firstPiece = 256 << 10
	// manyPackets is how many packets a Read returns without looking for more.
	manyPackets = 1 << 10
)

// A Reader takes frames off a byte stream.
type Reader struct {
	// MaxFrame is the longest frame. Zero: the constant MaxFrame. Tests make it small.
	MaxFrame int

	from    io.Reader
	apart   apart // nil: nothing comes apart
	peer    string
	buf     []byte
	ahead   []byte // the part of buf that was read and is not decoded yet
	full    bool   // the last read filled buf
	few     int    // how many reads in a row left three quarters of buf empty
	broken  error  // of a read of Ready: the next Read returns it
	large   []byte // memory for the next frame that does not fit buf; nil if a payload keeps the last one
	largest int    // bytes of the largest such frame so far

	visitor atomic.Bool
	admit   func(token string) bool // set if the peer was ever a visitor

	decoder Decoder
	taken   tally
}

// NewReader reads frames from r. The peer's name is for errors.
func NewReader(r io.Reader, peer string) *Reader {
	parts, _ := r.(apart)
	return &Reader{from: r, apart: parts, peer: peer}
}

// An apart is a stream of which some parts come in memory of their own. A Read before such a part returns what is before it, perhaps nothing.
type apart interface {
	// Apart returns the size of the part that is next; 0 if there is none.
	Apart() int
	// TakeApart reads that part. It returns a copy of head with the part behind it, which is not copied if that can be avoided, and then room for so many bytes.
	TakeApart(head []byte, room int) ([]byte, error)
}

// Read waits for the next frame and returns its packets, and those of the frames that came with it; they are valid until
// the next Read. It fails with io.EOF when the stream ends between two frames, with a *ProtocolError when a frame is wrong
// (it wraps io.ErrUnexpectedEOF when the stream ends inside one), and with the stream's own error when that breaks.
func (r *Reader) Read() ([]Packet, error) {
	limit := cmp.Or(r.MaxFrame, MaxFrame)
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
	if size > maxVisitor && r.visitor.Load() {
		if err := r.checkVisitor(size); err != nil {
			return nil, err
		}
	}
	if whole > maxAhead {
		return r.readLarge(int(size))
	}
	if err := r.await(whole); err != nil {
		return nil, r.ended(err, len(r.ahead), whole)
	}
	packets, err := r.decoder.Packets(r.ahead[lengthSize:whole])
	r.ahead = r.ahead[whole:]
	if err != nil {
		return nil, withPeer(r.peer, err)
	}
	r.taken.frame(whole)
	for len(packets) < manyPackets && r.another(limit) {
		packets = r.decoder.packets
	}
	return packets, nil
}

// Taken returns how many frames were read, and their bytes. It must not be called during a Read.
func (r *Reader) Taken() (frames, bytes uint64) { return r.taken.frames, r.taken.bytes }

// another decodes one more frame, if all of it is in the buffer. A frame that is wrong is left for the next Read.
func (r *Reader) another(limit int) bool {
	if len(r.ahead) < lengthSize {
		return false
	}
	if r.visitor.Load() {
		limit = min(limit, maxVisitor)
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

// Ready reports whether a Read would return without waiting, or would wait for the rest of a large frame only. To find out
// it reads from try, which fails with io.ErrNoProgress if nothing has come.
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
		if errors.Is(err, io.ErrNoProgress) {
			return false
		}
		if err != nil {
			r.broken = err // a stream says it once
			return true
		}
	}
}

// await reads until n bytes are in the buffer, or more if more has come. On an error there are fewer.
func (r *Reader) await(n int) error {
	have := len(r.ahead)
	if have >= n {
		return nil
	}
	if r.broken != nil {
		return r.broken
	}
	size := max(len(r.buf), minAhead)
	if r.few >= fewReads && size > minAhead {
		size, r.few = size/2, 0
	}
	for size < n || r.full && size < r.mostAhead() {
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

// mostAhead is the largest size of the buffer. That of a visitor holds two frames.
func (r *Reader) mostAhead() int {
	if r.visitor.Load() {
		return 2 * maxVisitor
	}
	return maxAhead
}

// Guard makes the peer a visitor, before the first Read: see Guarded.
func (r *Reader) Guard(admit func(token string) bool) {
	r.admit = admit
	r.visitor.Store(true)
}

// Trust says that the peer is no visitor any more.
func (r *Reader) Trust() { r.visitor.Store(false) }

// Visitor reports whether the peer is one.
func (r *Reader) Visitor() bool { return r.visitor.Load() }

// checkVisitor refuses a large frame of a visitor, unless it begins with a Hello that has the token: only then memory is
// taken for the rest.
func (r *Reader) checkVisitor(size uint32) error {
	if err := r.await(lengthSize + maxVisitor); err != nil {
		return r.ended(err, len(r.ahead), lengthSize+int(size))
	}
	if token, ok := tokenOf(r.ahead[lengthSize : lengthSize+maxVisitor]); ok && r.admit(token) {
		return nil
	}
	return &ProtocolError{
		Peer: r.peer, What: fmt.Sprintf("a frame of %d bytes before it has joined", size),
		Bound:  fmt.Sprintf("a frame without a Hello and the join token in its first %d bytes has at most that many", maxVisitor),
		Remedy: "begin with the Hello, and put its token before its lists",
	}
}

// readLarge reads a frame into memory of its own, which a large payload may keep.
func (r *Reader) readLarge(size int) ([]Packet, error) {
	r.ahead = r.ahead[lengthSize:]
	frame, err := r.readHead(r.large[:0], size)
	for r.large = nil; len(frame) < size; {
		if len(frame) == cap(frame) {
			frame = r.grow(frame, size)
		}
		have := len(frame)
		frame = frame[:min(size, cap(frame))]
		n := copy(frame[have:], r.ahead)
		r.ahead = r.ahead[n:]
		m := 0
		if err == nil {
			m, err = io.ReadFull(r.from, frame[have+n:])
		}
		if err != nil {
			return nil, r.ended(err, lengthSize+have+n+m, lengthSize+size)
		}
	}
	r.largest = max(r.largest, size)
	packets, kept, err := r.decoder.take(frame)
	if err == nil {
		r.taken.frame(lengthSize + size)
	}
	if !kept && cap(frame) <= maxIdle {
		r.large = frame
	}
	return packets, withPeer(r.peer, err)
}

// readHead reads the beginning of a large frame, with the payload in it that comes apart.
func (r *Reader) readHead(frame []byte, size int) ([]byte, error) {
	if r.apart == nil {
		return frame, nil
	}
	most := min(size, maxAhead)
	frame = slices.Grow(frame, most)
	for {
		n := copy(frame[len(frame):most], r.ahead)
		r.ahead = r.ahead[n:]
		frame = frame[:len(frame)+n]
		if part := r.apart.Apart(); part > 0 && len(frame)+part <= size {
			whole, err := r.apart.TakeApart(frame, size-len(frame)-part)
			if err != nil {
				return frame, err
			}
			return whole, nil
		}
		if len(frame) == most || r.apart.Apart() > 0 {
			return frame, nil
		}
		n, err := r.from.Read(frame[len(frame):most])
		frame = frame[:len(frame)+n]
		if err != nil {
			return frame, err
		}
	}
}

// grow makes room for more of a frame: all of it if a frame as large came before, and otherwise four times what has come,
// so that a length alone does not cost much memory.
func (r *Reader) grow(frame []byte, size int) []byte {
	grown := make([]byte, len(frame), min(size, max(firstPiece, 4*len(frame), r.largest)))
	copy(grown, frame)
	return grown
}

// ended is the error of a stream that ended or broke when have bytes of size had come. The end between two frames is io.EOF.
func (r *Reader) ended(err error, have, size int) error {
	if err == io.EOF && have == 0 {
		return io.EOF
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read from %s: %w", r.peer, err)
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
	frames  Frames
	use     slab.Use // of the memory of frames
	given   tally
}

// NewWriter writes frames to w. The peer's name is for errors.
func NewWriter(w io.Writer, peer string) *Writer { return &Writer{to: w, peer: peer} }

// Write sends packets, in order, in one write, and the rest of each large payload in one more. It fails with a *ProtocolError when a packet cannot
// be sent, and then nothing was sent; and with the stream's own error when that breaks.
func (w *Writer) Write(packets []Packet) error {
	if err := w.encoder.Append(&w.frames, packets); err != nil {
		return err
	}
	err := w.frames.WriteAll(w)
	w.frames.Reuse(&w.use, minAhead, maxIdle)
	w.encoder.release()
	return err
}

// WriteFrames sends bytes of frames, in one write. They may end within a frame, which the next ones go on with.
func (w *Writer) WriteFrames(frames []byte) error {
	n, err := w.to.Write(frames)
	w.given.stream(frames[:n])
	if err != nil {
		return fmt.Errorf("write to %s: %w", w.peer, err)
	}
	return nil
}

// Note counts bytes of frames that the caller sent itself. The next ones continue where they end.
func (w *Writer) Note(sent []byte) { w.given.stream(sent) }

// Given returns how many frames were written, and their bytes. It must not be called during a Write.
func (w *Writer) Given() (frames, bytes uint64) { return w.given.frames, w.given.bytes }

// A tally counts frames and their bytes. It is not safe for concurrent use.
type tally struct {
	frames, bytes uint64
	left          uint32           // bytes of the current frame that have not come
	length        [lengthSize]byte // the length of the next frame, as far as it has come
	have          uint8            // how many bytes of length have come
}

// frame counts one whole frame.
func (t *tally) frame(size int) {
	t.frames++
	t.bytes += uint64(size)
}

// stream counts the next bytes of a stream of frames, which may be cut anywhere. A frame counts once its length is known.
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
