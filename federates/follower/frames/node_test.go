package frames

import (
	"bytes"
	"errors"
	"image"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// at returns a node in frame 0.
func at(t *testing.T, controller string, sync bool) *Node {
	n := NewNode("me", 100)
	q := &request{epoch: 1, previous: -1, data: FrameData{Rate: Rate{60, 1}}, sync: sync, controller: controller}
	require.NoError(t, n.Order("director", q.encode()))
	if controller != "me" && sync {
		require.NoError(t, n.Data(controller, encoded(&piece{epoch: 1, parts: 1, size: 3, bytes: []byte("abc")})))
		require.NoError(t, n.Order("director", (&release{epoch: 1}).encode()))
	}
	_, _, ok, err := n.Next()
	require.NoError(t, err)
	require.True(t, ok)
	return n
}

// Acceptance test 3: each wrong call is an error of its own, with the code and the name that RenderStream has for it, and changes nothing.
func TestWrongCalls(t *testing.T) {
	send := func(n *Node) error { _, _, err := n.Send([]byte("x")); return err }
	receive := func(n *Node) error { _, err := n.Receive(); return err }
	back := func(n *Node) error { _, err := n.Back([32]byte{}, nil); return err }
	await := func(n *Node) error { _, _, _, err := n.Next(); return err }
	large := func(n *Node) error { _, _, err := n.Send(make([]byte, 101)); return err }
	is := func(n *Node) error { _, err := n.IsController(); return err }
	enabled := func(n *Node) error { _, err := n.SyncEnabled(); return err }
	inputs := func(n *Node) error { _, err := n.Inputs(); return err }
	for _, c := range []struct {
		name       string
		controller string
		sync       bool
		calls      []func(*Node) error
		want       error
		code       Code
		codeName   string
	}{
		{"send by a follower", "other", true, []func(*Node) error{send}, ErrNotController, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"receive on the controller", "me", true, []func(*Node) error{receive}, ErrNotFollower, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"send twice", "me", true, []func(*Node) error{send, send}, ErrSentTwice, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"receive twice", "other", true, []func(*Node) error{receive, receive}, ErrReceivedTwice, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"send while off", "me", false, []func(*Node) error{send}, ErrSyncOff, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"receive while off", "other", false, []func(*Node) error{receive}, ErrSyncOff, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"back twice", "other", true, []func(*Node) error{back, back}, ErrBackTwice, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"too large", "me", true, []func(*Node) error{large}, ErrTooLarge, 9, "RS_ERROR_BUFFER_OVERFLOW"},
		{"a frame without a send", "me", true, []func(*Node) error{await}, ErrNotSent, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"send between frames", "me", true, []func(*Node) error{send, await, send}, ErrNoFrame, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"ask between frames", "me", true, []func(*Node) error{send, await, is}, ErrNoFrame, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"ask between frames", "me", true, []func(*Node) error{send, await, enabled}, ErrNoFrame, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"inputs between frames", "me", true, []func(*Node) error{send, await, inputs}, ErrNoFrame, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"receive between frames", "other", true, []func(*Node) error{await, receive}, ErrNoFrame, 8, "RS_ERROR_INVALID_PARAMETERS"},
		{"back between frames", "other", true, []func(*Node) error{await, back}, ErrNoFrame, 8, "RS_ERROR_INVALID_PARAMETERS"},
	} {
		n := at(t, c.controller, c.sync)
		last := len(c.calls) - 1
		for _, call := range c.calls[:last] {
			require.NoError(t, call(n), c.name)
		}
		err := c.calls[last](n)
		require.ErrorIs(t, err, c.want, c.name)
		assert.Contains(t, err.Error(), "node me, frame 0: ", c.name)
		code, ok := CodeOf(err)
		assert.True(t, ok)
		assert.Equal(t, c.code, code, c.name)
		assert.Equal(t, c.codeName, code.String(), c.name)
	}
	for _, c := range []struct {
		err  error
		code Code
		name string
	}{
		{ErrTimeout, 10, "RS_ERROR_TIMEOUT"}, {ErrStreamsChanged, 11, "RS_ERROR_STREAMS_CHANGED"}, {&QuitError{}, 15, "RS_ERROR_QUIT"},
		{&PeerError{Code: Incompatible}, 12, "RS_ERROR_INCOMPATIBLE_VERSION"}, {&MissingError{}, 17, "RS_ERROR_UNSPECIFIED"},
	} {
		code, ok := CodeOf(c.err)
		assert.True(t, ok)
		assert.Equal(t, c.code, code)
		assert.Equal(t, c.name, code.String())
	}
	_, ok := CodeOf(errors.New("another"))
	assert.False(t, ok)
}

// Data that differs from what was announced or from what has come before, or is of a run that is not this one, names who sent it.
func TestWrongData(t *testing.T) {
	for _, c := range []struct {
		want   string
		pieces []piece
	}{
		{`client "other" sent the data of frame 3 twice; send once in a frame`,
			[]piece{{frame: 3, epoch: 1, parts: 1, size: 1, bytes: []byte("a")}, {frame: 3, epoch: 1, parts: 1, size: 1, bytes: []byte("b")}}},
		{`client "other" announced 4 bytes for frame 3, and sent others; it may be another program`,
			[]piece{{frame: 3, epoch: 1, parts: 1, size: 4, bytes: []byte("abc")}}},
		{`client "other" announced 4 bytes for frame 3, and sent others; it may be another program`,
			[]piece{{frame: 3, epoch: 1, parts: 2, size: 4, bytes: []byte("ab")}, {frame: 3, epoch: 1, part: 1, parts: 2, size: 5, bytes: []byte("abc")}}},
		{`client "other" announced 4 bytes for frame 3, and sent others; it may be another program`,
			[]piece{{frame: 3, epoch: 1, part: 1, parts: 3, size: 4, bytes: []byte("ab")}, {frame: 3, epoch: 1, part: 2, parts: 4, size: 4, bytes: []byte("a")}}},
		{`client "other" announced 4 bytes for frame 3, and sent others; it may be another program`,
			[]piece{{frame: 3, epoch: 1, part: 1, parts: 3, size: 4, bytes: []byte("abc")}, {frame: 3, epoch: 1, part: 0, parts: 3, size: 4, bytes: []byte("ab")}}},
		{`client "other" sent the data of frame 3 twice; send once in a frame`,
			[]piece{{frame: 3, epoch: 1, part: 1, parts: 2, size: 4, bytes: []byte("ab")}, {frame: 3, epoch: 1, part: 1, parts: 2, size: 4, bytes: []byte("a")}}},
		{`client "other" sent 165 bytes for frame 3; the bound here is 100: raise max_bytes, or send less`,
			[]piece{{frame: 3, epoch: 1, parts: 2, size: 165, bytes: []byte("ab")}}},
		{`client "other" sent what is no message of followers; check what is published on its channel`,
			[]piece{{frame: 3, epoch: 1, parts: 0}}},
	} {
		n := NewNode("me", 100)
		var err error
		for _, p := range c.pieces {
			require.NoError(t, err)
			err = n.Data("other", encoded(&p))
		}
		assert.EqualError(t, err, c.want)
	}
	n := NewNode("me", 100)
	var err error
	for f := uint64(0); err == nil && f < 2*maxAhead; f++ {
		err = n.Data("other", encoded(&piece{frame: f, epoch: 1, parts: 1}))
	}
	assert.ErrorContains(t, err, "is it a client of another run?")
}

// Data for a frame that is never asked for, as it was discarded, holds up no other.
func TestDataOfADiscardedFrame(t *testing.T) {
	n := at(t, "lead", true)
	q := &request{epoch: 1, previous: 0, data: FrameData{Frame: 2, Rate: Rate{60, 1}}, sync: true, controller: "lead"}
	for frame := range uint64(2) {
		require.NoError(t, n.Data("rogue", encoded(&piece{frame: frame + 1, epoch: 1, parts: 1, size: 3, bytes: []byte("bad")})))
	}
	require.NoError(t, n.Order("director", q.encode()))
	require.NoError(t, n.Data("lead", encoded(&piece{frame: 2, epoch: 1, parts: 1, size: 3, bytes: []byte("two")})))
	require.NoError(t, n.Order("director", (&release{frame: 2, epoch: 1}).encode()))
	f, _, ok, err := n.Next()
	require.NoError(t, err)
	require.True(t, ok)
	assert.EqualValues(t, 2, f.Frame)
	data, err := n.Receive()
	require.NoError(t, err)
	assert.Equal(t, "two", string(data))
	assert.EqualValues(t, 2, n.Refused)
}

// A frame without data tells what was to happen in it.
func TestAMissingFrameIsToldWhole(t *testing.T) {
	n := NewNode("me", 100)
	q := &request{epoch: 1, previous: -1, data: FrameData{Frame: 6, Reset: true, Scene: 2, Rate: Rate{60, 1}}, sync: true, controller: "lead", inputs: [][]byte{[]byte("in")}}
	require.NoError(t, n.Order("director", q.encode()))
	require.NoError(t, n.Order("director", (&release{frame: 6, epoch: 1, missing: true}).encode()))
	_, _, _, err := n.Next()
	missing := new(MissingError)
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, q.data, missing.FrameData)
	assert.Equal(t, q.inputs, missing.Inputs)
}

// twoStreams are streams of two nodes: one has a camera of its own.
var twoStreams = []Stream{{Node: "me", Name: "left", Camera: Camera{Of: "/eye"}, Clip: image.Rect(0, 0, 3, 2)},
	{Node: "b", Camera: Camera{Position: [3]float64{1, 2, 3}, Rotation: [4]float64{1}, FOV: 1, Near: 0.1, Far: 9, Width: 8, Height: 6}, Clip: image.Rect(3, 0, 8, 6)}}

// No cut or changed message is taken for another, and none panics.
func TestDamagedMessages(t *testing.T) {
	q := &request{epoch: 1, previous: -1, data: FrameData{Rate: Rate{60, 1}}, sync: true, controller: "me", inputs: [][]byte{[]byte("in"), nil}}
	withStreams := *q
	withStreams.views = twoStreams
	packed := withStreams
	packed.packing = 1
	w := &Whole{Sync: true, Parts: []Part{{Node: "a", Streams: twoStreams, Pictures: [][]byte{[]byte("p"), nil}}, {Node: "b"}}}
	whole := func(b []byte) error { _, err := ReadWhole(b); return err }
	node := func(b []byte) error {
		n := NewNode("me", 100)
		n.Packer = failing{}
		return n.Order("director", b)
	}
	data := func(b []byte) error { return NewNode("me", 100).Data("other", b) }
	director := func(b []byte) error {
		d := NewDirector(Config{})
		if b[0] != byte(kindHello) {
			require.NoError(t, d.Reply("n", (&hello{}).encode()))
		}
		return d.Reply("n", b)
	}
	for _, c := range []struct {
		whole []byte
		take  func([]byte) error
	}{
		{q.encode(), node}, {(&release{}).encode(), node}, {(&quit{nodes: []string{"a"}, reason: "why"}).encode(), node},
		{encoded(&piece{parts: 1, size: 2, bytes: []byte("ab")}), data},
		{(&hello{}).encode(), director}, {(&sent{}).encode(), director}, {(&Frame{Pictures: [][]byte{[]byte("p")}}).encode(), director},
		{(&charge{"a", "why"}).encode(), director}, {packed.encode(), node}, {withStreams.encode(), node}, {(&Frame{Pictures: [][]byte{[]byte("p"), nil}}).encode(), director}, {w.encode(), whole},
		{NewNode("n", 1).Input([]byte("in")), director},
	} {
		require.NoError(t, c.take(c.whole))
		for cut := 1; cut < len(c.whole); cut++ {
			assert.Error(t, c.take(c.whole[:cut]), "kind %d cut after %d", c.whole[0], cut)
		}
		if c.whole[0] != byte(kindData) {
			assert.Error(t, c.take(append(c.whole[:len(c.whole):len(c.whole)], 0)))
		}
		other := append([]byte{}, c.whole...)
		other[1] = 4
		assert.ErrorContains(t, c.take(other), "speaks version 4 of followers, this one 3")
		other[0], other[1] = 200, protocolVersion
		assert.ErrorContains(t, c.take(other), "no message of followers")
	}
	_, ok := ReadFrame(q.encode())
	assert.False(t, ok)
}

// Data of many pieces is put together as it was.
func TestLargeData(t *testing.T) {
	lead, n := NewNode("lead", 1<<30), NewNode("me", 1<<30)
	q := &request{epoch: 1, previous: -1, data: FrameData{Rate: Rate{60, 1}}, sync: true, controller: "lead"}
	const most = 8 << 20 // in a piece; of larger ones the test takes long
	lead.piece = most
	for _, size := range []int{0, 1, most, most + 1, 3*most - 7} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * 7 >> 3)
		}
		for _, o := range []*Node{lead, n} {
			require.NoError(t, o.Order("director", q.encode()))
		}
		_, _, ok, err := lead.Next()
		require.True(t, ok && err == nil)
		pieces, _, err := lead.Send(data)
		require.NoError(t, err)
		slices.Reverse(pieces) // they overtake one another
		for _, p := range pieces {
			require.NoError(t, n.Data("lead", bytes.Join(p, nil)))
		}
		require.NoError(t, n.Order("director", (&release{frame: q.data.Frame, epoch: 1}).encode()))
		_, _, ok, err = n.Next()
		require.True(t, ok && err == nil, size)
		got, err := n.Receive()
		require.NoError(t, err)
		require.Equal(t, string(data), string(got))
		q.previous = int64(q.data.Frame)
		q.data.Frame++
	}
}

// encoded is the message of a piece.
func encoded(p *piece) []byte { return bytes.Join(p.encode(), nil) }
