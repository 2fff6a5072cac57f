package seal

import (
	"errors"

	"github.com/go-jose/go-jose/v4"

	"metasim/metasim"
)

// A Sealer seals what is sent over one Link. It is not safe for concurrent use.
type Sealer struct {
	link   Link
	from   PrivateKey
	to     PublicKey
	signer jose.Signer
	last   uint64 // the sequence number that was given last
}

// NewSealer returns a Sealer that signs with the sender's key, and encrypts to the recipient's.
func NewSealer(l Link, from PrivateKey, to PublicKey) (*Sealer, error) {
	if from.private == nil {
		return nil, l.refuse(UnknownKey, "the sender has no private key; make one with NewPrivateKey")
	}
	key := jose.JSONWebKey{Key: from.private, KeyID: from.ID}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithContentType("JWE"))
	if err != nil {
		return nil, l.refuse(WrongUse, "key %s does not sign (%v)", from.ID, err)
	}
	return &Sealer{link: l, from: from, to: to, signer: signer}, nil
}

// Seal seals a payload, which is not empty, at an instant, which is also the time at which the keys must be valid.
func (s *Sealer) Seal(at metasim.Instant, payload []byte) ([]byte, error) {
	if err := s.check(at, payload); err != nil {
		return nil, err
	}
	return s.seal(at, payload, 1)
}

// SealAll seals payloads of one instant together, in their order: each message has one signature and one ephemeral key, whose curves take most of the time, and
// every payload has a sequence number of its own. It returns as few messages as the bounds allow.
func (s *Sealer) SealAll(at metasim.Instant, payloads [][]byte) (sealed [][]byte, err error) {
	if err := s.check(at, payloads...); err != nil {
		return nil, err
	}
	for len(payloads) > 0 {
		n, size := 1, len(payloads[0])
		for n < min(len(payloads), maxTogether) && size+len(payloads[n])+lengthBytes <= togetherBytes {
			size += len(payloads[n]) + lengthBytes
			n++
		}
		plain := payloads[0]
		if n > 1 {
			plain = join(payloads[:n], size+lengthBytes)
		}
		one, err := s.seal(at, plain, n)
		if err != nil {
			return nil, err
		}
		sealed, payloads = append(sealed, one), payloads[n:]
	}
	return sealed, nil
}

func (s *Sealer) check(at metasim.Instant, payloads ...[]byte) error {
	err := errors.Join(s.from.check(s.link, forSignatures, at.Time, 0), s.to.check(s.link, forEncryption, at.Time, 0))
	for _, p := range payloads {
		if err == nil && len(p) == 0 {
			err = s.link.refuse(Malformed, "there is nothing to seal: an empty payload has no ciphertext")
		}
	}
	return err
}

// seal makes one message of what is so many payloads.
func (s *Sealer) seal(at metasim.Instant, plain []byte, number int) ([]byte, error) {
	options := (&jose.EncrypterOptions{}).WithHeader(boundHeader, s.link.bound(s.last+1, at, number))
	encrypter, err := jose.NewEncrypter(jose.A128GCM, jose.Recipient{Algorithm: jose.ECDH_ES, Key: s.to.key, KeyID: s.to.ID}, options)
	if err != nil {
		return nil, s.link.refuse(WrongUse, "key %s does not encrypt (%v)", s.to.ID, err)
	}
	inner, err := encrypter.Encrypt(plain)
	if err != nil {
		return nil, s.link.refuse(Malformed, "it cannot be encrypted (%v)", err)
	}
	text, err := inner.CompactSerialize()
	if err != nil {
		return nil, s.link.refuse(Malformed, "it cannot be written (%v)", err)
	}
	outer, err := s.signer.Sign([]byte(text))
	if err != nil {
		return nil, s.link.refuse(Malformed, "it cannot be signed (%v)", err)
	}
	if text, err = outer.CompactSerialize(); err != nil {
		return nil, s.link.refuse(Malformed, "it cannot be written (%v)", err)
	}
	s.last += uint64(number)
	return []byte(text), nil
}
