package bus

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A bus with OthersOnly receives all messages of others, also on its own channels, and none of its own, whether they are one
// datagram or many.
func TestOthersOnly(t *testing.T) {
	each(t, Options{OthersOnly: true}, func(t *testing.T, one, other Bus) {
		theirs := subscribe(t, one, other, "X|Y")
		ours, err := one.Subscribe("X", "Y", "STOP")
		require.NoError(t, err)
		mine := []Message{{Channel: "X", Payload: []byte("one")}, {Channel: "Y", Payload: payload(200_000)}}
		require.NoError(t, one.Publish(mine...))
		for _, m := range hear(t, theirs, 2) { // udpm: in any order
			assert.Contains(t, []int{3, 200_000}, len(m.Payload))
		}
		require.NoError(t, other.Publish(Message{Channel: "X", Payload: []byte("other")}))
		require.NoError(t, other.Publish(Message{Channel: "X", Payload: []byte("one")})) // the same as ours
		require.NoError(t, other.Publish(Message{Channel: "STOP"}))
		got := hear(t, ours, 3)
		assert.Equal(t, []string{"other", "one", ""}, texts(got))
		left, err := ours.Take()
		require.NoError(t, err)
		assert.Empty(t, left)
		assert.EqualValues(t, 3, one.Stats().Received)
		assert.Zero(t, one.Stats().Lost+other.Stats().Lost)
	}, "mute")
}

func texts(ms []Message) (out []string) {
	for _, m := range ms {
		out = append(out, string(m.Payload))
	}
	return out
}

// In whatever order the server sends messages back: of each content as many are received as others sent.
func TestEchoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newEchoes()
		ours := rapid.SliceOfN(rapid.StringMatching("[ab]{0,2}"), 0, 8).Draw(t, "ours")
		theirs := rapid.SliceOfN(rapid.StringMatching("[ab]{0,2}"), 0, 8).Draw(t, "theirs")
		for _, text := range ours {
			assert.True(t, e.expect(&Message{Channel: "X", Payload: []byte(text)}, func() bool { return true }))
		}
		assert.False(t, e.expect(&Message{Channel: "X", Payload: []byte("c")}, func() bool { return false }))
		heard := map[string]int{}
		for _, text := range rapid.Permutation(append(append([]string{"c"}, ours...), theirs...)).Draw(t, "came") {
			if !e.returned("X", []byte(text)) {
				heard[text]++
			}
		}
		want := map[string]int{"c": 1}
		for _, text := range theirs {
			want[text]++
		}
		assert.Equal(t, want, heard)
		assert.Empty(t, e.waiting)
		assert.Zero(t, e.order.Len())
	})
}

// Messages that a server never sends back do not take more and more memory.
func TestEchoesThatDoNotComeAreForgotten(t *testing.T) {
	e := newEchoes()
	yes := func() bool { return true }
	for i := range maxEchoes + 10 {
		e.expect(&Message{Channel: "X", Payload: fmt.Append(nil, i)}, yes)
	}
	assert.Equal(t, maxEchoes, e.order.Len())
	assert.Len(t, e.waiting, maxEchoes)
	assert.False(t, e.returned("X", []byte("9")))
	assert.True(t, e.returned("X", []byte("10")))
}

// Take returns all queued messages, and ErrClosed at the end.
func TestTake(t *testing.T) {
	each(t, Options{}, func(t *testing.T, one, other Bus) {
		sub := subscribe(t, one, other, "X")
		none, err := sub.Take()
		require.NoError(t, err)
		assert.Empty(t, none)
		var got []Message
		for _, text := range []string{"a", "b"} {
			require.NoError(t, one.Publish(Message{Channel: "X", Payload: []byte(text)}))
		}
		eventually(t, "both came", func() bool {
			more, err := sub.Take()
			require.NoError(t, err)
			got = append(got, more...)
			return len(got) == 2
		})
		assert.Equal(t, []string{"a", "b"}, texts(got))
		nothing, err := other.Subscribe()
		require.NoError(t, err)
		shut(t, other)
		_, err = sub.Take()
		require.ErrorIs(t, err, ErrClosed)
		_, err = nothing.Take()
		require.ErrorIs(t, err, ErrClosed)
	}, "mute")
}
