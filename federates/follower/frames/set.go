package frames

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// A slot is what a node knows of a frame that it has not handed out.
type slot struct {
	frame   uint64
	request *request
	release *release
	called  uint32 // the epoch of whose data the director has asked whether it has come; 0: of none
	lost    uint32 // the epoch of whose data the node has said that it has not; 0: of none
	sets    []*set
}

// released reports whether the frame that was asked for is released, and its data counts.
func (s *slot) released() bool {
	return s.release != nil && s.release.epoch == s.request.epoch && s.lost != s.request.epoch
}

// data returns the data of a released frame; nil: it is not all there.
func (s *slot) data() *set {
	i := slices.IndexFunc(s.sets, func(o *set) bool { return o.is(s.request.controller, s.request.epoch) })
	if i < 0 || !s.sets[i].whole() {
		return nil
	}
	return s.sets[i]
}

// A set is data that came for a frame.
type set struct {
	from   string
	pieces []*piece // in order of part: those of one message may overtake one another
	came   uint64   // bytes
}

// is reports whether a set is of this client and epoch.
func (o *set) is(from string, epoch uint32) bool { return o.from == from && o.pieces[0].epoch == epoch }

// add puts a piece to the set that it is of.
func (s *slot) add(from string, p *piece) error {
	i := slices.IndexFunc(s.sets, func(o *set) bool { return o.is(from, p.epoch) })
	if i < 0 && slices.ContainsFunc(s.sets, func(o *set) bool { return o.from == from }) {
		return sentTwice(from, p.frame) // a client is the controller in one epoch, so a node keeps one set of it, and no more than that
	}
	if i < 0 {
		i = len(s.sets)
		s.sets = append(s.sets, &set{from: from, pieces: make([]*piece, 0, 1)})
	}
	o := s.sets[i]
	at, found := slices.BinarySearchFunc(o.pieces, p.part, func(q *piece, part uint32) int { return cmp.Compare(q.part, part) })
	if found && p.repeats(o.pieces[at]) {
		return nil // a link may deliver a message twice
	}
	if found {
		return sentTwice(from, p.frame)
	}
	o.pieces = slices.Insert(o.pieces, at, p)
	o.came += uint64(len(p.bytes))
	if first := o.pieces[0]; p.size != first.size || p.parts != first.parts || o.came > p.size || o.whole() && o.came < p.size {
		return &PeerError{Peer: from, Code: InvalidParameters, Why: fmt.Sprintf("announced %d bytes for frame %d, and sent others; it may be another program", first.size, p.frame)}
	}
	return nil
}

func sentTwice(from string, frame uint64) *PeerError {
	return &PeerError{Peer: from, Code: InvalidParameters, Why: fmt.Sprintf("sent the data of frame %d twice; send once in a frame", frame)}
}

// repeats reports whether two pieces of a set are the same message.
func (p *piece) repeats(q *piece) bool {
	return p.parts == q.parts && p.size == q.size && bytes.Equal(p.bytes, q.bytes)
}

func (o *set) whole() bool { return len(o.pieces) == int(o.pieces[0].parts) }

// join returns the data of a set; of one piece without a copy.
func (o *set) join() []byte {
	if len(o.pieces) == 1 {
		return o.pieces[0].bytes
	}
	parts := make([][]byte, 0, len(o.pieces))
	for _, p := range o.pieces {
		parts = append(parts, p.bytes)
	}
	return bytes.Join(parts, nil) // its memory is not cleared first
}
