package frames

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/follower/packing"
)

// reversing packs data by turning it around, and writes the frame before it.
type reversing struct{}

func (reversing) Pack(kind uint8, frame uint64, data []byte) ([]byte, error) {
	packed := append([]byte{kind, byte(frame)}, data...)
	slices.Reverse(packed[2:])
	return packed, nil
}

func (reversing) Unpack(kind uint8, frame uint64, packed []byte, most uint64) ([]byte, error) {
	if packed[0] != kind || packed[1] != byte(frame) || uint64(len(packed)) > most {
		return nil, errors.New("it was not packed so")
	}
	data := bytes.Clone(packed[2:])
	slices.Reverse(data)
	return data, nil
}

func (reversing) Keep(uint8, uint64, []byte) {}
func (reversing) Forget()                    {}

// failing unpacks nothing.
type failing struct{ reversing }

func (failing) Unpack(uint8, uint64, []byte, uint64) ([]byte, error) {
	return nil, errors.New("it is damaged")
}

// Data is packed as the director asks for it: the same frames, also when a controller fails half-way.
func TestPackedData(t *testing.T) {
	nodes := four()
	nodes[0].fails, nodes[0].how = 7, "pieces"
	cfg := config(20)
	cfg.Packing = 2
	c := newCluster(t, cfg, nodes...)
	for _, n := range nodes {
		n.Packer = reversing{}
	}
	c.run()
	assert.EqualValues(t, 20, c.director.Totals.Frames)
	for _, n := range nodes[1:] {
		c.agree(n)
		assert.Len(t, n.frames, 20)
	}
}

// A node that cannot unpack what the controller has sent charges it, and one that knows no packing refuses the request.
func TestDataThatCannotBeUnpacked(t *testing.T) {
	q := &request{epoch: 1, previous: -1, data: FrameData{Rate: Rate{60, 1}}, sync: true, controller: "lead", packing: 1}
	n := NewNode("me", 100)
	assert.EqualError(t, n.Order("director", q.encode()), `client "director" asks for packed data, which this node does not know; set its packing to none`)
	n.Packer = failing{}
	require.NoError(t, n.Order("director", q.encode()))
	require.NoError(t, n.Data("lead", encoded(&piece{epoch: 1, parts: 1, size: 1, bytes: []byte("a")})))
	require.NoError(t, n.Order("director", (&release{epoch: 1}).encode()))
	_, replies, ok, err := n.Next()
	require.NoError(t, err)
	require.False(t, ok)
	want := (&charge{"lead", `client "lead" sent the data of frame 0 in a way in which it cannot be unpacked: it is damaged`}).encode()
	assert.Equal(t, [][]byte{want}, replies, "at once: the director waits for no other message of this node")
}

// packed writes stories of states that travel as what has changed: the kind that nodes in all languages have.
func packed(t *testing.T, to *strings.Builder) {
	const changes = 3
	asks := func(controller string, frame uint64) string {
		return orders(&request{epoch: 1, previous: int64(frame) - 1, sync: true, controller: controller, data: FrameData{Frame: frame, Rate: Rate{60, 1}}, packing: changes})
	}
	var sender packing.Packer
	shows := func(frame uint64, state []byte, spoil func([]byte)) []string {
		b, err := sender.Pack(changes, frame, state)
		require.NoError(t, err)
		sender.Keep(changes, frame, state)
		spoil(b)
		p := piece{frame: frame, epoch: 1, parts: 1, size: uint64(len(b)), bytes: b}
		return []string{asks("lead", frame), brings("lead", p), orders(&release{frame: frame, epoch: 1}), "next"}
	}
	as := func(n int) []byte { return bytes.Repeat([]byte("a"), n) }
	other := as(300)
	other[100], other[290] = 'b', 'c'
	calls := []string{"node me 1000 50"}
	for frame, state := range [][]byte{as(300), as(300), other, nil, as(1), as(64), as(63), other} {
		calls = append(append(calls, shows(uint64(frame), state, func([]byte) {})...), "receive")
	}
	write(t, to, "a state that travels as what has changed", calls...)

	calls = []string{"node me 1000 50"}
	for frame, state := range [][]byte{as(300), as(300), other, nil, as(1), as(64), as(63), other} {
		calls = append(calls, asks("me", uint64(frame)), "next", "send "+hexed(state))
	}
	write(t, to, "a controller sends what has changed", calls...)
	write(t, to, "as much as the bound, packed", "node me 300 50", asks("me", 0), "next", "send "+hexed(as(301)), "send "+hexed(as(300)), asks("me", 1), "next", "send "+hexed(as(300)))
	write(t, to, "a little more than the bound, as it is packed", "node me 300 500", brings("lead", piece{epoch: 1, parts: 2, size: 364, bytes: as(2)}), asks("lead", 0),
		brings("lead", piece{epoch: 1, part: 1, parts: 2, size: 364, bytes: as(2)}), brings("lead", piece{frame: 1, epoch: 1, parts: 2, size: 365, bytes: as(2)}))

	for i, spoil := range []func([]byte){
		func(b []byte) { b[0]++ }, func(b []byte) { b[9] = 255 }, func(b []byte) { b[16]++ }, func(b []byte) { b[20]-- }, func(b []byte) { b[20]++ },
	} {
		sender = packing.Packer{}
		write(t, to, fmt.Sprint("changes that are none, ", i), append(append([]string{"node me 1000 50"}, shows(0, as(300), spoil)...), "next", "refused")...)
	}
	none := piece{epoch: 1, parts: 1, size: 3, bytes: []byte("abc")}
	in := func(epoch uint32, frame uint64, controller string) string {
		return orders(&request{epoch: epoch, previous: int64(frame) - 1, sync: true, controller: controller, data: FrameData{Frame: frame, Rate: Rate{60, 1}}, packing: changes})
	}
	var another packing.Packer
	afresh, err := another.Pack(changes, 1, as(200))
	require.NoError(t, err)
	sender = packing.Packer{}
	write(t, to, "the first state of an epoch is whole", append(append([]string{"node me 1000 500"}, shows(0, as(300), func([]byte) {})...),
		in(2, 1, "other"), brings("other", piece{frame: 1, epoch: 2, parts: 1, size: uint64(len(afresh)), bytes: afresh}), orders(&release{1, 2, false}), "next", "receive",
		in(3, 2, "me"), "next", "send "+hexed(as(200)), in(3, 3, "me"), "next", "send "+hexed(as(200)))...)
	write(t, to, "changes without a head", "node me 1000 50", asks("lead", 0), brings("lead", none), orders(&release{epoch: 1}), "next")
}

// A state that cannot be made smaller is a little larger when it is packed, and a node takes it although the state has as many bytes as it may have.
func TestAStateOfTheBoundIsPacked(t *testing.T) {
	for _, kind := range packing.Kinds {
		number := uint8(slices.Index(packing.Kinds, kind))
		const most = 300_000
		state := make([]byte, most)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range state {
			state[i] = byte(r.Uint32())
		}
		q := request{epoch: 1, previous: -1, data: FrameData{Rate: Rate{60, 1}}, sync: true, controller: "lead", packing: number}
		lead, other := NewNode("lead", most), NewNode("other", most)
		for _, n := range []*Node{lead, other} {
			n.Packer = &packing.Packer{}
			require.NoError(t, n.Order("director", q.encode()))
		}
		_, _, ok, err := lead.Next()
		require.NoError(t, err)
		require.True(t, ok)
		pieces, _, err := lead.Send(state)
		require.NoError(t, err, kind)
		for _, p := range pieces {
			require.NoError(t, other.Data("lead", bytes.Join(p, nil)), kind)
		}
		require.NoError(t, other.Order("director", (&release{epoch: 1}).encode()))
		_, _, ok, err = other.Next()
		require.NoError(t, err)
		require.True(t, ok)
		got, err := other.Receive()
		require.NoError(t, err)
		assert.Equal(t, state, got, kind)
		over := encoded(&piece{frame: 1, epoch: 1, parts: 1, size: most + most/1024 + 65})
		assert.ErrorContains(t, other.Data("lead", over), fmt.Sprintf("sent %d bytes for frame 1; the bound here is %d", most+most/1024+65, most))
	}
}
