package metasim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyMessage draws messages of which many are equal in part.
func anyMessage() *rapid.Generator[Message] {
	few := rapid.Custom(func(t *rapid.T) Instant {
		return Instant{Time: Time(rapid.IntRange(0, 2).Draw(t, "time")), Step: rapid.Uint32Range(0, 1).Draw(t, "step")}
	})
	return rapid.Custom(func(t *rapid.T) Message {
		return Message{
			From: ClientID(rapid.IntRange(0, 2).Draw(t, "from")), Seq: rapid.Uint64Range(0, 2).Draw(t, "seq"),
			Sent: few.Draw(t, "sent"), Due: few.Draw(t, "due"),
		}
	})
}

func TestMessageCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyMessage().Draw(t, "a"), anyMessage().Draw(t, "b"), anyMessage().Draw(t, "c")
		require.Equal(t, a.Compare(&b), -b.Compare(&a), "antisymmetric")
		if a.Compare(&b) <= 0 && b.Compare(&c) <= 0 {
			require.LessOrEqual(t, a.Compare(&c), 0, "transitive")
		}
		same := a.From == b.From && a.Seq == b.Seq && a.Sent == b.Sent && a.Due == b.Due
		require.Equal(t, same, a.Compare(&b) == 0, "only copies are equal")
	})
	// In this order each of these comes first for another reason: due, sent, sender, number.
	ordered := []Message{
		{Due: At(1), Sent: At(1), From: 1, Seq: 9},
		{Due: At(2), Sent: At(0), From: 9, Seq: 9},
		{Due: At(2), Sent: At(1), From: 1, Seq: 9},
		{Due: At(2), Sent: At(1), From: 2, Seq: 0},
		{Due: At(2), Sent: At(1), From: 2, Seq: 1},
	}
	require.True(t, slices.IsSortedFunc(ordered, func(a, b Message) int { return a.Compare(&b) }))
}
