package wire

import "bytes"

// Payloads outlive the frame they came in, and nobody says for how long. The rule is that who keeps one keeps little
// else alive, and that it is copied once at most (twice what of a large frame was read ahead, at most 64 KiB):
//
//   - A payload that is half of a large frame or more is not copied: it keeps the frame. At most twice its size.
//   - One of more than 1 KiB gets memory of its own.
//   - A smaller one shares 4 KiB with those that came before and after it, which are alive as long as it is; less than
//     that while only a few came, as there may be ten thousand who send one now and then.
const (
	minSlab   = 256
	slabSize  = 4 << 10
	slabShare = slabSize / 4
)

// payload returns a payload or a result for good, given the part of the frame that it is. An empty one is nil.
func (d *Decoder) payload(b []byte) []byte {
	switch {
	case len(b) == 0:
		return nil
	case d.ownFrame > 0 && 2*len(b) >= d.ownFrame:
		d.gaveFrame = true
		return b[:len(b):len(b)]
	case len(b) > slabShare:
		return bytes.Clone(b)
	case len(b) > len(d.small):
		d.slab = min(max(minSlab, 2*d.slab), slabSize)
		d.small = make([]byte, max(d.slab, len(b)))
	}
	n := copy(d.small, b)
	kept := d.small[:n:n] // an append by its owner must not reach the next
	d.small = d.small[n:]
	return kept
}
