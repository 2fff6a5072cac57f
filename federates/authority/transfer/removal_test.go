package transfer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A server lets go of what is removed, and of what it was to hand over of it; a handover of before is late from then on. A removal of an earlier life changes nothing, and who owns the entity anew
// says nothing more of its earlier lives.
func TestRemoval(t *testing.T) {
	const ms = metasim.Millisecond
	removal := func(epoch Sequence) Message {
		return Message{Kind: Removal, Entity: "ball", Epoch: epoch, Trail: []string{"home"}}
	}
	a := NewSimserver(SimConfig{Name: "a", Home: "home", Step: ms, Retry: 10 * ms})
	hear := func(m Message, from string) []Envelope {
		m.Trail = []string{from}
		out, err := a.Receive(metasim.At(ms), from, m)
		require.NoError(t, err)
		return out
	}
	a.OwnSince("ball", 3)
	forged := removal(3)
	forged.Trail = []string{"b"}
	_, err := a.Receive(metasim.At(ms), "b", forged)
	require.ErrorContains(t, err, "only its homeserver says so")
	require.True(t, a.Owns("ball"))
	hear(removal(2), "home")
	require.True(t, a.Owns("ball"), "it was removed before it was this server's")
	hear(removal(3), "home")
	require.Empty(t, a.Held())
	require.Equal(t, []string{"ball"}, a.Given)

	handover := Message{Kind: Handover, Entity: "ball", Owner: "a", Epoch: 3, State: &State{}, Confirm: true}
	require.Equal(t, Ack, hear(handover, "b")[0].Message.Kind, "else it would be said again")
	require.Empty(t, a.Held())
	require.EqualValues(t, 1, a.Late)

	handover.Epoch = 5
	hear(handover, "b")
	hear(Message{Kind: Grant, Entity: "ball", Owner: "b", Epoch: 6}, "home")
	require.Empty(t, a.Held())
	require.NotEqual(t, metasim.Forever, a.Wake(), "it is not acknowledged")
	hear(removal(6), "home")
	require.Equal(t, metasim.Forever, a.Wake(), "nobody is to have it any more")

	a.Lend(ms, "ball", true)
	a.OwnSince("ball", 7)
	require.NotEmpty(t, hear(Message{Kind: Grant, Entity: "ball", Owner: "b", Epoch: 8}, "home"), "what was lent in an earlier life is not lent")
	hear(removal(8), "home")
	a.OwnSince("ball", 7)
	hear(Message{Kind: Grant, Entity: "ball", Owner: "b", Epoch: 8}, "home")
	a.OwnSince("ball", 9) // it was removed meanwhile, and entered again
	require.Equal(t, []string{"ball"}, a.Held())
	require.Equal(t, metasim.Forever, a.Wake())
}
