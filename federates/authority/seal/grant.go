package seal

import (
	"crypto"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/json"
	"math/big"

	"github.com/go-jose/go-jose/v4"
)

// A Grant is what a homeserver has written down: an entity goes from one simulation server to another, and the new ownership has this number. The homeserver signs it, so that
// the old owner proves with it that it hands over what it may.
type Grant struct {
	Instance string `json:"in"`
	Entity   string `json:"entity"`
	Epoch    uint16 `json:"epoch"`
	From     string `json:"from"`
	To       string `json:"to"`
}

// grantType is the typ of the JWS of a grant: a key that signs grants signs nothing else that could be read as one.
const grantType = "metasim-grant+json"

// Sign signs a grant, as a JWS in compact form with ES256. The same grant has the same text each time (RFC 6979), so a message that comes again is the same.
func (k PrivateKey) Sign(g Grant) (string, error) {
	if k.private == nil {
		return "", refuseKey(UnknownKey, "there is no private key; make one with NewPrivateKey")
	}
	payload, err := json.Marshal(g)
	if err != nil {
		return "", refuseKey(Malformed, "the grant cannot be written (%v)", err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: repeatable(k)}, (&jose.SignerOptions{}).WithType(grantType))
	if err != nil {
		return "", refuseKey(WrongUse, "key %s does not sign (%v)", k.ID, err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", refuseKey(Malformed, "the grant cannot be signed (%v)", err)
	}
	return signed.CompactSerialize()
}

// Proves says why a signed text does not prove a grant. lookup finds the public key of a key id; it knows only keys of the homeserver that may sign it.
func (g Grant) Proves(signed string, lookup func(id string) (PublicKey, bool)) error {
	if len(signed) > maxGrant {
		return refuseKey(TooLarge, "a grant of %d bytes; at most %d are read", len(signed), maxGrant)
	}
	if err := (Link{}).canonical(signed, 3); err != nil {
		return err
	}
	outer, err := jose.ParseSignedCompact(signed, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || len(outer.Signatures) != 1 || outer.Signatures[0].Protected.ExtraHeaders[jose.HeaderType] != grantType {
		return refuseKey(Malformed, "it is no JWS in compact form with ES256 and typ %s (%v)", grantType, err)
	}
	var is Grant
	if err := json.Unmarshal(outer.UnsafePayloadWithoutVerification(), &is); err != nil || is != g {
		return refuseKey(WrongGrant, "it grants %+v, and %+v is wanted", is, g)
	}
	id := outer.Signatures[0].Protected.KeyID
	key, known := lookup(id)
	if !known {
		return refuseKey(UnknownKey, "key %q is not of the homeserver that keeps %s", id, g.Entity)
	}
	if _, err := outer.Verify(key.key); err != nil {
		return refuseKey(Altered, "its signature by key %s does not fit", id)
	}
	return nil
}

// maxGrant is the longest text of a grant that is read, in bytes: one with the longest names has about 1,200.
const maxGrant = 4096

// A repeatable key signs the same with the same signature each time.
type repeatable PrivateKey

// Public is that of jose.OpaqueSigner.
func (k repeatable) Public() *jose.JSONWebKey {
	return &jose.JSONWebKey{Key: k.key, KeyID: k.ID, Algorithm: string(jose.ES256)}
}

// Algs is that of jose.OpaqueSigner.
func (k repeatable) Algs() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.ES256}
}

// SignPayload is that of jose.OpaqueSigner.
func (k repeatable) SignPayload(payload []byte, _ jose.SignatureAlgorithm) ([]byte, error) {
	digest := sha256.Sum256(payload)
	der, err := k.private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var is struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &is); err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	is.R.FillBytes(out[:32])
	is.S.FillBytes(out[32:])
	return out, nil
}
