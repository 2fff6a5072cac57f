package seal_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
)

// A grant proves itself and nothing else: each other value, key and text is refused, with a reason.
func TestGrants(t *testing.T) {
	home, other := newParty(t, "home").signs, newParty(t, "other").signs
	g := seal.Grant{Instance: "east", Entity: "ball", Epoch: 7, From: "a", To: "b"}
	signed, err := home.Sign(g)
	require.NoError(t, err)
	again, err := home.Sign(g)
	require.NoError(t, err)
	require.Equal(t, signed, again, "the same each time")
	knows := func(k seal.PrivateKey) func(string) (seal.PublicKey, bool) {
		return func(id string) (seal.PublicKey, bool) { return k.PublicKey, id == k.ID }
	}
	require.NoError(t, g.Proves(signed, knows(home)))
	require.ErrorIs(t, g.Proves(signed, knows(other)), seal.UnknownKey)
	require.ErrorIs(t, g.Proves(signed, func(string) (seal.PublicKey, bool) { return other.PublicKey, true }), seal.Altered)
	for _, wrong := range []seal.Grant{
		{"west", "ball", 7, "a", "b"}, {"east", "box", 7, "a", "b"}, {"east", "ball", 8, "a", "b"}, {"east", "ball", 7, "c", "b"}, {"east", "ball", 7, "a", "c"},
	} {
		require.ErrorIs(t, wrong.Proves(signed, knows(home)), seal.WrongGrant)
	}

	parts := strings.Split(signed, ".")
	payload := func(text string) string {
		return parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + parts[2]
	}
	for text, want := range map[string]seal.Reason{
		"": seal.Malformed, "a.b": seal.Malformed, "a.b.c": seal.Malformed, strings.Repeat("a", 5000): seal.TooLarge, payload("{}"): seal.WrongGrant, payload("["): seal.WrongGrant,
		payload(`{"in":"east","entity":"ball","epoch":7,"from":"a","to":"b","more":1}`):                                                   seal.Altered,
		base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".":                                             seal.Malformed,
		base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"`+home.ID+`","cty":"JWE"}`)) + "." + parts[1] + "." + parts[2]: seal.Malformed,
	} {
		require.ErrorIs(t, g.Proves(text, knows(home)), want, text)
	}
	_, err = seal.PrivateKey{}.Sign(g)
	require.ErrorIs(t, err, seal.UnknownKey)
}
