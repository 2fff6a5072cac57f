package seal

import (
	"encoding/base64"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"metasim/metasim"
)

// Limits bound what an Opener takes.
type Limits struct {
	// Bytes is the largest sealed message; 0: 1 MiB. A payload grows by 7/9 and about 700 bytes.
	Bytes int
	// Skew is how far the clocks of two servers may be apart, in ns; 0 in a run, where there is one clock.
	Skew metasim.Time
	// AnyOrder: messages may overtake each other, up to 63 numbers behind the last; each is still opened once.
	AnyOrder bool
}

const defaultBytes = 1 << 20

// An Opener opens what arrives over one Link, each message once and in the order in which they were sealed. Messages may be missing. It is
// not safe for concurrent use.
type Opener struct {
	link   Link
	to     PrivateKey
	lookup func(id string) (PublicKey, bool)
	limits Limits

	last uint64 // the highest sequence number that was opened
	seen uint64 // bit i: last-i was opened
}

// NewOpener returns an Opener with the recipient's key. lookup finds the public key of a key id, with its Owner and how long it is valid.
func NewOpener(l Link, to PrivateKey, lookup func(id string) (PublicKey, bool), limits Limits) *Opener {
	if limits.Bytes == 0 {
		limits.Bytes = defaultBytes
	}
	return &Opener{link: l, to: to, lookup: lookup, limits: limits}
}

// Open returns what was sealed by Seal. Where it returns an error nothing has changed: a message that arrives damaged may come again.
func (o *Opener) Open(now metasim.Time, sealed []byte) (Message, error) {
	all, err := o.open(now, sealed, 1)
	if err != nil {
		return Message{}, err
	}
	return all[0], nil
}

// OpenAll returns what was sealed by SealAll or by Seal, in order: all that is in a message, or an error, and then nothing has changed.
func (o *Opener) OpenAll(now metasim.Time, sealed []byte) ([]Message, error) {
	return o.open(now, sealed, maxTogether)
}

// open opens a message of at most so many payloads.
func (o *Opener) open(now metasim.Time, sealed []byte, most int) ([]Message, error) {
	inner, err := o.verify(now, sealed)
	if err != nil {
		return nil, err
	}
	m, err := o.link.readBound(inner.Header)
	if err == nil && m.number > most {
		err = o.link.refuse(Malformed, "it has %d payloads, and %d is wanted; open it with OpenAll", m.number, most)
	}
	if err == nil {
		err = o.fits(now, inner.Header.KeyID, m)
	}
	if err != nil {
		return nil, err
	}
	plain, err := o.to.decrypt(o.link, inner)
	if err != nil {
		return nil, err
	}
	payloads := [][]byte{plain}
	if m.number > 1 {
		if payloads, err = o.link.split(plain, m.number); err != nil {
			return nil, err
		}
	}
	if these := uint64(1)<<m.number - 1; m.last() > o.last {
		o.last, o.seen = m.last(), o.seen<<(m.last()-o.last)|these // a shift by 64 or more gives 0
	} else {
		o.seen |= these << (o.last - m.last())
	}
	all := make([]Message, m.number)
	for i := range all {
		all[i] = Message{m.first + uint64(i), m.at, payloads[i]}
	}
	return all, nil
}

// verify returns the JWE that the sender of the link has signed.
func (o *Opener) verify(now metasim.Time, sealed []byte) (*jose.JSONWebEncryption, error) {
	if len(sealed) > o.limits.Bytes {
		return nil, o.link.refuse(TooLarge, "it has %d bytes; at most %d are opened", len(sealed), o.limits.Bytes)
	}
	text := string(sealed)
	if err := o.link.canonical(text, 3); err != nil {
		return nil, err
	}
	outer, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || len(outer.Signatures) != 1 {
		return nil, o.link.refuse(Malformed, "it is no JWS in compact form with ES256 (%v)", err)
	}
	id := outer.Signatures[0].Protected.KeyID
	key, known := o.lookup(id)
	switch {
	case !known:
		return nil, o.link.refuse(UnknownKey, "nobody has published key %q; have the sender publish it at its homeserver", id)
	case key.Owner != o.link.Sender:
		return nil, o.link.refuse(WrongSender, "it is signed by %s", key.Owner)
	}
	if err := key.check(o.link, forSignatures, now, o.limits.Skew); err != nil {
		return nil, err
	}
	payload, err := outer.Verify(key.key)
	if err != nil {
		return nil, o.link.refuse(Altered, "its signature by key %s does not fit; have it sent again", id)
	}
	return o.link.parseJWE(string(payload))
}

// fits says why a message of the sender is not for this key, or not for now.
func (o *Opener) fits(now metasim.Time, id string, m stamp) error {
	if id != o.to.ID {
		return o.link.refuse(WrongKey, "it is encrypted to key %q, not to %q; have the sender look up the recipient's key again", id, o.to.ID)
	}
	if err := o.to.check(o.link, forEncryption, now, o.limits.Skew); err != nil {
		return err
	}
	if m.at.Time > now.Add(o.limits.Skew) {
		return o.link.refuse(FromFuture, "it was sealed at %d ns, and it is %d ns (skew %d ns); set the clocks", int64(m.at.Time), int64(now), int64(o.limits.Skew))
	}
	if m.first > o.last {
		return nil
	}
	for n := m.first; n <= min(m.last(), o.last) && n != 0; n++ { // 0: the numbers end
		if behind := o.last - n; behind >= 64 || o.seen>>behind&1 == 1 {
			return o.link.refuse(Replayed, "number %d was opened already, or is far older than %d", n, o.last)
		}
	}
	if o.limits.AnyOrder {
		return nil
	}
	return o.link.refuse(Reordered, "number %d comes after number %d; send over something that keeps the order", m.first, o.last)
}

// parseJWE reads a JWE in compact form.
func (l Link) parseJWE(text string) (*jose.JSONWebEncryption, error) {
	if err := l.canonical(text, 5); err != nil {
		return nil, err
	}
	if parts := strings.Split(text, "."); parts[1] != "" || parts[3] == "" {
		return nil, l.refuse(Malformed, "it has an encrypted key, which ECDH-ES has not, or no ciphertext")
	}
	inner, err := jose.ParseEncryptedCompact(text, []jose.KeyAlgorithm{jose.ECDH_ES}, []jose.ContentEncryption{jose.A128GCM})
	if err != nil {
		return nil, l.refuse(Malformed, "it holds no JWE in compact form with ECDH-ES and A128GCM (%v)", err)
	}
	if _, compressed := inner.Header.ExtraHeaders["zip"]; compressed {
		return nil, l.refuse(Malformed, "it is compressed; leave zip out, as little may become much")
	}
	return inner, nil
}

// canonical refuses parts that are no base64url, or not the only text for their bytes: two texts for one message would be two messages to who compares them.
func (l Link) canonical(text string, parts int) error {
	n := 0
	for part := range strings.SplitSeq(text, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil || strings.ContainsAny(part, "\r\n") {
			return l.refuse(Malformed, "its part %d is no base64url", n+1)
		}
		n++
	}
	if n != parts {
		return l.refuse(Malformed, "it has %d parts instead of %d", n, parts)
	}
	return nil
}

// decrypt opens a JWE.
func (k *PrivateKey) decrypt(l Link, inner *jose.JSONWebEncryption) ([]byte, error) {
	if k.private == nil {
		return nil, l.refuse(UnknownKey, "the recipient has no private key; make one with NewPrivateKey")
	}
	plain, err := inner.Decrypt(k.private)
	if err != nil {
		return nil, l.refuse(Undecipherable, "key %s does not open it (%v)", k.ID, err)
	}
	return plain, nil
}
