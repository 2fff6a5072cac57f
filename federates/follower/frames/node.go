package frames

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/metasim"
)

// A Node is one member of a cluster: it hands out the frames in their order, each when its data is there, and refuses what its role
// does not allow. The zero value is not usable: see NewNode.
type Node struct {
	name    string
	max     uint64 // bytes of a frame's data
	piece   int    // how much of it travels in one message at most
	last    int64  // the frame that was handed out last, or was lost; -1: none
	led     int64  // the first frame that it controlled; -1: none. It controls all frames after that one
	epoch   uint32 // of the data that was shown last
	streams uint32
	plain   bool    // a frame was asked for whose data is not packed
	slots   []*slot // the frames that are to come, in order
	ended   *quit
	follows bool     // its frames begin with Begin
	charged []string // clients whose data counts for nothing
	owed    [][]byte // messages to be sent
	current *current

	Packer  Packer // nil: it takes no packed data
	packed  uint32 // the epoch of the last data that it has packed
	Refused uint64 // sets of data that were not released: of an old epoch, or of a node that was not the controller
}

// current is the frame that a node works on.
type current struct {
	*request
	controls       bool
	data           []byte
	sent, received bool
	back           bool // it was sent back
}

// maxAhead is how many frames that are not asked for yet may have data: links with random delays let data overtake a request.
const maxAhead = 1024

// maxPiece is how much of the data of a frame travels in one message. Nodes copy no data of one piece; a connection lets 64 MiB wait (server.Config.OutboxLimit).
const maxPiece = 24 << 20

// NewNode returns a node whose frames have at most so many bytes of data.
func NewNode(name string, max uint64) *Node {
	return &Node{name: name, max: max, piece: maxPiece, last: -1, led: -1}
}

// Hello returns what a node says at the start.
func (n *Node) Hello(role Role, order int64) []byte { return (&hello{role, order}).encode() }

// Order takes a message of the director.
func (n *Node) Order(from string, b []byte) error {
	k, r := begin(b)
	switch k {
	case kindRequest:
		q := r.request()
		if err := r.end(from); err != nil {
			return err
		}
		if q.packing > 0 && n.Packer == nil {
			return &PeerError{Peer: from, Code: Incompatible, Why: "asks for packed data, which this node does not know; set its packing to none"}
		}
		n.plain = n.plain || q.packing == 0
		s := n.slot(q.data.Frame)
		switch {
		case s == nil && q.controller == n.name && !n.controlled(q.data.Frame): // it has shown the data of a controller that was charged
			n.owed = append(n.owed, (&sent{frame: q.data.Frame, epoch: q.epoch, missing: true}).encode())
		case s != nil && (s.request == nil || s.request.epoch < q.epoch):
			s.request = q
		}
	case kindRelease:
		l := r.release()
		if err := r.end(from); err != nil {
			return err
		}
		if s := n.slot(l.frame); s != nil && (s.release == nil || s.release.epoch < l.epoch) { // links may turn two around
			s.release = l
		}
	case kindCall:
		c := r.call()
		if err := r.end(from); err != nil {
			return err
		}
		if s := n.slot(c.frame); s != nil {
			s.called = max(s.called, c.epoch)
		}
	case kindQuit:
		q := r.quit()
		if err := r.end(from); err != nil {
			return err
		}
		if slices.Contains(q.nodes, n.name) && n.ended == nil {
			n.ended = q
		}
	default:
		r.fail()
	}
	return r.end(from)
}

// controlled reports whether the node was the controller of a frame that is over. A request for such a frame has come twice.
func (n *Node) controlled(frame uint64) bool { return n.led >= 0 && frame >= uint64(n.led) }

// slot returns the slot of a frame that is to come; nil for one that is over.
func (n *Node) slot(frame uint64) *slot {
	if n.last >= 0 && frame <= uint64(n.last) {
		return nil
	}
	i, found := slices.BinarySearchFunc(n.slots, frame, func(s *slot, f uint64) int { return cmp.Compare(s.frame, f) })
	if !found {
		n.slots = slices.Insert(n.slots, i, &slot{frame: frame})
	}
	return n.slots[i]
}

// whenPacked is how many bytes a state of at most so many has when it is packed: one that cannot be made smaller becomes a little larger.
func whenPacked(most uint64) uint64 { return most + most/1024 + 64 }

// Data takes a message with data of another node.
func (n *Node) Data(from string, b []byte) error {
	k, r := begin(b)
	if k != kindData {
		r.fail()
		return r.end(from)
	}
	p := r.piece()
	if err := r.end(from); err != nil {
		return err
	}
	if p.size > n.max && (n.plain || p.size > whenPacked(n.max)) {
		return &PeerError{Peer: from, Code: BufferOverflow, Why: fmt.Sprintf("sent %d bytes for frame %d; the bound here is %d: raise max_bytes, or send less", p.size, p.frame, n.max)}
	}
	s := n.slot(p.frame)
	if s == nil || slices.Contains(n.charged, from) { // the frame is over, with other data
		if p.part == 0 {
			n.Refused++
		}
		return nil
	}
	if len(n.slots) > maxAhead {
		return &PeerError{Peer: from, Code: InvalidParameters, Why: fmt.Sprintf("sent data for frame %d, and %d frames before it were not asked for; is it a client of another run?", p.frame, maxAhead)}
	}
	if q := s.request; q != nil && q.epoch == p.epoch && q.controller != from {
		return notController(from, p.frame, q.controller)
	}
	return s.add(from, p)
}

// Charge returns the message that says what another client has done, for the director, which fails it; nil if it was charged before. Its data counts for nothing
// from now on: also that which has come, and was not shown.
func (n *Node) Charge(e *PeerError) []byte {
	if slices.Contains(n.charged, e.Peer) {
		return nil
	}
	n.charged = append(n.charged, e.Peer)
	for _, s := range n.slots {
		s.sets = slices.DeleteFunc(s.sets, func(o *set) bool { return o.from == e.Peer })
	}
	n.slots = slices.DeleteFunc(n.slots, func(s *slot) bool { return s.request == nil && s.release == nil && len(s.sets) == 0 })
	return (&charge{e.Peer, e.Error()}).encode()
}

// Next hands out the next frame, if it is there: ok is false for one that has to be waited for. The messages are to be published in
// any case. It fails with ErrNotSent at a controller that has sent nothing in the frame before, with a MissingError for a frame
// without data, with ErrStreamsChanged before a frame with other streams, and with an ErrQuit.
func (n *Node) Next() (f FrameData, replies [][]byte, ok bool, err error) {
	if n.follows {
		return f, nil, false, n.wrong(n.current, ErrSetFollower)
	}
	return n.next(nil)
}

// SetFollower says whether the node's frames begin with Begin, and not with Next: in an engine that ships its state itself.
func (n *Node) SetFollower(follows bool) { n.follows = follows }

// Begin hands out the next frame, as Next does, if its time is tracked, and if another node is its controller. A frame of which that is not so stays
// where it is, and Begin fails with ErrOtherFrame or ErrLeads.
func (n *Node) Begin(tracked metasim.Time) (f FrameData, replies [][]byte, ok bool, err error) {
	if !n.follows {
		return f, nil, false, n.wrong(n.current, ErrNotSet)
	}
	return n.next(&tracked)
}

// Hear ends the current frame of a node whose state comes from its engine. It fails with an ErrQuit, and with ErrLeads where the next frame is the
// node's own to compute, as its controller has failed; otherwise the engine's state of the next frame is to be waited for.
func (n *Node) Hear() (replies [][]byte, err error) {
	if !n.follows {
		return nil, n.wrong(n.current, ErrNotSet)
	}
	replies, err = n.end(false)
	if s := n.coming(); err == nil && s != nil && s.request.controller == n.name {
		err = n.wrong(&current{request: s.request}, ErrLeads)
	} else if err == nil && s != nil && s.released() && !s.release.missing {
		n.data(s)
		replies = append(replies, n.owes()...)
	}
	return replies, err
}

// next ends the current frame, and begins the next one: nil, whatever its time is.
func (n *Node) next(tracked *metasim.Time) (f FrameData, replies [][]byte, ok bool, err error) {
	replies, err = n.end(n.misses())
	if err == nil {
		f, ok, err = n.take(tracked)
		replies = append(replies, n.owes()...)
	}
	return f, replies, ok, err
}

// owes returns the messages that are to be sent, and forgets them.
func (n *Node) owes() [][]byte {
	owed := n.owed
	n.owed = nil
	return owed
}

// missing reports whether a frame that was asked for has no data. When the work is done, a node has shown all frames that have: a release without data may come after the end.
func (n *Node) missing(s *slot) bool {
	return s.released() && s.release.missing || n.ended != nil && n.ended.reason == "" && !n.ended.failed
}

// misses reports whether the next frame is known to have no data. That is said before a node that has not failed is to leave: it may have been the last frame.
func (n *Node) misses() bool {
	s := n.coming()
	return s != nil && s.request.sync && s.request.controller != n.name && n.missing(s) && (n.ended == nil || !n.ended.failed)
}

// end ends the current frame. It fails with an ErrQuit for a node that is to leave, unless something is to be said before.
func (n *Node) end(before bool) (replies [][]byte, err error) {
	replies = n.owes()
	if c := n.current; c != nil {
		ends, err := n.finish(c)
		replies = append(replies, ends...)
		n.current = nil
		if err != nil {
			return replies, err
		}
	}
	if n.ended == nil || before {
		return replies, nil
	}
	return append(replies, head(kindBye, 0)), n.Ended()
}

// Ended says why the node is to leave; nil: it is not.
func (n *Node) Ended() error {
	switch {
	case n.ended == nil:
		return nil
	case n.ended.reason == "":
		return ErrQuit
	}
	return &QuitError{n.ended.reason, n.ended.failed}
}

// finish ends a frame: what the node has not said of it is said now.
func (n *Node) finish(c *current) (replies [][]byte, err error) {
	if c.controls && c.sync && !c.sent {
		replies = append(replies, (&sent{frame: c.request.data.Frame, epoch: c.epoch, missing: true}).encode())
		return replies, n.wrong(c, ErrNotSent)
	}
	if !c.back {
		replies = append(replies, (&Frame{Frame: c.request.data.Frame, Tracked: c.request.data.Tracked}).encode())
	}
	return replies, nil
}

// expected fails for a frame that is not the one that Begin was called for.
func (n *Node) expected(c *current, tracked *metasim.Time) error {
	switch {
	case tracked == nil:
		return nil
	case c.controls:
		return n.wrong(c, ErrLeads)
	case c.request.data.Tracked != *tracked:
		return n.wrong(c, ErrOtherFrame)
	}
	return nil
}

// coming returns the frame that is next; nil: it was not asked for yet.
func (n *Node) coming() *slot {
	next := slices.IndexFunc(n.slots, func(s *slot) bool { return s.request != nil && s.request.previous == n.last })
	if next < 0 {
		return nil
	}
	for _, s := range n.slots[:next] { // nobody asks for these frames any more, although somebody has sent data
		n.refuse(s, nil)
	}
	n.slots = n.slots[next:]
	return n.slots[0]
}

// take begins the next frame.
func (n *Node) take(tracked *metasim.Time) (f FrameData, ok bool, err error) {
	s := n.coming()
	if s == nil {
		return f, false, nil
	}
	q := s.request
	if q.streams != n.streams {
		n.streams = q.streams
		return f, false, ErrStreamsChanged
	}
	c := &current{request: q, controls: q.controller == n.name}
	if c.controls || !q.sync {
		if err := n.expected(c, tracked); err != nil {
			return f, false, err
		}
		n.close(s, nil)
		if n.current = c; q.sync {
			n.epoch = q.epoch
		}
		if c.controls && n.led < 0 {
			n.led = n.last
		}
		return q.data, true, nil
	}
	missing := n.missing(s)
	if !missing && !s.released() {
		return f, false, nil
	}
	if missing { // for good: also where the frame before it was asked for again, and is one of a later epoch
		n.close(s, nil)
		n.epoch = max(n.epoch, q.epoch)
		return f, false, &MissingError{q.controller, q.data, q.inputs}
	}
	used := n.data(s)
	if used == nil {
		return f, false, nil // on a link with a delay, or it was never sent
	}
	if err := n.expected(c, tracked); err != nil {
		return f, false, err
	}
	if c.data = used.join(); q.packing > 0 {
		var wrong error
		if c.data, wrong = n.Packer.Unpack(q.packing, s.frame, c.data, n.max); wrong != nil {
			why := fmt.Sprintf("sent the data of frame %d in a way in which it cannot be unpacked: %v", s.frame, wrong)
			n.owed = append(n.owed, n.Charge(&PeerError{Peer: q.controller, Code: InvalidParameters, Why: why}))
			return f, false, nil
		}
	}
	n.close(s, used)
	n.current, n.epoch = c, q.epoch
	return q.data, true, nil
}

// data returns the data of a released frame; nil: it is not all there. If the director has asked for it, that is said, and what comes later does not count.
func (n *Node) data(s *slot) *set {
	used := s.data()
	if s.request.epoch < n.epoch { // the frame before it is one of a later epoch: so it was withdrawn, or the node is to miss it as well
		used = nil
	}
	if used == nil && s.called == s.request.epoch {
		s.lost = s.called
		n.owed = append(n.owed, (&lack{s.frame, s.lost}).encode())
	}
	return used
}

// close takes a frame off the list: the data that it did not use is refused.
func (n *Node) close(s *slot, used *set) {
	n.refuse(s, used)
	n.last = int64(s.frame)
	n.slots = n.slots[1:]
}

// refuse counts the data that a frame did not use.
func (n *Node) refuse(s *slot, used *set) {
	for _, o := range s.sets {
		if o != used && o.pieces[0].part == 0 { // another set is counted when its first piece comes
			n.Refused++
		}
	}
}

// Wrong is the error of a call that the node refuses in the current frame.
func (n *Node) Wrong(err error) error { return n.wrong(n.current, err) }

func (n *Node) wrong(c *current, err error) error {
	e := &NodeError{Node: n.name, Err: err}
	if c != nil {
		e.Frame = c.request.data.Frame
	}
	return e
}
