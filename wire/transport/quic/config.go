package quic

import (
	"crypto/ecdsa"
	"crypto/elliptic"
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

	quicgo "github.com/quic-go/quic-go"
)

// alpn names this use of QUIC to TLS. It stays when the version of the protocol changes: peers of two versions are to
// meet, and to be told so in words.
const alpn = "metasim/1"

const (
	silence   = 3 * time.Second  // after which a peer counts as dead
	keepAlive = time.Second      // how often an idle peer says that it lives
	handshake = 10 * time.Second // for an answer to the first packet; a crowd at the start of a run is slow
	linger    = 2 * time.Second  // for the peer to read what was written before a Close
)

// config has windows for messages of megabytes, and allows one stream, from the side that dials.
func config(streams int64) *quicgo.Config {
	return &quicgo.Config{
		HandshakeIdleTimeout:           handshake,
		MaxIdleTimeout:                 silence,
		KeepAlivePeriod:                keepAlive,
		InitialStreamReceiveWindow:     2 << 20,
		MaxStreamReceiveWindow:         16 << 20,
		InitialConnectionReceiveWindow: 2 << 20,
		MaxConnectionReceiveWindow:     16 << 20,
		MaxIncomingStreams:             streams,
		MaxIncomingUniStreams:          -1,
		RequireStreamCreditRelease:     true, // one stream, ever
	}
}

// A pin is the SHA-256 of the server's certificate.
type pin [sha256.Size]byte

// certificate makes a self-signed one for the run. It lives in memory alone.
func certificate() (tls.Certificate, pin, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, pin{}, fmt.Errorf("quic: make a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "metasim"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, pin{}, fmt.Errorf("quic: make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, sha256.Sum256(der), nil
}

func serverTLS(c tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{c}, NextProtos: []string{alpn}, MinVersion: tls.VersionTLS13,
		SessionTicketsDisabled: true,
	}
}

// clientTLS trusts the pinned certificate and no other; names and dates do not matter. The error of a wrong one is
// left in mismatch.
func clientTLS(want pin, mismatch *error) *tls.Config {
	return &tls.Config{
		NextProtos: []string{alpn}, MinVersion: tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does better: it knows the very certificate
		VerifyConnection: func(state tls.ConnectionState) error {
			if got := pin(sha256.Sum256(state.PeerCertificates[0].Raw)); got != want {
				*mismatch = fmt.Errorf("quic: the server's certificate has the SHA-256 %x, and the URL pins %x; "+
					"use the URL of the run as the server printed it", got[:8], want[:8])
				return *mismatch
			}
			return nil
		},
	}
}

// address reads "quic://host:port?sha256=<64 hex>"; to listen, the pin is left out.
func address(rawURL string) (hostport string, p pin, pinned bool, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "quic" || u.Port() == "" || u.Path != "" {
		return "", p, false, fmt.Errorf("quic: %q is no address; use quic://host:port?sha256=<64 hex>", rawURL)
	}
	text := u.Query().Get("sha256")
	if text == "" {
		return u.Host, p, false, nil
	}
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(p) {
		return "", p, false, fmt.Errorf("quic: the pin of %q is no SHA-256; use the URL as the server printed it, "+
			"with 64 hexadecimal digits", rawURL)
	}
	return u.Host, pin(sum), true, nil
}
