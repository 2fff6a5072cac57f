// Package packing makes the state of a frame smaller on its way: with zstd alone, or with zstd of what has changed since the last state, or as what has changed alone, which
// needs no library. Both sides have that state, as all nodes show the same ones. What it makes depends on the version of the zstd encoder, and on nothing else.
package packing

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Kinds are the names of the kinds of packing, by their number: 0 packs nothing.
var Kinds = []string{"none", "zstd", "delta", "changes"}

const (
	zstdAlone = 1
	delta     = 2
	changes   = 3
)

// A Packer packs and unpacks the states of one node, in the order of their frames. The zero value is ready. It is not safe for concurrent use.
type Packer struct {
	last    []byte // the state that was sent or received last, of kind delta
	frame   uint64 // whose it is, and 1; 0: there is none
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// header is the size of what stands before the compressed bytes: the frame whose state they are to be added to, and 1; and the size of the state.
const header = 16

// Pack returns the state of a frame as it travels. It is to be kept when it is sent.
func (p *Packer) Pack(kind uint8, frame uint64, state []byte) ([]byte, error) {
	if kind == changes {
		packed := p.head(len(state), len(state)/4)
		return appendChanges(packed, p.last, state), nil
	}
	if p.encoder == nil {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return nil, err
		}
		p.encoder = e
	}
	packed, from := p.head(len(state), len(state)/4), state
	if kind == delta {
		from = p.change(state)
	}
	return p.encoder.EncodeAll(from, packed), nil
}

// head returns what stands before the bytes of a state of this size, with room for so many of them.
func (p *Packer) head(size, room int) []byte {
	b := make([]byte, 0, header+room)
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, p.frame), uint64(size))
}

// Unpack returns the state of a frame, of at most so many bytes.
func (p *Packer) Unpack(kind uint8, frame uint64, packed []byte, most uint64) ([]byte, error) {
	if len(packed) < header {
		return nil, errors.New("it has no header")
	}
	since, size := binary.LittleEndian.Uint64(packed), binary.LittleEndian.Uint64(packed[8:])
	switch {
	case size > most:
		return nil, fmt.Errorf("it has %d bytes, and the bound here is %d: raise max_bytes, or send less", size, most)
	case since == 0:
		p.Forget()
	case kind != zstdAlone && since != p.frame:
		return nil, fmt.Errorf("it is what has changed since frame %d, and the last state here is of frame %d", int64(since)-1, int64(p.frame)-1)
	}
	if kind == changes {
		state, err := changed(p.last, packed[header:], int(size))
		if err == nil {
			p.Keep(kind, frame, state)
		}
		return state, err
	}
	if p.decoder == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		p.decoder = d
	}
	state, err := p.decoder.DecodeAll(packed[header:], make([]byte, 0, size))
	if err != nil {
		return nil, err
	}
	if uint64(len(state)) != size {
		return nil, fmt.Errorf("it has %d bytes, and %d were announced", len(state), size)
	}
	if kind == delta {
		state = p.change(state)
		p.Keep(kind, frame, state)
	}
	return state, nil
}

// change returns what has changed since the last state, and from that the state again: it does so twice.
func (p *Packer) change(state []byte) []byte {
	changed := bytes.Clone(state)
	subtle.XORBytes(changed, state, p.last[:min(len(p.last), len(state))])
	return changed
}

// Forget has the next state travel whole, as all of it has changed since there was none. Whoever has another last state, or none, can unpack it.
func (p *Packer) Forget() { p.last, p.frame = p.last[:0], 0 }

// Keep notes the state that was sent, or received, last: that of the next frame is packed as what has changed since.
func (p *Packer) Keep(kind uint8, frame uint64, state []byte) {
	if kind != zstdAlone {
		p.last, p.frame = append(p.last[:0], state...), frame+1
	}
}
