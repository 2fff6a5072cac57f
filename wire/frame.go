package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Reader takes frames off a byte stream.
type Reader struct {
	// MaxFrame is the longest frame. Zero: the constant MaxFrame. Tests make it small.
	MaxFrame int

	from    *bufio.Reader
	peer    string
	frame   []byte
	decoder Decoder
}

// NewReader reads frames from r. The peer's name is for errors.
func NewReader(r io.Reader, peer string) *Reader {
	return &Reader{from: bufio.NewReaderSize(r, 64<<10), peer: peer}
}

// Read waits for the next frame and returns its packets; the slice is valid until the next Read. It fails with io.EOF
// where the stream ends between two frames, with a *ProtocolError where what comes is no frame (it wraps
// io.ErrUnexpectedEOF where the stream ends inside one), and with the stream's own error where that breaks.
func (r *Reader) Read() ([]Packet, error) {
	limit := r.MaxFrame
	if limit == 0 {
		limit = MaxFrame
	}
	var length [lengthSize]byte
	if n, err := io.ReadFull(r.from, length[:]); err != nil {
		return nil, r.ended(err, n, lengthSize)
	}
	size := binary.LittleEndian.Uint32(length[:])
	if uint64(size) > uint64(limit) {
		return nil, &ProtocolError{
			Peer: r.peer, What: fmt.Sprintf("a frame of %d bytes", size), Bound: fmt.Sprintf("a frame has at most %d", limit),
			Remedy: speak,
		}
	}
	if err := r.fill(int(size)); err != nil {
		return nil, err
	}
	packets, err := r.decoder.Packets(r.frame)
	if cap(r.frame) > keepBuffer {
		r.frame = nil
	}
	if err != nil {
		return nil, from(r.peer, err)
	}
	return packets, nil
}

// fill reads a frame of that size. Memory grows with what comes, not with what was announced.
func (r *Reader) fill(size int) error {
	r.frame = r.frame[:0]
	for len(r.frame) < size {
		have := len(r.frame)
		if have == cap(r.frame) {
			grown := make([]byte, have, min(size, max(64<<10, 2*have)))
			copy(grown, r.frame)
			r.frame = grown
		}
		r.frame = r.frame[:min(size, cap(r.frame))]
		if n, err := io.ReadFull(r.from, r.frame[have:]); err != nil {
			return r.ended(err, lengthSize+have+n, lengthSize+size)
		}
	}
	return nil
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
	_, err = w.to.Write(frames)
	w.encoder.release()
	if err != nil {
		return fmt.Errorf("wire: write to %s: %w", w.peer, err)
	}
	return nil
}
