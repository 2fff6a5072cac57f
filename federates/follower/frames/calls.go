package frames

import "fmt"

// The calls of a node within a frame.

// IsController reports whether the node is the controller in the current frame.
func (n *Node) IsController() (bool, error) {
	if n.current == nil {
		return false, n.wrong(nil, ErrNoFrame)
	}
	return n.current.controls, nil
}

// SyncEnabled reports whether data is to be sent and received in the current frame.
func (n *Node) SyncEnabled() (bool, error) {
	if n.current == nil {
		return false, n.wrong(nil, ErrNoFrame)
	}
	return n.current.sync, nil
}

// Send returns the messages that carry the data of the current frame to the other nodes, each in parts that follow one another, and the notice for the
// director, which is to be published after them. The parts are those of data itself: publish copies of them before its owner changes it.
func (n *Node) Send(data []byte) (pieces [][][]byte, notice []byte, err error) {
	c := n.current
	switch {
	case c == nil:
		return nil, nil, n.wrong(c, ErrNoFrame)
	case !c.sync:
		return nil, nil, n.wrong(c, ErrSyncOff)
	case !c.controls:
		return nil, nil, n.wrong(c, ErrNotController)
	case c.sent:
		return nil, nil, n.wrong(c, ErrSentTwice)
	case uint64(len(data)) > n.max:
		return nil, nil, n.wrong(c, fmt.Errorf("%w: %d bytes of at most %d; raise max_bytes, or send less", ErrTooLarge, len(data), n.max))
	}
	if c.packing > 0 {
		if n.packed != c.epoch {
			n.packed = c.epoch
			n.Packer.Forget()
		}
		packed, err := n.Packer.Pack(c.packing, c.request.data.Frame, data)
		if err != nil {
			return nil, nil, n.wrong(c, err)
		}
		n.Packer.Keep(c.packing, c.request.data.Frame, data)
		data = packed
	}
	c.sent = true
	p := piece{frame: c.request.data.Frame, epoch: c.epoch, size: uint64(len(data)), parts: uint32(max(1, (len(data)+n.piece-1)/n.piece))}
	for ; p.part < p.parts; p.part++ {
		p.bytes = data[:min(len(data), n.piece)]
		data = data[len(p.bytes):]
		pieces = append(pieces, p.encode())
	}
	return pieces, (&sent{frame: p.frame, epoch: p.epoch, size: p.size}).encode(), nil
}

// Receive returns the data of the current frame. It is the node's own until the next frame.
func (n *Node) Receive() ([]byte, error) {
	c := n.current
	switch {
	case c == nil:
		return nil, n.wrong(c, ErrNoFrame)
	case !c.sync:
		return nil, n.wrong(c, ErrSyncOff)
	case c.controls:
		return nil, n.wrong(c, ErrNotFollower)
	case c.received:
		return nil, n.wrong(c, ErrReceivedTwice)
	}
	c.received = true
	return c.data, nil
}

// Inputs returns what came from outside for the current frame: the same in the same order at all nodes.
func (n *Node) Inputs() ([][]byte, error) {
	if n.current == nil {
		return nil, n.wrong(nil, ErrNoFrame)
	}
	return n.current.inputs, nil
}

// Input returns the message that brings something from outside to all nodes, in a later frame.
func (n *Node) Input(data []byte) []byte { return putBlock(head(kindInput, 4+len(data)), data) }

// Streams returns what the node is asked to show in the current frame.
func (n *Node) Streams() ([]Stream, error) {
	if n.current == nil {
		return nil, n.wrong(nil, ErrNoFrame)
	}
	return n.current.of(n.name), nil
}

// Back returns the message that says that the current frame is finished.
func (n *Node) Back(state [32]byte, pictures [][]byte) ([]byte, error) {
	c := n.current
	if c == nil {
		return nil, n.wrong(c, ErrNoFrame)
	}
	if c.back {
		return nil, n.wrong(c, ErrBackTwice)
	}
	if asked := len(c.of(n.name)); len(pictures) > max(asked, 1) || len(pictures) > 0 && len(pictures) < asked {
		return nil, n.wrong(c, fmt.Errorf("%w: %d pictures, and %d streams", ErrPictures, len(pictures), asked))
	}
	c.back = true
	return (&Frame{c.request.data.Frame, c.request.data.Tracked, state, pictures}).encode(), nil
}
