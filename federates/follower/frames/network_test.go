package frames

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

const ms = metasim.Millisecond

// A cluster is a director and nodes, with a plain network between them: each message has a delay of its own.
type cluster struct {
	t        require.TestingT
	director *Director
	nodes    []*testNode
	now      metasim.Time
	step     int // of now
	mail     []mail
	delay    func(from, to string) metasim.Time // nil: none
	doubles  func() bool                        // whether a message comes twice; nil: none does
	quits    []string                           // nodes, in the order in which they were told to leave
	computed map[edition]uint64                 // states
	released map[uint64]uint32                  // the epoch of each frame's data
}

// An edition is what one controller has computed for a frame.
type edition struct {
	frame uint64
	epoch uint32
}

// mail is a message on its way. It is due at a time and a step of it: without a delay, at the next step.
type mail struct {
	due      metasim.Time
	step     int
	from, to string
	bytes    []byte
	count    int
}

// A testNode is a node, and what it has seen.
type testNode struct {
	*Node
	name   string
	role   Role
	load   metasim.Time // how long a frame takes
	fails  int64        // the frame in which it dies; -1: none
	how    string       // before, one (its data reaches one node), pieces (all nodes, without the notice), after; or as roguish and liar say, and then it lives
	dead   bool
	busy   metasim.Time // until then it works on a frame
	state  uint64
	frames []FrameData
	data   []uint64
	leads  int
	errs   []error
	// changes says how many frames it had seen when the streams changed.
	changes []int
	inputs  []string
	calls   []string // of its machine, as stories write them; none for a node that tells no story
	tells   bool
	later   metasim.Time // than it said a liar sends its data
	skips   int64        // the frame, if it is above 0, in which it goes on without sending
}

func newCluster(t require.TestingT, cfg Config, nodes ...*testNode) *cluster {
	c := &cluster{t: t, director: NewDirector(cfg), nodes: nodes, computed: map[edition]uint64{}, released: map[uint64]uint32{}}
	for i, n := range nodes {
		n.Node = NewNode(n.name, 1<<30)
		n.piece = 3 // a state is of three pieces, which overtake one another
		c.send(n.name, "director", n.Hello(n.role, int64(i)))
	}
	return c
}

func (c *cluster) send(from, to string, b []byte) {
	c.post(from, to, b)
	if c.doubles != nil && kind(b[0]) != kindInput && c.doubles() { // nobody can know that an input is the same one
		c.post(from, to, b)
	}
}

func (c *cluster) post(from, to string, b []byte) { c.postAt(c.now, from, to, b) }

// postAt sends a message that is given to the network at a time.
func (c *cluster) postAt(at metasim.Time, from, to string, b []byte) {
	m := mail{due: at, step: c.step + 1, from: from, to: to, bytes: b, count: len(c.mail)}
	if c.delay != nil {
		if d := c.delay(from, to); d > 0 || at > c.now {
			m.due, m.step = at+d, 0
		}
	}
	c.mail = append(c.mail, m)
}

// run goes from instant to instant, as the dispatcher does, until nothing can happen any more.
func (c *cluster) run() {
	for range 200_000 {
		wake := c.director.Wake()
		due, step := wake, 0
		for _, n := range c.nodes {
			if n.busy > c.now && !n.dead {
				due = min(due, n.busy)
			}
		}
		for _, m := range c.mail {
			if m.due < due || m.due == due && m.due == c.now && m.step > c.step && (step == 0 || m.step < step) {
				due, step = m.due, m.step
			}
		}
		if due == metasim.Forever || c.director.Over() && len(c.mail) == 0 {
			return
		}
		require.False(c.t, due < c.now || due == c.now && step <= c.step, "time goes back")
		c.now, c.step = due, step
		c.instant()
	}
	require.Fail(c.t, "the cluster does not come to an end")
}

// instant hands over what is due, and lets everybody act.
func (c *cluster) instant() {
	var now []mail
	c.mail = slices.DeleteFunc(c.mail, func(m mail) bool {
		is := m.due < c.now || m.due == c.now && m.step <= c.step
		if is {
			now = append(now, m)
		}
		return is
	})
	slices.SortStableFunc(now, func(a, b mail) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.step, b.step), cmp.Compare(a.from, b.from))
	})
	for _, m := range now {
		if m.to == "director" {
			require.NoError(c.t, c.director.Reply(m.from, m.bytes))
			continue
		}
		n := c.nodes[slices.IndexFunc(c.nodes, func(n *testNode) bool { return n.name == m.to })]
		if k, r := begin(m.bytes); k == kindQuit {
			for _, name := range r.quit().nodes {
				if name == n.name {
					c.quits = append(c.quits, name)
				}
			}
		}
		if kind(m.bytes[0]) == kindData {
			n.tell("data", m.from, m.bytes)
			err := n.Data(m.from, m.bytes)
			if peer := new(PeerError); (roguish[c.nodes[0].how] != "" || liar(c.nodes[0].how)) && errors.As(err, &peer) {
				if charge := n.Charge(peer); charge != nil {
					c.send(n.name, "director", charge)
				}
				continue
			}
			require.NoError(c.t, err)
		} else {
			n.tell("order", m.from, m.bytes)
			require.NoError(c.t, n.Order(m.from, m.bytes))
		}
	}
	orders, err := c.director.Tick(c.now)
	require.NoError(c.t, err)
	for _, o := range orders {
		if k, r := begin(o); k == kindRelease {
			l := r.release()
			if how := c.nodes[0].how; roguish[how] == "" && !liar(how) {
				require.NotContains(c.t, c.released, l.frame, "a frame is released once")
			}
			if _, shown := c.released[l.frame]; !shown || !l.missing { // who has shown the frame has shown the data that was released before
				c.released[l.frame] = l.epoch
			}
		}
		for _, n := range c.nodes {
			c.send("director", n.name, o)
		}
	}
	for _, n := range c.nodes {
		for !n.dead && n.busy <= c.now && c.turn(n) {
		}
	}
}

// turn lets a node show a frame, if one is there.
func (c *cluster) turn(n *testNode) bool {
	n.tell("next")
	f, replies, ok, err := n.Next()
	for _, r := range replies {
		c.send(n.name, "director", r)
	}
	if err != nil {
		n.errs = append(n.errs, err)
		if errors.Is(err, ErrStreamsChanged) {
			n.changes = append(n.changes, len(n.frames))
		}
		if errors.Is(err, ErrQuit) {
			n.dead = true
		}
		return !n.dead
	}
	if !ok {
		return false
	}
	n.tell("inputs")
	inputs, _ := n.Inputs()
	for _, i := range inputs {
		n.inputs = append(n.inputs, fmt.Sprint(f.Frame, " ", string(i)))
		n.state += uint64(len(i))
	}
	fails := int64(f.Frame) == n.fails
	if fails && n.how == "before" {
		n.dead = true
		return false
	}
	n.work(c, f, fails)
	if n.dead {
		return false
	}
	shown := [32]byte{1, byte(n.state)}
	n.tell("back", shown[:], []byte(nil))
	b, err := n.Back(shown, nil)
	require.NoError(c.t, err)
	n.busy = c.now + n.load
	c.send(n.name, "director", b)
	return true
}

// work computes a frame or receives it, and notes what it has seen.
func (n *testNode) work(c *cluster, f FrameData, fails bool) {
	n.tell("is")
	controls, _ := n.IsController()
	if sync, _ := n.SyncEnabled(); !sync {
		n.frames = append(n.frames, f)
		return
	}
	if !controls {
		n.tell("receive")
		b, err := n.Receive()
		require.NoError(c.t, err)
		n.state = binary.LittleEndian.Uint64(b)
	} else if n.leads++; n.skips > 0 && int64(f.Frame) == n.skips {
		return // it goes on, and says so
	} else {
		n.state = (n.state+uint64(n.name[0])<<32+uint64(n.current.epoch)<<40)*31 + f.Frame + uint64(f.Delta) // no two controllers compute the same
		c.computed[edition{f.Frame, n.current.epoch}] = n.state
		n.tell("send", binary.LittleEndian.AppendUint64(nil, n.state))
		parts, notice, err := n.Send(binary.LittleEndian.AppendUint64(nil, n.state))
		require.NoError(c.t, err)
		var pieces [][]byte
		for _, p := range parts {
			pieces = append(pieces, bytes.Join(p, nil))
		}
		if fails && roguish[n.how] != "" {
			pieces, fails = spoil(n.how, pieces), false
		}
		if fails && liar(n.how) {
			pieces, fails = n.lie(c, pieces), false
		}
		for _, p := range pieces {
			for _, to := range c.nodes {
				if to.role != Controller && to != n && (!fails || n.how != "one" || to == c.nodes[len(c.nodes)-1]) {
					c.send(n.name, to.name, p)
				}
			}
		}
		n.dead = fails
		if fails && n.how != "after" {
			return
		}
		c.send(n.name, "director", notice)
	}
	n.frames, n.data = append(n.frames, f), append(n.data, n.state)
}

// agree fails unless a node has shown, in each frame, what the controller of the released epoch has computed. A controller that was replaced has
// computed frames that were not released, its last ones.
func (c *cluster) agree(n *testNode) {
	for i, f := range n.frames {
		if n.data[i] == c.computed[edition{f.Frame, c.released[f.Frame]}] {
			continue
		}
		quit := new(QuitError)
		replaced := n.dead && n.leads > 0 && (len(n.errs) == 0 || errors.As(n.errs[len(n.errs)-1], &quit) && quit.Failed)
		require.True(c.t, replaced, "node %s shows data of frame %d that was not released", n.name, f.Frame)
		return
	}
}
