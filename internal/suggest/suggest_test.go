package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWord(t *testing.T) {
	known := []string{"delay", "loss", "order"}
	require.Equal(t, `did you mean "delay"?`, Word("dellay", known))
	require.Equal(t, `did you mean "delay"?`, Word("dealy", known))
	require.Equal(t, `did you mean "loss"?`, Word("LOSS", known))
	require.Equal(t, "use delay, loss or order", Word("bandwidth", known))
	require.Equal(t, "use nothing here", Word("x", nil))
}

// edits is a distance: zero for the same alone, symmetric, and never more than by way of a third word.
func TestEditsIsADistance(t *testing.T) {
	word := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		assert.Equal(t, a == b, edits(a, b) == 0)
		assert.Equal(t, edits(a, b), edits(b, a))
		assert.LessOrEqual(t, edits(a, c), edits(a, b)+edits(b, c))
	})
}
