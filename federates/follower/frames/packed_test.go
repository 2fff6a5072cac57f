package frames

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	require.NoError(t, n.Data("lead", (&piece{epoch: 1, parts: 1, size: 1, bytes: []byte("a")}).encode()))
	require.NoError(t, n.Order("director", (&release{epoch: 1}).encode()))
	_, replies, ok, err := n.Next()
	require.NoError(t, err)
	require.False(t, ok)
	want := (&charge{"lead", `client "lead" sent the data of frame 0 in a way in which it cannot be unpacked: it is damaged`}).encode()
	assert.Equal(t, [][]byte{want}, replies, "at once: the director waits for no other message of this node")
}
