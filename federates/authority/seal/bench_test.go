package seal_test

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
)

// From sealing to opening, with states of 200 bytes, so many together: the time is that of one state.
func BenchmarkSealAndOpen(b *testing.B) {
	for _, number := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint("together=", number), func(b *testing.B) {
			a, c := newParty(b, "sim-a"), newParty(b, "sim-b")
			s, o := newSealer(b, ab, a, c), seal.NewOpener(ab, c.opens, publish(a, c).lookup, seal.Limits{})
			states := make([][]byte, number)
			for i := range states {
				states[i] = make([]byte, 200)
			}
			for opened := 0; opened < b.N; {
				sealed, err := s.SealAll(at(1, 0), states)
				require.NoError(b, err)
				for _, m := range sealed {
					all, err := o.OpenAll(1, m)
					require.NoError(b, err)
					opened += len(all)
				}
			}
		})
	}
}

// BenchmarkCurves is the floor of one message alone: a fresh key, two shared secrets, a signature and its proof, on P-256.
func BenchmarkCurves(b *testing.B) {
	to, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(b, err)
	from, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(b, err)
	digest := sha256.Sum256(make([]byte, 200))
	for b.Loop() {
		fresh, err := ecdh.P256().GenerateKey(rand.Reader)
		require.NoError(b, err)
		one, err := fresh.ECDH(to.PublicKey())
		require.NoError(b, err)
		other, err := to.ECDH(fresh.PublicKey())
		require.NoError(b, err)
		require.Equal(b, one, other)
		signature, err := ecdsa.SignASN1(rand.Reader, from, digest[:])
		require.NoError(b, err)
		require.True(b, ecdsa.VerifyASN1(&from.PublicKey, digest[:], signature))
	}
}
