package seal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
)

// Where messages may overtake each other each is opened once, in whichever order, until it is far older than the last.
func TestAnyOrder(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	all := make([]string, 70)
	s := newSealer(t, ab, a, b)
	for i := range all {
		sealed, err := s.Seal(at(10, 0), []byte("x"))
		require.NoError(t, err)
		all[i] = string(sealed)
	}
	o := seal.NewOpener(ab, b.opens, publish(a, b).lookup, seal.Limits{AnyOrder: true})
	for _, i := range []int{4, 2, 0, 3, 1, 69, 7, 6} {
		_, err := o.Open(100, []byte(all[i]))
		require.NoError(t, err, "%d", i)
	}
	for _, i := range []int{4, 2, 0, 3, 1, 69, 7, 6, 5} { // the last is new, and far too late
		_, err := o.Open(100, []byte(all[i]))
		require.ErrorIs(t, err, seal.Replayed, "%d", i)
	}
}
