package seal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
)

// A key is written as others read it, and only its private form has what must stay private.
func TestKeysAsJSON(t *testing.T) {
	k, err := seal.NewPrivateKey("sig")
	require.NoError(t, err)
	private, err := json.Marshal(k)
	require.NoError(t, err)
	public, err := json.Marshal(k.PublicKey)
	require.NoError(t, err)
	require.Contains(t, string(private), `"d":`)
	require.NotContains(t, string(public), `"d":`)
	again, err := seal.ParsePrivateKey(private)
	require.NoError(t, err)
	require.Equal(t, k, again)
	other, err := seal.ParsePublicKey(public)
	require.NoError(t, err)
	require.Equal(t, k.PublicKey, other)
	_, err = seal.ParsePrivateKey(public)
	require.ErrorIs(t, err, seal.Malformed)
	_, err = seal.ParsePublicKey(private)
	require.ErrorIs(t, err, seal.PrivateKeyText)
}

func TestKeysThatAreRefused(t *testing.T) {
	const x, y = `"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"`, `"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"` // RFC 7515, A.3
	for text, want := range map[string]seal.Reason{
		`{"kty":"EC","crv":"P-256",` + x + `,` + y + `,"use":"tls"}`:                     seal.WrongUse,
		`{"kty":"EC","crv":"P-256",` + x + `}`:                                           seal.Malformed,
		`{"kty":"EC","crv":"P-256",` + x + `,"y":"AAAA"}`:                                seal.Malformed,
		`{"kty":"oct","k":"AAAA"}`:                                                       seal.Malformed,
		`{"kty":"EC","crv":"P-256",` + x + `,` + strings.Replace(y, "x_", "y_", 1) + `}`: seal.Malformed, // not on the curve
		`{`:                       seal.Malformed,
		strings.Repeat(" ", 5000): seal.TooLarge,
	} {
		_, err := seal.ParsePublicKey([]byte(text))
		require.ErrorIs(t, err, want, text)
	}
	k, err := seal.ParsePublicKey([]byte(`{"kty":"EC","crv":"P-256",` + x + `,` + y + `,"kid":"whatever"}`))
	require.NoError(t, err)
	require.Equal(t, "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U", k.ID, "the thumbprint, not what the key says")
}
