package packing

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is unpacked is what was packed, whatever sizes follow one another; a state that hardly changes is small on its way where what has changed is sent.
func TestPacking(t *testing.T) {
	draw := rand.NewChaCha8([32]byte{7})
	for kind := uint8(1); kind <= 3; kind++ {
		var from, to Packer
		var sizes []int
		state := make([]byte, 50_000)
		_, err := draw.Read(state)
		require.NoError(t, err)
		for frame, n := range []int{50_000, 50_000, 0, 0, 1, 49_999, 50_000, 50_000} {
			state[frame*100]++
			packed, err := from.Pack(kind, uint64(frame), state[:n])
			require.NoError(t, err)
			from.Keep(kind, uint64(frame), state[:n])
			sizes = append(sizes, len(packed))
			got, err := to.Unpack(kind, uint64(frame), packed, 50_000)
			require.NoError(t, err)
			require.True(t, bytes.Equal(state[:n], got), frame)
		}
		assert.Greater(t, sizes[0], 50_000, "random bytes")
		assert.Equal(t, kind >= 2, sizes[1] < 200, "of which two have changed")
	}
}

// What was not packed so is an error, and never more memory than the bound.
// A state that travels whole is unpacked whatever the last one was.
func TestAWholeState(t *testing.T) {
	for kind := range uint8(len(Kinds)) {
		if kind == 0 {
			continue
		}
		var from, to Packer
		first, err := from.Pack(kind, 6, []byte("first"))
		require.NoError(t, err)
		from.Keep(kind, 6, []byte("first"))
		_, err = to.Unpack(kind, 6, first, 100)
		require.NoError(t, err)
		to.Keep(kind, 7, []byte("other state"))
		from.Forget()
		whole, err := from.Pack(kind, 8, []byte("second"))
		require.NoError(t, err)
		state, err := to.Unpack(kind, 8, whole, 100)
		require.NoError(t, err)
		require.Equal(t, "second", string(state), Kinds[kind])
	}
}

func TestWhatCannotBeUnpacked(t *testing.T) {
	var p Packer
	state := bytes.Repeat([]byte("state"), 1000)
	packed, err := p.Pack(2, 0, state)
	require.NoError(t, err)
	p.Keep(2, 0, state)
	after, err := p.Pack(2, 1, state)
	require.NoError(t, err)
	longer := bytes.Clone(packed)
	longer[8]--
	for want, b := range map[string][]byte{
		"it has no header":         packed[:15],
		"exceeds configured limit": longer,
		"it has 5000 bytes, and the bound here is 4999: raise max_bytes, or send less": packed,
		"it is what has changed since frame 0, and the last state here is of frame -1": after,
		"unexpected EOF": packed[:len(packed)-3],
	} {
		most := uint64(5000)
		if want[:8] == "it has 5" {
			most--
		}
		_, err := new(Packer).Unpack(2, 0, b, most)
		assert.ErrorContains(t, err, want)
	}
}

// What is no list of changes is an error.
func TestWhatIsNoListOfChanges(t *testing.T) {
	var p Packer
	packed, err := p.Pack(3, 0, bytes.Repeat([]byte("state"), 100))
	require.NoError(t, err)
	many := bytes.Clone(packed)
	many[header+4]++ // more bytes than there are
	further := bytes.Clone(packed)
	further[header]++ // behind the end
	for _, b := range [][]byte{packed[:header+7], packed[:len(packed)-1], append(bytes.Clone(packed), 0), many, further} {
		_, err := new(Packer).Unpack(3, 0, b, 500)
		assert.ErrorIs(t, err, errChanges)
	}
	_, err = new(Packer).Unpack(3, 0, packed, 499)
	assert.ErrorContains(t, err, "the bound here is 499")
}

// Whatever has changed, the changes bring it back; a run of them begins and ends at a block, and holds no block that stays at its ends. No bytes do harm.
func TestChangesOfAnyState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 0, 400)
		last, state := few.Draw(t, "last"), few.Draw(t, "state")
		if rapid.Bool().Draw(t, "alike") {
			state = append(bytes.Clone(last), state[:min(len(state), 70)]...)
			for _, at := range rapid.SliceOfN(rapid.IntRange(0, 500), 0, 4).Draw(t, "changed") {
				if at < len(state) {
					state[at]++
				}
			}
		}
		runs := appendChanges(nil, last, state)
		got, err := changed(last, runs, len(state))
		require.NoError(t, err)
		require.True(t, bytes.Equal(state, got))
		blocks := 0 // the dumb twin: how many blocks differ
		for at := 0; at < len(state); at += block {
			to := min(at+block, len(state))
			if to > len(last) || !bytes.Equal(last[at:to], state[at:to]) {
				blocks += to - at
			}
		}
		sent := 0
		for rest := runs; len(rest) > 0; {
			n := int(binary.LittleEndian.Uint32(rest[4:]))
			sent, rest = sent+n, rest[8+n:]
		}
		require.Equal(t, blocks, sent)
		if junk, err := changed(last, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "junk"), len(state)); err == nil {
			require.Len(t, junk, len(state))
		}
	})
}
