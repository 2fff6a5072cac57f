package seal

import (
	"encoding/json"

	"github.com/go-jose/go-jose/v4"

	"metasim/metasim"
)

// OpenBox opens the older form of a message: a JWE alone, with the sender's own key as ephemeral key. The sender's name is only as good as
// that: who has the recipient's private key can make one, each old box opens once that key is known, and nothing keeps one from coming twice. It is
// read and never written.
func OpenBox(l Link, now metasim.Time, box []byte, to PrivateKey, from PublicKey) ([]byte, error) {
	if len(box) > defaultBytes {
		return nil, l.refuse(TooLarge, "it has %d bytes; at most %d are opened", len(box), defaultBytes)
	}
	inner, err := l.parseJWE(string(box))
	if err != nil {
		return nil, err
	}
	for _, key := range []*PublicKey{&from, &to.PublicKey} {
		if err := key.check(l, forEncryption, now, 0); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(inner.Header.ExtraHeaders["epk"])
	var k jose.JSONWebKey
	if err == nil {
		err = k.UnmarshalJSON(text)
	}
	if err != nil {
		return nil, l.refuse(Malformed, "its ephemeral key is none (%v)", err)
	}
	if !from.key.Equal(k.Key) {
		return nil, l.refuse(WrongSender, "its ephemeral key is not %s of %s", from.ID, l.Sender)
	}
	return to.decrypt(l, inner)
}
