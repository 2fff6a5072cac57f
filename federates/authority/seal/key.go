package seal

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"metasim/metasim"
)

// What a key may do: the member "use" of a JWK. Empty: both.
const (
	forSignatures = "sig"
	forEncryption = "enc"
)

// maxKey is the largest JWK that is read, in bytes: one on P-256 has about 250.
const maxKey = 4096

// A PublicKey is a key on P-256 that others know.
type PublicKey struct {
	ID    string // its thumbprint (RFC 7638, SHA-256)
	Use   string // "sig", "enc", or empty: both
	Owner string // whose it is; whoever looks the key up sets it
	// From and Until bound when it may be used, Until excluded; 0: no bound. Whoever looks the key up sets them.
	From, Until metasim.Time

	key *ecdsa.PublicKey
}

// A PrivateKey is a key of one's own.
type PrivateKey struct {
	PublicKey
	private *ecdsa.PrivateKey
}

// NewPrivateKey makes a random key for "sig", "enc", or both, if use is empty.
func NewPrivateKey(use string) (PrivateKey, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("make a key: %w", err)
	}
	return privateKey(private, use)
}

// ParsePublicKey reads a JWK (RFC 7517). A private key is refused: it does not leave its owner.
func ParsePublicKey(jwk []byte) (PublicKey, error) {
	k, err := parseKey(jwk)
	if err != nil {
		return PublicKey{}, err
	}
	switch key := k.Key.(type) {
	case *ecdsa.PublicKey:
		return publicKey(key, k.Use)
	case *ecdsa.PrivateKey:
		return PublicKey{}, refuseKey(PrivateKeyText, "a public key has no member d; leave it out, and make a new key, as this one has been shown")
	}
	return PublicKey{}, refuseKey(Malformed, "it is a key of type %T; use kty EC with crv P-256", k.Key)
}

// ParsePrivateKey reads a JWK with its private part.
func ParsePrivateKey(jwk []byte) (PrivateKey, error) {
	k, err := parseKey(jwk)
	if err != nil {
		return PrivateKey{}, err
	}
	private, ok := k.Key.(*ecdsa.PrivateKey)
	if !ok {
		return PrivateKey{}, refuseKey(Malformed, "it is a key of type %T; use a private key: kty EC with crv P-256, x, y and d", k.Key)
	}
	return privateKey(private, k.Use)
}

// MarshalJSON writes the public key as a JWK, with its thumbprint as kid.
func (k PublicKey) MarshalJSON() ([]byte, error) {
	return jose.JSONWebKey{Key: k.key, KeyID: k.ID, Use: k.Use}.MarshalJSON()
}

// MarshalJSON writes the private key as a JWK.
func (k PrivateKey) MarshalJSON() ([]byte, error) {
	return jose.JSONWebKey{Key: k.private, KeyID: k.ID, Use: k.Use}.MarshalJSON()
}

func parseKey(jwk []byte) (k jose.JSONWebKey, err error) {
	if len(jwk) > maxKey {
		return k, refuseKey(TooLarge, "a key of %d bytes; at most %d are read", len(jwk), maxKey)
	}
	if err := k.UnmarshalJSON(jwk); err != nil {
		return k, refuseKey(Malformed, "it is no JWK of kty EC with crv P-256 (%v)", err)
	}
	return k, nil
}

func publicKey(key *ecdsa.PublicKey, use string) (PublicKey, error) {
	if key.Curve != elliptic.P256() {
		return PublicKey{}, refuseKey(Malformed, "it is on the curve %s; use P-256", key.Curve.Params().Name)
	}
	if use != "" && use != forSignatures && use != forEncryption {
		return PublicKey{}, refuseKey(WrongUse, "its use is %q; write %q, %q, or leave it out for both", use, forSignatures, forEncryption)
	}
	sum, err := (&jose.JSONWebKey{Key: key}).Thumbprint(crypto.SHA256)
	if err != nil {
		return PublicKey{}, refuseKey(Malformed, "it has no thumbprint (%v)", err)
	}
	return PublicKey{ID: base64.RawURLEncoding.EncodeToString(sum), Use: use, key: key}, nil
}

func privateKey(private *ecdsa.PrivateKey, use string) (PrivateKey, error) {
	public, err := publicKey(&private.PublicKey, use)
	return PrivateKey{public, private}, err
}

// check says why a key may not be used so at this time.
func (k *PublicKey) check(l Link, use string, now, skew metasim.Time) error {
	switch {
	case k.key == nil:
		return l.refuse(UnknownKey, "the key of %s is empty; parse one", k.Owner)
	case k.Use != "" && k.Use != use:
		return l.refuse(WrongUse, "key %s is for %q, and is used for %q; publish a key for it", k.ID, k.Use, use)
	case k.From != 0 && now.Add(skew) < k.From:
		return l.refuse(NotYetValid, "key %s is valid from %d ns on, and it is %d ns; wait, or set the clocks", k.ID, int64(k.From), int64(now))
	case k.Until != 0 && now >= k.Until.Add(skew):
		return l.refuse(Expired, "key %s was valid until %d ns, and it is %d ns; publish a new one", k.ID, int64(k.Until), int64(now))
	}
	return nil
}

func refuseKey(why Reason, format string, args ...any) error {
	return &Error{Reason: why, What: fmt.Sprintf(format, args...)}
}
