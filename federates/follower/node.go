package follower

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"time"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/follower/frames"
	"metasim/federates/follower/packing"
	"metasim/metasim"
)

// Declare declares the channels of a node to a client that has not joined yet.
func Declare(b *client.Builder, o Options) (*Node, error) {
	o.Director = cmp.Or(o.Director, "director")
	if int(o.Role) >= len(frames.Roles) {
		return nil, fmt.Errorf("the role of a node is %d; use follower.Follower, follower.Understudy or follower.Controller", o.Role)
	}
	orders, replies, data := catalog.FollowerChannels(o.Director)
	n := &Node{options: o, orders: orders, states: data, replies: b.Publication(replies)}
	if o.Role != Follower {
		n.data = b.Publication(data)
	}
	if err := b.Subscribe(regexp.QuoteMeta(orders), nil); err != nil {
		return nil, err
	}
	if o.Role != Controller {
		return n, b.Subscribe(regexp.QuoteMeta(data), nil)
	}
	return n, nil
}

// Join makes the node known to its director: call it once, right after the client has joined.
func (n *Node) Join(c *client.Client) error {
	if n.client != nil {
		return &NodeError{Node: n.client.Name(), Err: ErrJoinedTwice}
	}
	n.client = c
	n.core = frames.NewNode(c.Name(), uint64(cmp.Or(n.options.MaxBytes, 256<<20)))
	n.core.Packer = &packing.Packer{}
	n.busy = make(chan struct{}, 1)
	return n.replies.PublishOwned(n.core.Hello(n.options.Role, n.options.Order))
}

// enter lets one goroutine in.
func (n *Node) enter() error {
	if n.client == nil {
		return ErrNotJoined
	}
	select {
	case n.busy <- struct{}{}:
		return nil
	default:
		return &NodeError{Node: n.client.Name(), Err: ErrTwoGoroutines}
	}
}

func (n *Node) exit() { <-n.busy }

// goroutine returns the number of the goroutine that calls it, as the runtime writes it before its stack: "goroutine 18 [running]".
func goroutine() (number uint64) {
	b := make([]byte, 40)
	for _, digit := range b[len("goroutine "):runtime.Stack(b, false)] {
		if digit < '0' || digit > '9' {
			break
		}
		number = 10*number + uint64(digit-'0')
	}
	return number
}

// Await ends the current frame and returns the next one, when it is there with its data. A frame that was not sent back by SendFrame goes
// back empty.
//
// With a timeout that is above 0 it returns ErrTimeout when so much real time has passed. Simulated time does not move by that and no frame is
// lost: await again. The other errors: ErrStreamsChanged, after which to await again; ErrQuit, after which to leave; MissingError for a
// frame without data, which is over; ErrNotSent where this node should have sent. After any other the client has failed.
func (n *Node) Await(ctx context.Context, timeout time.Duration) (FrameData, error) {
	if err := n.enter(); err != nil {
		return FrameData{}, err
	}
	defer n.exit()
	var late <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	return n.frame(ctx, late, n.core.Next)
}

// SetFollower says whether the node begins its frames with BeginFollowerFrame, in the place of Await. It is for an engine that ships its state
// itself, and with it the Tracked of the frame: the older pair of RenderStream's calls. Set it again where it changes, between two frames.
func (n *Node) SetFollower(follows bool) error {
	return n.inside(func() error {
		n.core.SetFollower(follows)
		return nil
	})
}

// Hear waits for the engine's own state: it ends the current frame, and returns when Options.Other has taken a message. It is for a node that was set to be a
// follower: wait with it, and not outside of the run, which would stand still meanwhile. ErrQuit says that the node is to leave; ErrLeads that the
// controller has failed, and the next frame is this node's: call SetFollower(false), and await it.
func (n *Node) Hear(ctx context.Context) error {
	return n.inside(func() error {
		for heard := n.heard; heard == n.heard; {
			replies, err := n.core.Hear()
			if e := publish(n.replies, replies); e != nil {
				return e
			}
			if err == nil {
				err = n.advance(ctx, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// BeginFollowerFrame ends the current frame, and returns the next one when it is there. tracked is that of the frame, as the engine's controller
// had it: a node begins all frames, in their order, so a next frame of another time stays where it is, and the error is ErrOtherFrame.
// A frame that this node controls, since another one has failed, is ErrLeads. All other errors are those of Await.
func (n *Node) BeginFollowerFrame(ctx context.Context, tracked metasim.Time) (FrameData, error) {
	if err := n.enter(); err != nil {
		return FrameData{}, err
	}
	defer n.exit()
	return n.frame(ctx, nil, func() (FrameData, [][]byte, bool, error) { return n.core.Begin(tracked) })
}

// frame hands out a frame with next, when it is there.
func (n *Node) frame(ctx context.Context, late <-chan time.Time, next func() (FrameData, [][]byte, bool, error)) (FrameData, error) {
	if !n.model {
		n.awaits = goroutine()
	}
	for waits := n.waiting != nil; ; waits = false { // one that waits has ended the frame before
		if !waits {
			f, replies, ok, err := next()
			if e := publish(n.replies, replies); e != nil {
				return f, e
			}
			if ok || err != nil {
				return f, err
			}
		}
		if err := n.advance(ctx, late); err != nil {
			return FrameData{}, err
		}
	}
}

// publish publishes messages in their order.
func publish(p *client.Publication, messages [][]byte) error {
	for _, m := range messages {
		if err := p.PublishOwned(m); err != nil {
			return err
		}
	}
	return nil
}

// publishCopies publishes copies of messages that are in parts.
func publishCopies(p *client.Publication, messages [][][]byte) error {
	for _, m := range messages {
		if err := p.PublishParts(m...); err != nil {
			return err
		}
	}
	return nil
}

// advance waits for messages, and takes them in.
func (n *Node) advance(ctx context.Context, late <-chan time.Time) error {
	return n.taken(n.wait(ctx, late))
}

// taken takes in what a wait has brought. A run that ends is a reason to leave.
func (n *Node) taken(messages []client.Message, err error) error {
	if errors.Is(err, client.ErrEnd) {
		return &QuitError{Reason: "the run has ended"}
	}
	if err != nil {
		return err
	}
	return n.take(messages)
}

// wait waits for messages. A wait that takes too long goes on without its caller, and what it brings is for the next one: so
// nothing is lost, and the client is used by one goroutine at a time. The context of such waits lives as long as the node: a client is ended by a
// context that is cancelled later, too, as it keeps it for its next wait.
func (n *Node) wait(ctx context.Context, late <-chan time.Time) ([]client.Message, error) {
	if late == nil && n.waiting == nil {
		return n.client.Next(ctx, metasim.Forever)
	}
	if n.waiting == nil {
		if n.waits == nil {
			n.waits, n.stop = context.WithCancel(context.WithoutCancel(ctx))
		}
		arrived := make(chan arrival, 1)
		n.waiting = arrived
		go func() {
			messages, err := n.client.Next(n.waits, metasim.Forever)
			arrived <- arrival{messages, err}
		}()
	}
	select {
	case a := <-n.waiting:
		n.waiting = nil
		return a.messages, a.err
	case <-late:
		return nil, ErrTimeout
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// take takes messages in.
func (n *Node) take(messages []client.Message) error {
	for _, m := range messages {
		var err error
		switch {
		case m.Channel != n.orders && m.Channel != n.states && n.options.Other != nil:
			err = n.options.Other(m)
			n.heard++
		case m.Channel != n.orders && m.Channel != n.states:
			err = fmt.Errorf("client %q has sent a message on %s, to which the engine of node %s has subscribed itself; take such messages with Options.Other",
				m.From, m.Channel, n.client.Name())
		case m.From == n.client.Name(): // an understudy that is the controller now
		case m.Channel != n.orders:
			err = n.charge(n.core.Data(m.From, m.Payload))
		case m.From == n.options.Director:
			err = n.core.Order(m.From, m.Payload)
		default:
			err = n.charge(&PeerError{Peer: m.From, Code: frames.InvalidParameters, Why: "publishes on " + m.Channel + ", which is the director's; use another channel"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// charge tells the director of a client that breaks the rules: the client is failed, and this node goes on. More data than this node takes is an error of its
// own bound.
func (n *Node) charge(err error) error {
	peer := new(PeerError)
	if !errors.As(err, &peer) || peer.Code == frames.BufferOverflow {
		return err
	}
	if b := n.core.Charge(peer); b != nil {
		return n.replies.PublishOwned(b)
	}
	return nil
}

// IsController reports whether this node computes the current frame.
func (n *Node) IsController() (controls bool, err error) {
	err = n.inside(func() error { controls, err = n.core.IsController(); return err })
	return controls, err
}

// SyncEnabled reports whether data is sent and received in the current frame.
func (n *Node) SyncEnabled() (on bool, err error) {
	err = n.inside(func() error { on, err = n.core.SyncEnabled(); return err })
	return on, err
}

// inside carries out a call of the goroutine that uses the node.
func (n *Node) inside(f func() error) error {
	if err := n.enter(); err != nil {
		return err
	}
	defer n.exit()
	return f()
}

// awaited carries out a call of the goroutine that has awaited the current frame. No other one sends or receives the data of that frame: it may come too late, in the
// next one.
func (n *Node) awaited(f func() error) error {
	return n.inside(func() error {
		if n.awaits != 0 && n.awaits != goroutine() {
			return n.core.Wrong(ErrTwoGoroutines)
		}
		return f()
	})
}

// SendFollowerData sends the state of the current frame to the other nodes, on the goroutine that has awaited it. Call it as early in the frame as the state is
// known. The slice may be used again at once.
func (n *Node) SendFollowerData(state []byte) error {
	return n.awaited(func() error {
		pieces, notice, err := n.core.Send(state)
		if err == nil {
			err = publishCopies(n.data, pieces)
		}
		if err == nil {
			err = n.replies.PublishOwned(notice)
		}
		return err
	})
}

// ReceiveFollowerData returns the state of the current frame, which the controller has sent, on the goroutine that has awaited it. Do not change it.
func (n *Node) ReceiveFollowerData() (state []byte, err error) {
	err = n.awaited(func() error { state, err = n.core.Receive(); return err })
	return state, err
}

// SendInteractionData sends an input from outside to all nodes, such as an event of a device. All nodes receive it in one and the same frame,
// after the present one.
func (n *Node) SendInteractionData(input []byte) error {
	return n.inside(func() error {
		if _, err := n.core.Inputs(); err != nil {
			return err
		}
		return n.replies.PublishOwned(n.core.Input(input))
	})
}

// ReceiveInteractionData returns what came from outside for the current frame, in the same order at all nodes. Do not change it.
func (n *Node) ReceiveInteractionData() (inputs [][]byte, err error) {
	err = n.inside(func() error { inputs, err = n.core.Inputs(); return err })
	return inputs, err
}

// Compute lets simulated time pass, as rendering takes it. ErrQuit says that the run has ended.
func (n *Node) Compute(ctx context.Context, d time.Duration) error {
	return n.inside(func() error {
		if _, err := n.core.Inputs(); err != nil {
			return err
		}
		for until := n.client.Now().Time.Add(metasim.Time(d)); n.client.Now().Time < until; {
			if err := n.taken(n.client.Next(ctx, until)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Streams returns what this node is asked to show in the current frame: a camera and a part of its picture for each stream; none where the
// director asks for no pictures.
func (n *Node) Streams() (streams []Stream, err error) {
	err = n.inside(func() error { streams, err = n.core.Streams(); return err })
	return streams, err
}

// await waits until what has come is enough, or the node is to leave.
func (n *Node) await(ctx context.Context, enough func() bool) error {
	return n.inside(func() error {
		for !enough() {
			err := n.taken(n.client.Next(ctx, metasim.Forever))
			if err == nil {
				err = n.core.Ended()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SendFrame sends the finished frame back to the director: the hash of the state that it shows, by which torn frames are found (zeros: it is
// not said), and a picture for each of the node's streams, in their order, or none. A node without streams may send one picture.
func (n *Node) SendFrame(state [32]byte, pictures ...[]byte) error {
	return n.inside(func() error {
		b, err := n.core.Back(state, pictures)
		if err != nil {
			return err
		}
		return n.replies.PublishOwned(b)
	})
}

// Refused returns how many sets of data reached this node and were not used: those of a controller that was replaced meanwhile.
func (n *Node) Refused() uint64 {
	if n.core == nil { // it has not joined
		return 0
	}
	return n.core.Refused
}

// Close ends a wait that a timeout has left going on. Call it before the client is closed, unless Await has returned ErrQuit.
func (n *Node) Close() {
	if n.waiting != nil {
		n.stop()
		<-n.waiting
		n.waiting = nil
	}
}
