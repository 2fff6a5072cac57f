package frames

import (
	"bytes"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each node is asked for its own streams, in the frames that have some, and sends a picture for each of them back.
func TestStreamsOfANode(t *testing.T) {
	cfg := config(5)
	cfg.Views, cfg.Every, cfg.Wholes, cfg.Nodes = append(twoStreams, twoStreams[0]), 2, true, []string{"b"}
	d := NewDirector(cfg)
	me, b := NewNode("me", 100), NewNode("b", 100)
	require.NoError(t, d.Reply("me", me.Hello(Controller, 0)))
	require.NoError(t, d.Reply("b", b.Hello(Follower, 0)))
	for frame := range 5 {
		orders, err := d.Tick(cfg.Rate.Time(uint64(frame)))
		require.NoError(t, err)
		for _, o := range orders {
			require.NoError(t, me.Order("director", o))
		}
		_, _, ok, err := me.Next()
		require.True(t, ok)
		require.NoError(t, err)
		streams, err := me.Streams()
		require.NoError(t, err)
		if frame%2 == 1 {
			assert.Empty(t, streams)
		} else {
			assert.Equal(t, []Stream{twoStreams[0], twoStreams[0]}, streams)
			for _, wrong := range [][][]byte{{nil}, {nil, nil, nil}} {
				_, err = me.Back([32]byte{}, wrong)
				assert.ErrorIs(t, err, ErrPictures)
				code, _ := CodeOf(err)
				assert.Equal(t, InvalidParameters, code)
			}
		}
		pictures := make([][]byte, len(streams))
		back, err := me.Back([32]byte{1}, pictures)
		require.NoError(t, err)
		_, notice, err := me.Send(nil)
		require.NoError(t, err)
		for _, m := range [][]byte{notice, back} {
			require.NoError(t, d.Reply("me", m))
		}
		other := Frame{Frame: uint64(frame), Tracked: cfg.Rate.Time(uint64(frame)), State: [32]byte{2}}
		require.NoError(t, d.Reply("b", other.encode()))
		_, err = d.Tick(cfg.Rate.Time(uint64(frame)))
		require.NoError(t, err)
		wholes := d.Wholes()
		require.Len(t, wholes, 1)
		w, err := ReadWhole(wholes[0])
		require.NoError(t, err)
		assert.True(t, w.Torn)
		assert.Equal(t, cfg.Rate.Time(uint64(frame)), w.Tracked)
		assert.Len(t, w.Parts[1].Streams, len(streams))
		assert.Len(t, w.Parts[1].Pictures, len(streams))
		assert.Equal(t, [32]byte{2}, w.Parts[0].State)
	}
	assert.EqualValues(t, 5, d.Totals.Torn)
	assert.Equal(t, "frame 0 (tTracked 0s): b shows state 02000000, me shows state 01000000", d.Totals.FirstTorn)
}

// A stream of a node that does not come is not left out: the director says whom it has waited for.
func TestAStreamOfNobody(t *testing.T) {
	cfg := config(5)
	cfg.Views = twoStreams
	d := NewDirector(cfg)
	require.NoError(t, d.Reply("me", NewNode("me", 1).Hello(Controller, 0)))
	orders, err := d.Tick(0)
	require.NoError(t, err)
	require.Empty(t, orders)
	orders, err = d.Tick(d.Wake())
	require.NoError(t, err)
	require.Equal(t, []kind{kindQuit}, kinds(orders), "who is there is told why")
	require.NoError(t, d.Reply("me", head(kindBye, 0)))
	_, err = d.Tick(0)
	require.EqualError(t, err, "node b has not said hello for 1s; is its director named as this one?")
}

// A frame is put together by its number and its tTracked: with another one it is of another run.
func TestAFrameOfAnotherTime(t *testing.T) {
	d := NewDirector(config(5))
	require.NoError(t, d.Reply("me", NewNode("me", 1).Hello(Controller, 0)))
	_, err := d.Tick(0)
	require.NoError(t, err)
	require.EqualError(t, d.Reply("me", (&Frame{Tracked: 7}).encode()),
		`client "me" sent frame 0 back with tTracked 7ns; it was asked for with 0s: is it a client of another run?`)
}

// Who asks for no pictures sends the bytes that were sent before there were streams: old nodes read them, and digests are what they were.
func TestRequestsWithoutStreamsAreWhatTheyWere(t *testing.T) {
	q := &request{epoch: 3, previous: -1, data: FrameData{Frame: 2, Tracked: 5, Rate: Rate{60, 1}}, controller: "c", inputs: [][]byte{[]byte("in")}}
	assert.Equal(t, "010103000000ffffffffffffffff02000000000000000500000000000000"+"0000000000000000"+"0000000000000000"+"3c00000001000000"+
		"00"+"00000000"+"00"+"00000000"+"0100000063"+"01000000"+"02000000696e", hex.EncodeToString(q.encode()))
	f := Frame{Frame: 2, Tracked: 5, Pictures: [][]byte{[]byte("p")}}
	assert.Equal(t, "06010200000000000000"+"0500000000000000"+hex.EncodeToString(make([]byte, 32))+"0100000070", hex.EncodeToString(f.encode()))
}

// A stream that makes no picture is refused.
func TestWrongStreams(t *testing.T) {
	for want, change := range map[string]func(*Stream){
		"no pixels":                       func(s *Stream) { s.Clip.Max.X = s.Clip.Min.X },
		"lies outside":                    func(s *Stream) { s.Clip = image.Rect(0, 0, most+1, 1) },
		"of a picture of 8 x 5":           func(s *Stream) { s.Camera.Height = 5 },
		"an angle of view of 3.2":         func(s *Stream) { s.Camera.FOV = 3.2 },
		"sees from 0.1 to 0.05":           func(s *Stream) { s.Camera.Far = 0.05 },
		"has a camera without a rotation": func(s *Stream) { s.Camera.Rotation = [4]float64{} },
	} {
		s := twoStreams[1]
		assert.Empty(t, s.Wrong())
		change(&s)
		assert.Contains(t, s.Wrong(), want)
		q := &request{previous: -1, data: FrameData{Rate: Rate{60, 1}}, views: []Stream{s}}
		assert.Error(t, NewNode("me", 1).Order("director", q.encode()))
	}
}

// The whole is put together where the streams say. What is missing is dark red, and what is no picture is an error that names its node.
func TestCompose(t *testing.T) {
	var b bytes.Buffer
	green := image.NewUniform(color.RGBA{0, 255, 0, 255})
	m := image.NewRGBA(image.Rect(3, 0, 8, 6))
	for i := range m.Pix {
		m.Pix[i] = []byte{0, 255, 0, 255}[i%4]
	}
	require.NoError(t, png.Encode(&b, m))
	w := &Whole{Parts: []Part{{Node: "me", Streams: twoStreams[:1]}, {Node: "b", Streams: twoStreams[1:], Pictures: [][]byte{b.Bytes()}}}}
	whole, err := w.Compose()
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 8, 6), whole.Rect)
	assert.Equal(t, color.RGBA{70, 0, 0, 255}, whole.RGBAAt(2, 1))
	assert.Equal(t, green.C, whole.At(3, 0))
	w.Parts[1].Pictures[0] = []byte("GIF")
	_, err = w.Compose()
	assert.ErrorContains(t, err, "the picture of node b in frame 0: ")
}
