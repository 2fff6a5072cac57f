package seal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
)

// One message from sealing to opening, with a state of 200 bytes.
func BenchmarkSealAndOpen(b *testing.B) {
	a, c := newParty(b, "sim-a"), newParty(b, "sim-b")
	s, err := seal.NewSealer(ab, a.signs, c.opens.PublicKey)
	require.NoError(b, err)
	o := seal.NewOpener(ab, c.opens, publish(a, c).lookup, seal.Limits{})
	for b.Loop() {
		m, err := s.Seal(at(1, 0), make([]byte, 200))
		if err == nil {
			_, err = o.Open(1, m)
		}
		require.NoError(b, err)
	}
}
