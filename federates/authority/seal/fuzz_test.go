package seal_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
)

// Whatever arrives opens only if it was sealed, and else is refused with a reason.
func FuzzOpen(f *testing.F) {
	a, b := newParty(f, "sim-a"), newParty(f, "sim-b")
	good := []string{sealAll(f, ab, a, b, "x")[0], together(f, newSealer(f, ab, a, b), 10, "x", "y")}
	for _, text := range good {
		f.Add([]byte(text))
	}
	f.Add([]byte("e30.e30.e30"))
	f.Add([]byte("eyJhbGciOiJFUzI1NiJ9.e30.AAAA"))
	f.Fuzz(func(t *testing.T, text []byte) {
		o := seal.NewOpener(ab, b.opens, publish(a, b).lookup, seal.Limits{})
		if _, err := o.OpenAll(100, text); !slices.Contains(good, string(text)) {
			var typed *seal.Error
			require.ErrorAs(t, err, &typed)
		}
		_, err := seal.OpenBox(ab, 100, text, b.opens, a.opens.PublicKey)
		require.Error(t, err)
	})
}

// Whatever is read as a key is written and read again as the same key.
func FuzzPublicKey(f *testing.F) {
	f.Add([]byte(`{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := seal.ParsePublicKey(text)
		if err != nil {
			return
		}
		written, err := k.MarshalJSON()
		require.NoError(t, err)
		again, err := seal.ParsePublicKey(written)
		require.NoError(t, err)
		require.Equal(t, k, again)
	})
}
