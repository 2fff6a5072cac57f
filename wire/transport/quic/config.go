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
	"os"
	"time"

	quicgo "github.com/quic-go/quic-go"
)

// visitorWindow is how much the server takes before it is read.
const visitorWindow = 32 << 10

// alpn names this use of QUIC in TLS. It stays when the version of the protocol changes: peers of two versions must be able
// to connect, so that the server can refuse with a reason.
const alpn = "metasim/1"

const (
	keepAlive = time.Second      // an idle peer sends a packet so often
	silence   = 3 * time.Second  // a peer whose process has probably ended is dead if no packet comes for so long
	never     = 1 << 62          // no silence is too long
	handshake = 10 * time.Second // the longest wait for an answer to the first packet: many clients at once are slow
	linger    = 2 * time.Second  // the longest wait of a Close for the peer to read what was written
)

// config returns the configuration of a connection. Its windows are small for a visitor, and grow up to messages of megabytes as the peer
// is read. streams is how many streams the peer may open: 1, or -1 for none. A peer from which no packet comes for `patience` counts as
// dead; if the two sides differ, the shorter patience holds for both.
func config(streams int64, patience time.Duration) *quicgo.Config {
	window := uint64(2 << 20)
	if streams > 0 {
		window = visitorWindow
	}
	return &quicgo.Config{
		HandshakeIdleTimeout:           handshake,
		MaxIdleTimeout:                 patience,
		KeepAlivePeriod:                keepAlive,
		InitialStreamReceiveWindow:     window,
		MaxStreamReceiveWindow:         16 << 20,
		InitialConnectionReceiveWindow: window,
		MaxConnectionReceiveWindow:     16 << 20,
		MaxIncomingStreams:             streams,
		MaxIncomingUniStreams:          -1,
		RequireStreamCreditRelease:     true, // no second stream when the first has ended
	}
}

// quiet turns off the warning of quic-go, for which it has no other way.
func quiet() {
	const name = "QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING"
	if _, asked := os.LookupEnv(name); !asked {
		_ = os.Setenv(name, "true") // fails for no name like this
	}
}

// A pin is the SHA-256 of the server's certificate.
type pin [sha256.Size]byte

// certificate makes a self-signed certificate for the run, in memory only.
func certificate() (tls.Certificate, pin, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, pin{}, fmt.Errorf("make a key: %w", err)
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
		return tls.Certificate{}, pin{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, sha256.Sum256(der), nil
}

func serverTLS(c tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{c}, NextProtos: []string{alpn}, MinVersion: tls.VersionTLS13,
		SessionTicketsDisabled: true,
	}
}

// clientTLS trusts the pinned certificate and no other, whatever its names and dates. A wrong one sets *mismatch.
func clientTLS(want pin, mismatch *error) *tls.Config {
	return &tls.Config{
		NextProtos: []string{alpn}, MinVersion: tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection checks more: the certificate itself
		VerifyConnection: func(state tls.ConnectionState) error {
			if got := pin(sha256.Sum256(state.PeerCertificates[0].Raw)); got != want {
				*mismatch = fmt.Errorf("the server's certificate has the SHA-256 %x, and the URL pins %x; "+
					"use the URL of the run as the server printed it", got[:8], want[:8])
				return *mismatch
			}
			return nil
		},
	}
}

// parseURL parses "quic://host:port?sha256=<64 hex>". pinned is false if the URL has no pin, as for Listen.
func parseURL(rawURL string) (hostport string, p pin, pinned bool, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "quic" || u.Port() == "" || u.Path != "" {
		return "", p, false, fmt.Errorf("%q is no address; use quic://host:port?sha256=<64 hex>", rawURL)
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
	return u.Host, pin(sum), true, nil
}
