// Package secure says who is who where bytes leave the host: TLS 1.3, for all transports that encrypt.
//
// A server shows a certificate, and its URL pins that certificate, or the authority that signed it: a client trusts the pin and nothing
// else. A client shows a certificate too. Its key follows from the join token, so that nothing else has to be handed out: whoever knows
// the token can make the key, and nobody can learn the token from the certificate. Or the certificate is a file, signed by the authority of
// the server.
package secure

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// alpn names this use of TLS. It stays when the version of the protocol changes: peers of two versions must be able
// to connect, so that the server can refuse with a reason.
const alpn = "metasim/1"

// A Pin is the SHA-256 of a certificate: the server's, or that of its authority.
type Pin [sha256.Size]byte

// ParseURL parses "SCHEME://host:port?sha256=<64 hex>". pinned is false if the URL has no pin, as for Listen.
func ParseURL(scheme, rawURL string) (hostport string, p Pin, pinned bool, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != scheme || u.Port() == "" || u.Path != "" {
		return "", p, false, fmt.Errorf("%q is no address; a server listens at %[2]s://host:port, and a client uses %[2]s://host:port?sha256=<64 hex>", rawURL, scheme)
	}
	text := u.Query().Get("sha256")
	if text == "" {
		return u.Host, p, false, nil
	}
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(p) {
		return "", p, false, fmt.Errorf("the pin of %q is no SHA-256; use the URL as the server printed it, "+
			"with 64 hexadecimal digits", rawURL)
	}
	return u.Host, Pin(sum), true, nil
}

// ParseServer is ParseURL for a client, which needs the pin.
func ParseServer(scheme, rawURL string) (hostport string, p Pin, err error) {
	hostport, p, pinned, err := ParseURL(scheme, rawURL)
	if err == nil && !pinned {
		err = fmt.Errorf("%q does not pin the server's certificate; use %s://host:port?sha256=<64 hex>, as the server printed it", rawURL, scheme)
	}
	return hostport, p, err
}

// selfSigned makes a certificate, in memory only, that names itself as its authority.
func selfSigned(key crypto.Signer, usage x509.ExtKeyUsage) (*tls.Certificate, error) {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "metasim"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// serverCertificate makes the certificate of a server for one run.
func serverCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return selfSigned(key, x509.ExtKeyUsageServerAuth)
}

// clientKey is the key of who knows a join token.
func clientKey(token string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, []byte(token), nil, "metasim client key", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
