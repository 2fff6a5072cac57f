package frames

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/follower/packing"
	"metasim/internal/golden"
	"metasim/metasim"
)

// tell notes a call of the node's machine, if the node tells a story.
func (n *testNode) tell(call string, words ...any) {
	if !n.tells {
		return
	}
	for _, w := range words {
		if b, ok := w.([]byte); ok {
			w = hexed(b)
		}
		call += fmt.Sprint(" ", w)
	}
	n.calls = append(n.calls, call)
}

func hexed(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}

func plainBytes(t *testing.T, word string) []byte {
	if word == "-" {
		return nil
	}
	b, err := hex.DecodeString(word)
	require.NoError(t, err)
	return b
}

func plainNumber(t *testing.T, word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	require.NoError(t, err)
	return n
}

// A player carries out the calls of stories. conformance/README.md says what they are.
type player struct {
	t *testing.T
	n *Node
}

// do carries out one call, and returns what comes of it, a line each.
func (p *player) do(call string) (came []string) {
	w := strings.Fields(call)
	result := func(err error, words ...any) []string {
		if err != nil {
			return append(came, problem(err))
		}
		return append(came, strings.TrimSpace("ok "+fmt.Sprintln(words...)))
	}
	switch w[0] {
	case "node":
		p.n = NewNode(w[1], uint64(plainNumber(p.t, w[2])))
		p.n.piece = int(plainNumber(p.t, w[3]))
		p.n.Packer = &packing.Packer{}
		return nil
	case "hello":
		return append(came, "reply "+hexed(p.n.Hello(Role(plainNumber(p.t, w[1])), plainNumber(p.t, w[2]))))
	case "order":
		return result(p.n.Order(w[1], plainBytes(p.t, w[2])))
	case "data":
		return result(p.n.Data(w[1], plainBytes(p.t, w[2])))
	case "next", "begin":
		return p.next(w[1:])
	case "hear":
		replies, err := p.n.Hear()
		for _, r := range replies {
			came = append(came, "reply "+hexed(r))
		}
		return result(err)
	case "follow":
		p.n.SetFollower(w[1] == "1")
		return result(nil)
	case "is":
		is, err := p.n.IsController()
		return result(err, flagOf(is))
	case "sync":
		on, err := p.n.SyncEnabled()
		return result(err, flagOf(on))
	case "send":
		pieces, notice, err := p.n.Send(plainBytes(p.t, w[1]))
		for _, b := range pieces {
			came = append(came, "data "+hexed(bytes.Join(b, nil)))
		}
		if err == nil {
			came = append(came, "reply "+hexed(notice))
		}
		return result(err)
	case "receive":
		b, err := p.n.Receive()
		return result(err, hexed(b))
	case "inputs":
		inputs, err := p.n.Inputs()
		return result(err, words(inputs)...)
	case "input":
		return append(came, "reply "+hexed(p.n.Input(plainBytes(p.t, w[1]))))
	case "back", "streams", "charge":
		return p.shows(w, result)
	case "refused":
		return result(nil, p.n.Refused)
	}
	require.Fail(p.t, call)
	return nil
}

// shows carries out a call that has to do with what is shown, or a charge.
func (p *player) shows(w []string, result func(error, ...any) []string) []string {
	var came []string
	switch w[0] {
	case "back":
		var pictures [][]byte
		for _, word := range w[2:] {
			pictures = append(pictures, plainBytes(p.t, word))
		}
		b, err := p.n.Back([32]byte(plainBytes(p.t, w[1])), pictures)
		if err == nil {
			came = append(came, "reply "+hexed(b))
		}
		return append(came, result(err)...)
	case "streams":
		streams, err := p.n.Streams()
		for i := range streams {
			came = append(came, "stream "+streamOf(&streams[i]))
		}
		return append(came, result(err)...)
	case "charge":
		if b := p.n.Charge(&PeerError{Peer: w[1], Why: strings.TrimPrefix(string(plainBytes(p.t, w[2])), fmt.Sprintf("client %q ", w[1]))}); b != nil {
			came = append(came, "reply "+hexed(b))
		}
		return append(came, result(nil)...)
	}
	return nil
}

// streamOf is a stream in a story: numbers that are no whole ones are told by their bits.
func streamOf(s *Stream) string {
	c := &s.Camera
	line := hexed([]byte(s.Name)) + " " + hexed([]byte(c.Of))
	for _, x := range [...]float64{c.Position[0], c.Position[1], c.Position[2], c.Rotation[0], c.Rotation[1], c.Rotation[2], c.Rotation[3], c.FOV, c.Near, c.Far} {
		line += fmt.Sprintf(" %016x", math.Float64bits(x))
	}
	return fmt.Sprint(line, " ", c.Width, " ", c.Height, " ", s.Clip.Min.X, " ", s.Clip.Min.Y, " ", s.Clip.Max.X, " ", s.Clip.Max.Y)
}

func words(inputs [][]byte) (list []any) {
	for _, i := range inputs {
		list = append(list, hexed(i))
	}
	return list
}

// next is the call next, and with a time begin.
func (p *player) next(tracked []string) (came []string) {
	next := p.n.Next
	if len(tracked) > 0 {
		next = func() (FrameData, [][]byte, bool, error) {
			return p.n.Begin(metasim.Time(plainNumber(p.t, tracked[0])))
		}
	}
	f, replies, ok, err := next()
	for _, r := range replies {
		came = append(came, "reply "+hexed(r))
	}
	missing := new(MissingError)
	switch {
	case errors.As(err, &missing):
		list := append([]any{"missing", missing.Frame, flagOf(missing.Reset)}, words(missing.Inputs)...)
		return append(came, strings.TrimSpace(fmt.Sprintln(list...)))
	case err != nil:
		return append(came, problem(err))
	case !ok:
		return append(came, "wait")
	}
	return append(came, fmt.Sprintln("frame", f.Frame, int64(f.Tracked), int64(f.Local), int64(f.Delta), f.Rate.Num, f.Rate.Den, flagOf(f.Reset), f.Scene))
}

func flagOf(v bool) int {
	if v {
		return 1
	}
	return 0
}

// problem is an error in a story: its code, and for what another client has done, or the director has said, the sentence.
func problem(err error) string {
	code, _ := CodeOf(err)
	peer, quit := new(PeerError), new(QuitError)
	switch {
	case errors.As(err, &peer) && code != Incompatible: // each library says which version it speaks
		return fmt.Sprint("error ", uint32(code), " ", hexed([]byte(peer.Error())))
	case errors.As(err, &quit):
		return fmt.Sprint("error ", uint32(code), " ", hexed([]byte(quit.Reason)))
	}
	return fmt.Sprint("error ", uint32(code))
}

// write plays a story, and writes it down with what comes of each call.
func write(t *testing.T, to *strings.Builder, name string, calls ...string) {
	fmt.Fprintf(to, "story %s\n", name)
	p := player{t: t}
	for _, call := range calls {
		fmt.Fprintln(to, call)
		for _, came := range p.do(call) {
			fmt.Fprintln(to, " "+strings.TrimSpace(came))
		}
	}
}

func orders(m interface{ encode() []byte }) string { return "order director " + hexed(m.encode()) }

// asks returns the call that brings a request, whose frame comes after the one before it.
func asks(controller string, sync bool, frame uint64, inputs ...string) string {
	r := Rate{60, 1}
	q := &request{epoch: 1, previous: int64(frame) - 1, sync: sync, controller: controller,
		data: FrameData{Frame: frame, Tracked: r.Time(frame), Local: r.Time(frame), Delta: r.Time(1), Rate: r, Reset: frame == 3, Scene: 7}}
	for _, i := range inputs {
		q.inputs = append(q.inputs, []byte(i))
	}
	return orders(q)
}

func brings(from string, p piece) string { return "data " + from + " " + hexed(encoded(&p)) }

// What the node's machine says in each story is the same in every language: conformance/followers.txt holds the libraries in C and Python to it.
func TestStories(t *testing.T) {
	var to strings.Builder
	const node, other = "node me 100 3", "lead"
	back := "back " + strings.Repeat("ab", 32) + " 7069"
	release := func(frame uint64, missing bool) string { return orders(&release{frame, 1, missing}) }
	one := func(frame uint64) string {
		return brings(other, piece{frame: frame, epoch: 1, parts: 1, size: 2, bytes: []byte("ab")})
	}
	write(t, &to, "a follower shows what the controller sent", node, "hello 0 0", "next", asks(other, true, 0, "in", ""), "next", one(0), "next", release(0, false), "next",
		"is", "sync", "inputs", "receive", "receive", "send 01", back, back, "input 0102", "next", "is", "receive", "inputs", back)
	write(t, &to, "the controller sends once", node, "hello 2 0", asks("me", true, 0), "next", "is", "receive", "send 0102030405060708", "send 01", back, "next",
		asks("me", true, 1), "next", "send -", "next", asks("me", true, 2), "next", "next", asks("me", true, 3), "next", "send "+strings.Repeat("00", 101), "send 00")
	write(t, &to, "without synchronisation nothing is sent", node, asks("me", false, 0), "next", "is", "sync", "send 01", asks(other, false, 1), "next", "is", "receive", back)
	write(t, &to, "a frame without data is told whole", node, asks(other, true, 0), release(0, false), one(0), "next", asks(other, true, 1), one(1), release(1, false), "next",
		asks(other, true, 2), one(2), release(2, false), "next", asks(other, true, 3, "in", "2"), release(3, true), "next", "inputs", asks(other, true, 4), one(4), release(4, false), "next")
	write(t, &to, "the older pair has the same frames", node, "begin 0", "hear", "follow 1", "next", "hear", asks(other, false, 0), "begin 5", "begin 0", "is", "begin 0", asks(other, false, 1, "in"),
		"begin 16666667", "inputs", back, asks(other, true, 2), "begin 33333333", one(2), release(2, false), "begin 33333334", "begin 33333333", "receive",
		asks(other, true, 3), release(3, true), "begin 66666667", asks(other, true, 4), one(4), release(4, false), "begin 66666667", "hear", asks("me", true, 5), "hear", "begin 83333333", "follow 0", "next",
		"follow 1", orders(&quit{nodes: []string{"me"}, reason: "the end"}), "hear")
	streams := &request{epoch: 1, previous: -1, streams: 1, controller: other, data: FrameData{Rate: Rate{60, 1}}}
	write(t, &to, "streams, and the end", "node me 100 3", orders(streams), "next", "next", orders(&quit{nodes: []string{"a"}, reason: "not you"}), "next",
		orders(&quit{nodes: []string{"a", "me"}, reason: "the end"}), "next", "next")
	ends(t, &to, node)
	cameras(t, &to, node)
	wrong(t, &to, node)
	charges(t, &to, node)
	calls(t, &to, node)
	twice(t, &to, node)
	packed(t, &to)
	for seed := range uint64(4) {
		drawn(t, &to, seed)
	}
	golden.Equal(t, "../../../conformance/followers.txt", to.String())
}

// cameras writes stories of requests with streams.
func cameras(t *testing.T, to *strings.Builder, node string) {
	free := Camera{Position: [3]float64{1, -2.5, 3e-9}, Rotation: [4]float64{1, 0, 0, 0.5}, FOV: 1.047, Near: 0.1, Far: 100, Width: 640, Height: 480}
	views := []Stream{
		{Node: "me", Name: "left", Camera: free, Clip: image.Rect(0, 0, 320, 480)},
		{Node: "lead", Name: "not mine", Camera: free, Clip: image.Rect(320, 0, 640, 480)},
		{Node: "me", Camera: Camera{Of: "/eye"}, Clip: image.Rect(1, 2, 3, 4)},
	}
	request := func(frame uint64, views ...Stream) string {
		return orders(&request{epoch: 1, previous: int64(frame) - 1, controller: "lead", data: FrameData{Frame: frame, Rate: Rate{60, 1}}, views: views})
	}
	back := "back " + strings.Repeat("ab", 32)
	write(t, to, "cameras", node, request(0, views...), "streams", "next", "streams", back+" 7069", back+" 70 71 72", back+" 7069 -", back, request(1, views[0]), "next", "streams", back+" 70 71", back+" 70",
		request(2, views[1]), "next", "streams", back+" 70", request(3), "next", "streams", back)
	bad := []string{node}
	for _, spoil := range []func(*Stream){
		func(s *Stream) { s.Clip.Max.X = 0 }, func(s *Stream) { s.Clip.Max.Y = 481 }, func(s *Stream) { s.Clip.Max.X = most + 1; s.Camera.Width = most + 1 }, func(s *Stream) { s.Camera.FOV = math.Pi },
		func(s *Stream) { s.Camera.FOV = 0 }, func(s *Stream) { s.Camera.Near = 100 }, func(s *Stream) { s.Camera.Near = 0 }, func(s *Stream) { s.Camera.Rotation = [4]float64{} },
		func(s *Stream) { s.Camera.Position[1] = math.Inf(1) }, func(s *Stream) { s.Camera.Far = math.NaN() },
	} {
		view := views[0]
		spoil(&view)
		bad = append(bad, request(0, view), request(0, views[2], view))
	}
	whole := request(0, views...)
	bad = append(bad, whole[:len(whole)-2], whole+"00")
	write(t, to, "cameras that make no picture", bad...)
}

// charges writes stories of what becomes of the data of a client that was charged.
func charges(t *testing.T, to *strings.Builder, node string) {
	set := func(frame uint64, epoch uint32) piece {
		return piece{frame: frame, epoch: epoch, parts: 1, size: 2, bytes: []byte("ab")}
	}
	why := hexed([]byte(`client "rogue" sent the data of frame 0 twice; send once in a frame`))
	other := set(0, 1)
	other.bytes = []byte("cd")
	again := func(controller string, frame uint64) string {
		return orders(&request{epoch: 2, previous: int64(frame) - 1, sync: true, controller: controller, data: FrameData{Frame: frame, Rate: Rate{60, 1}}})
	}
	write(t, to, "a controller that was charged", node, asks("rogue", true, 0), brings("rogue", set(0, 1)), brings("rogue", other), "charge rogue "+why, "charge rogue "+why, orders(&release{0, 1, false}),
		"next", brings("rogue", set(0, 1)), brings("rogue", set(7, 1)), "refused", again("lead", 0), brings("lead", set(0, 2)), orders(&release{0, 2, false}), "next", "receive")
	write(t, to, "the understudy has shown the frame that it is asked for", node, asks("rogue", true, 0), brings("rogue", set(0, 1)), orders(&release{0, 1, false}), "next", "receive", brings("rogue", piece{}),
		"charge rogue "+why, again("me", 0), "next", again("me", 1), "next", "send 01")
	shows := func(frame uint64) []string {
		return []string{asks("rogue", true, frame), brings("rogue", set(frame, 1)), orders(&release{frame, 1, false}), "next"}
	}
	several := slices.Concat([]string{node}, shows(0), shows(1), shows(2), []string{"charge rogue " + why, again("me", 0), again("me", 1), again("me", 2), "next", again("me", 3), "next"})
	write(t, to, "the understudy has shown several frames that it is asked for", several...)
}

// twice writes stories of links that deliver each message twice.
func twice(t *testing.T, to *strings.Builder, node string) {
	first := brings("lead", piece{epoch: 1, parts: 2, size: 3, bytes: []byte("ab")})
	second := brings("lead", piece{epoch: 1, part: 1, parts: 2, size: 3, bytes: []byte("c")})
	request, over := asks("lead", true, 0, "in"), orders(&release{epoch: 1})
	write(t, to, "each message comes twice", node, request, request, first, first, second, first, second, over, over, "next", "inputs", "receive", request, second, "next", "refused")
	write(t, to, "a controller is asked twice", node, asks("me", true, 0), asks("me", true, 0), "next", "send 01", asks("me", true, 0), "next", asks("me", true, 1), "next", "send 02",
		asks("me", true, 0), asks("me", true, 1), "next")
}

// wrong writes stories of what other clients may not do.
func wrong(t *testing.T, to *strings.Builder, node string) {
	write(t, to, "an epoch that was not released", node, brings("rogue", piece{epoch: 1, parts: 1, size: 3, bytes: []byte("bad")}), asks("old", true, 0),
		brings("old", piece{epoch: 1, parts: 1, size: 3, bytes: []byte("old")}), orders(&request{epoch: 2, previous: -1, sync: true, controller: "new", data: FrameData{Rate: Rate{60, 1}}}),
		orders(&release{epoch: 1}), "next", brings("new", piece{epoch: 2, part: 1, parts: 2, size: 4, bytes: []byte("w")}), orders(&release{epoch: 2}), "next",
		brings("new", piece{epoch: 2, parts: 2, size: 4, bytes: []byte("new")}), "next", "receive", "refused", brings("old", piece{epoch: 1, parts: 1, size: 0}), "refused")
	p := piece{epoch: 1, parts: 1, size: 1, bytes: []byte("a")}
	write(t, to, "data of two controllers", node, asks("lead", true, 0), brings("lead", p), brings("other", p), orders(&release{epoch: 1}), "next", "receive", "refused")
	p.frame = 3
	again := p
	again.bytes = []byte("b")
	write(t, to, "other data in the same frame", node, brings("other", p), brings("other", again))
	again = p
	again.epoch = 2
	write(t, to, "data of another epoch from one client", node, brings("other", p), brings("other", again))
	p.size = 4
	write(t, to, "data that is shorter than announced", node, brings("other", p))
	p.parts, p.bytes = 2, []byte("abc")
	longer := piece{frame: 3, epoch: 1, part: 1, parts: 2, size: 4, bytes: []byte("de")}
	write(t, to, "data that is longer than announced", node, brings("other", p), brings("other", longer))
	longer.parts = 3
	write(t, to, "data in other pieces than announced", node, brings("other", p), brings("other", longer))
	p.size = 165
	write(t, to, "data beyond the bound", node, brings("other", p))
	bad := []string{node, "data other -", "data other 09", "order director -", "order director c801", "data other c801", "order director 0301ffffffff", brings("other", piece{})}
	for _, m := range []interface{ encode() []byte }{&release{}, &call{}, &quit{nodes: []string{"a"}, reason: "why"}, &request{previous: -1, controller: "c", data: FrameData{Rate: Rate{1, 1}}, inputs: [][]byte{[]byte("in")}}} {
		whole := m.encode()
		for _, cut := range []int{3, len(whole) / 2, len(whole) - 1} {
			bad = append(bad, "order director "+hexed(whole[:cut]))
		}
		other := append(append([]byte{}, whole...), 0)
		bad = append(bad, "order director "+hexed(other))
		other[1] = 9
		bad = append(bad, "order director "+hexed(other))
	}
	write(t, to, "no messages of followers", bad...)
	ahead := []string{node}
	for f := range uint64(maxAhead + 1) {
		ahead = append(ahead, brings("other", piece{frame: f, epoch: 1, parts: 1}))
	}
	write(t, to, "data of another run", ahead...)
}

// drawn writes what two nodes of a cluster live through, on a network with delays, when its controller is lost.
func drawn(t *testing.T, to *strings.Builder, seed uint64) {
	draw := rand.New(rand.NewPCG(seed, 17))
	cfg := Config{Rate: Rate{60000, 1001}, Frames: 8, Sync: true, Patience: 100 * ms, Bounded: 2, Nodes: []string{"a", "b", "c", "d"}, Reset: []uint64{4}}
	nodes := []*testNode{{name: "b", role: Controller, fails: draw.Int64N(7), how: []string{"before", "pieces", "after"}[draw.IntN(3)]},
		{name: "a", role: Understudy, fails: -1, tells: true}, {name: "d", role: Understudy, fails: -1}, {name: "c", fails: -1, tells: true}}
	c := newCluster(t, cfg, nodes...)
	c.delay = func(string, string) metasim.Time { return metasim.Time(draw.Int64N(int64(40 * ms))) }
	c.run()
	for _, n := range []*testNode{nodes[1], nodes[3]} {
		write(t, to, fmt.Sprintf("node %s of a cluster, %d", n.name, seed), append(append([]string{"node " + n.name + " 1073741824 3"}, n.calls...), "refused")...)
	}
}
