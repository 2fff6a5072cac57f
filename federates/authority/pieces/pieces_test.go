package pieces

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever is lost, doubled and reordered, each payload comes out whole and once, or not at all; of those of which nothing is lost or far too late, each.
func TestPiecesOverBadLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(headBytes+1, 64).Draw(t, "most")
		s, j := NewSplitter(7), &Joiner{}
		s.number = rapid.SampledFrom([]uint32{0, 1<<31 - 3, 1<<32 - 3}).Draw(t, "first number")
		var sent, flying [][]byte
		whole := map[int]bool{}
		for i := range rapid.IntRange(1, 20).Draw(t, "payloads") {
			payload := append([]byte{byte(i)}, rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "payload")...)
			sent = append(sent, payload)
			pieces, err := s.Split(payload, most)
			require.NoError(t, err)
			whole[i] = true
			for _, p := range pieces {
				require.LessOrEqual(t, len(p), most)
				copies := rapid.SampledFrom([]int{1, 1, 1, 0, 2}).Draw(t, "copies")
				whole[i] = whole[i] && copies > 0
				for range copies {
					flying = append(flying, p)
				}
			}
		}
		got := map[int]int{}
		for _, p := range rapid.Permutation(flying).Draw(t, "order") {
			payload, err := j.Join(bytes.Clone(p))
			var late *LateError
			require.True(t, err == nil || errors.As(err, &late), "%v", err)
			if payload != nil {
				require.Equal(t, sent[payload[0]], payload)
				got[int(payload[0])]++
			}
		}
		for i := range sent {
			want := 0
			if whole[i] {
				want = 1
			}
			require.Equal(t, want, got[i], "payload %d", i)
		}
	})
}

// What is late, of a session that is over, or no piece is refused, each in its way.
func TestWhatIsRefused(t *testing.T) {
	s, j := NewSplitter(1), &Joiner{}
	split := func(s *Splitter, text string) [][]byte {
		p, err := s.Split([]byte(text), headBytes+4)
		require.NoError(t, err)
		return p
	}
	first := split(s, "one, which stays open")
	_, err := j.Join(first[0])
	require.NoError(t, err)
	for range window {
		payload, err := j.Join(split(s, "more")[0])
		require.NoError(t, err)
		require.Equal(t, "more", string(payload))
	}
	var late *LateError
	_, err = j.Join(first[1])
	require.ErrorAs(t, err, &late)
	_, err = j.Join(split(NewSplitter(0), "an older session")[0])
	require.ErrorAs(t, err, &late)
	payload, err := j.Join(split(NewSplitter(1<<16).Again(), "new")[0])
	require.NoError(t, err)
	session, again := j.Session()
	require.EqualValues(t, 1<<16, session)
	require.EqualValues(t, 1, again)
	require.Equal(t, "new", string(payload))
	_, err = j.Join(split(s, "old")[0])
	require.ErrorAs(t, err, &late)

	var malformed *MalformedError
	other := split(NewSplitter(2<<16), "of several pieces")
	_, err = j.Join(other[0])
	require.NoError(t, err)
	another := split(NewSplitter(2<<16), "of two..")
	for _, b := range [][]byte{nil, make([]byte, headBytes-1), make([]byte, headBytes), another[1], append(bytes.Clone(other[0][:14]), 0xff, 0xff), other[0][:headBytes]} {
		_, err = j.Join(b)
		require.ErrorAs(t, err, &malformed, "%x", b)
	}
	var size *SizeError
	_, err = s.Split(make([]byte, MaxPieces+1), headBytes+1)
	require.ErrorAs(t, err, &size)
	_, err = s.Split(nil, headBytes)
	require.ErrorAs(t, err, &size)
	for _, e := range []error{late, malformed, size} {
		require.NotEmpty(t, e.Error())
	}
}

func FuzzJoin(f *testing.F) {
	f.Add([]byte{}, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 7})
	f.Fuzz(func(_ *testing.T, a, b []byte) {
		j := &Joiner{}
		for _, piece := range [][]byte{a, b, a} {
			_, _ = j.Join(piece) // whatever it says, it does not fall
		}
	})
}
