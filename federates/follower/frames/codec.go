package frames

import (
	"encoding/binary"
	"fmt"
	"image"
	"math"

	"metasim/metasim"
)

// Every message begins with its kind and the version. Numbers are little-endian; a string or a list of bytes has its length (u32)
// before it, a list its number of elements (u32).

// A reader reads a message. After an error it reads zeros, and keeps the error.
type reader struct {
	rest    []byte
	version uint8
	err     error
}

// fail notes that the message makes no sense.
func (r *reader) fail() {
	if r.err == nil {
		r.rest, r.err = nil, &PeerError{Code: InvalidParameters, Why: "sent what is no message of followers; check what is published on its channel"}
	}
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// flag reads what is 0 or 1.
func (r *reader) flag() bool {
	v := r.u8()
	if v > 1 {
		r.fail()
	}
	return v == 1
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// float reads a number that is finite.
func (r *reader) float() float64 {
	x := math.Float64frombits(r.u64())
	if math.IsNaN(x) || math.IsInf(x, 0) {
		r.fail()
	}
	return x
}

// time reads a time, which is at the start or later.
func (r *reader) time() metasim.Time {
	t := metasim.Time(r.u64())
	if t < 0 {
		r.fail()
	}
	return t
}

func (r *reader) block() []byte { return r.bytes(r.u32()) }

// count reads how many elements follow, each of at least so many bytes.
func (r *reader) count(least uint32) uint32 {
	n := r.u32()
	if uint64(n)*uint64(least) > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return n
}

// begin reads the kind of a message.
func begin(b []byte) (kind, *reader) {
	r := &reader{rest: b}
	k := kind(r.u8())
	r.version = r.u8()
	newer := r.version == streamsVersion && (k == kindRequest || k == kindBack) || r.version == packedVersion && k == kindRequest
	if r.err == nil && r.version != protocolVersion && !newer {
		r.err = &PeerError{Code: Incompatible, Why: fmt.Sprintf("speaks version %d of followers, this one %d; run the same metasim on both", r.version, packedVersion)}
	}
	return k, r
}

// end returns what was wrong with a message that is read.
func (r *reader) end(from string) error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail()
	}
	if peer, ok := r.err.(*PeerError); ok {
		peer.Peer = from
	}
	return r.err
}

func head(k kind, size int) []byte { return append(make([]byte, 0, size+2), byte(k), protocolVersion) }

func put32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }
func put64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

func putFlag(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func putBlock[T string | []byte](b []byte, v T) []byte { return append(put32(b, uint32(len(v))), v...) }

func (q *request) encode() []byte {
	b := put32(head(kindRequest, 128), q.epoch)
	b = put64(b, uint64(q.previous))
	d := &q.data
	b = put64(b, d.Frame)
	b = put64(b, uint64(d.Tracked))
	b = put64(b, uint64(d.Local))
	b = put64(b, uint64(d.Delta))
	b = put32(put32(b, d.Rate.Num), d.Rate.Den)
	b = putFlag(b, d.Reset)
	b = put32(b, d.Scene)
	b = put32(putFlag(b, q.sync), q.streams)
	b = putBlock(b, q.controller)
	b = putBlocks(b, q.inputs)
	switch {
	case q.packing > 0:
		b[1] = packedVersion
		b = append(putStreams(b, q.views), q.packing)
	case len(q.views) > 0:
		b[1] = streamsVersion
		b = putStreams(b, q.views)
	}
	return b
}

func putBlocks(b []byte, blocks [][]byte) []byte {
	b = put32(b, uint32(len(blocks)))
	for _, block := range blocks {
		b = putBlock(b, block)
	}
	return b
}

func (r *reader) blocks() (blocks [][]byte) {
	for range r.count(4) {
		blocks = append(blocks, r.block())
	}
	return blocks
}

func putStreams(b []byte, streams []Stream) []byte {
	b = put32(b, uint32(len(streams)))
	for i := range streams {
		s := &streams[i]
		c := &s.Camera
		b = putBlock(putBlock(putBlock(b, s.Node), s.Name), c.Of)
		for _, x := range [...]float64{c.Position[0], c.Position[1], c.Position[2], c.Rotation[0], c.Rotation[1], c.Rotation[2], c.Rotation[3], c.FOV, c.Near, c.Far} {
			b = put64(b, math.Float64bits(x))
		}
		for _, n := range [...]int{int(c.Width), int(c.Height), s.Clip.Min.X, s.Clip.Min.Y, s.Clip.Max.X, s.Clip.Max.Y} {
			b = put32(b, uint32(n))
		}
	}
	return b
}

// leastStream is the size of a stream without names.
const leastStream = 3*4 + 10*8 + 6*4

func (r *reader) streams() (streams []Stream) {
	for range r.count(leastStream) {
		s := Stream{Node: string(r.block()), Name: string(r.block()), Camera: Camera{
			Of: string(r.block()), Position: [3]float64{r.float(), r.float(), r.float()}, Rotation: [4]float64{r.float(), r.float(), r.float(), r.float()},
			FOV: r.float(), Near: r.float(), Far: r.float(), Width: r.u32(), Height: r.u32(),
		}}
		s.Clip = image.Rectangle{Min: image.Point{X: int(r.u32()), Y: int(r.u32())}, Max: image.Point{X: int(r.u32()), Y: int(r.u32())}}
		if s.Wrong() != "" {
			r.fail()
		}
		streams = append(streams, s)
	}
	return streams
}

func (r *reader) request() *request {
	q := &request{epoch: r.u32(), previous: int64(r.u64())}
	q.data = FrameData{Frame: r.u64(), Tracked: r.time(), Local: r.time(), Delta: r.time(), Rate: Rate{r.u32(), r.u32()}, Reset: r.flag(), Scene: r.u32()}
	q.sync, q.streams, q.controller = r.flag(), r.u32(), string(r.block())
	q.inputs = r.blocks()
	if r.version >= streamsVersion {
		q.views = r.streams()
	}
	if r.version == packedVersion {
		q.packing = r.u8()
	}
	if q.data.Rate.Num == 0 || q.data.Rate.Den == 0 || q.previous >= 0 && uint64(q.previous) >= q.data.Frame {
		r.fail()
	}
	return q
}

func (l *release) encode() []byte {
	return putFlag(put32(put64(head(kindRelease, 13), l.frame), l.epoch), l.missing)
}

func (r *reader) release() *release { return &release{r.u64(), r.u32(), r.flag()} }

func (c *call) encode() []byte { return put32(put64(head(kindCall, 12), c.frame), c.epoch) }
func (l *lack) encode() []byte { return put32(put64(head(kindLack, 12), l.frame), l.epoch) }

func (r *reader) call() call { return call{r.u64(), r.u32()} }

func (c *charge) encode() []byte {
	return putBlock(putBlock(head(kindCharge, 8+len(c.peer)+len(c.why)), c.peer), c.why)
}

func (r *reader) charge() charge { return charge{peer: string(r.block()), why: string(r.block())} }

func (q *quit) encode() []byte {
	b := put32(head(kindQuit, 64), uint32(len(q.nodes)))
	for _, n := range q.nodes {
		b = putBlock(b, n)
	}
	return putFlag(putBlock(b, q.reason), q.failed)
}

func (r *reader) quit() *quit {
	q := &quit{}
	for range r.count(4) {
		q.nodes = append(q.nodes, string(r.block()))
	}
	q.reason, q.failed = string(r.block()), r.flag()
	return q
}

func (h *hello) encode() []byte {
	return put64(append(head(kindHello, 9), byte(h.role)), uint64(h.order))
}

func (r *reader) hello() hello {
	h := hello{Role(r.u8()), int64(r.u64())}
	if h.role > Controller {
		r.fail()
	}
	return h
}

func (s *sent) encode() []byte {
	return put64(putFlag(put32(put64(head(kindSent, 21), s.frame), s.epoch), s.missing), s.size)
}

func (r *reader) sent() *sent { return &sent{r.u64(), r.u32(), r.flag(), r.u64()} }

func (f *Frame) encode() []byte {
	size := 56
	for _, p := range f.Pictures {
		size += 4 + len(p)
	}
	b := put64(put64(head(kindBack, size), f.Frame), uint64(f.Tracked))
	b = append(b, f.State[:]...)
	switch len(f.Pictures) {
	case 0:
		return putBlock(b, "")
	case 1:
		return putBlock(b, f.Pictures[0])
	}
	b[1] = streamsVersion
	return putBlocks(b, f.Pictures)
}

func (r *reader) back() Frame {
	f := Frame{Frame: r.u64(), Tracked: r.time(), State: r.hash()}
	if r.version == streamsVersion {
		f.Pictures = r.blocks()
	} else if p := r.block(); len(p) > 0 {
		f.Pictures = [][]byte{p}
	}
	return f
}

func (r *reader) hash() (h [32]byte) {
	copy(h[:], r.bytes(uint32(len(h))))
	return h
}

func (w *Whole) encode() []byte {
	size := 64
	for i := range w.Parts {
		for _, p := range w.Parts[i].Pictures {
			size += 256 + len(p)
		}
	}
	b := put64(put64(head(kindWhole, size), w.Frame), uint64(w.Tracked))
	b = putBlock(putFlag(putFlag(b, w.Sync), w.Torn), w.Controller)
	b = put32(putBlocks(b, w.Inputs), uint32(len(w.Parts)))
	for i := range w.Parts {
		p := &w.Parts[i]
		b = append(putBlock(b, p.Node), p.State[:]...)
		b = putBlocks(putStreams(b, p.Streams), p.Pictures)
	}
	return b
}

// ReadWhole reads a frame of all nodes, as a director with frames on its channel publishes it.
func ReadWhole(b []byte) (*Whole, error) {
	k, r := begin(b)
	if k != kindWhole {
		r.fail()
	}
	w := &Whole{Frame: r.u64(), Tracked: r.time(), Sync: r.flag(), Torn: r.flag(), Controller: string(r.block()), Inputs: r.blocks()}
	for range r.count(4 + 32 + 4 + 4) {
		w.Parts = append(w.Parts, Part{Node: string(r.block()), State: r.hash(), Streams: r.streams(), Pictures: r.blocks()})
	}
	return w, r.end("")
}

// ReadFrame reads a frame that a node has sent back, as it travels to the director; ok is false for another message.
func ReadFrame(b []byte) (f Frame, ok bool) {
	k, r := begin(b)
	if k != kindBack {
		return f, false
	}
	f = r.back()
	return f, r.end("") == nil
}

// pieceHeader is the size of what stands before the bytes of a piece.
const pieceHeader = 2 + 8 + 4 + 4 + 4 + 8

// encode returns the message in two parts, as the second may be large: what stands before the bytes, and the bytes, which are not copied.
func (p *piece) encode() [][]byte {
	b := put32(put64(head(kindData, pieceHeader-2), p.frame), p.epoch)
	return [][]byte{put64(put32(put32(b, p.part), p.parts), p.size), p.bytes}
}

func (r *reader) piece() *piece {
	p := &piece{frame: r.u64(), epoch: r.u32(), part: r.u32(), parts: r.u32(), size: r.u64()}
	p.bytes, r.rest = r.rest, nil
	if p.part >= p.parts || uint64(len(p.bytes)) > p.size || p.parts > 1 && uint64(p.parts) > p.size {
		r.fail()
	}
	return p
}
