package secure

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// The variables of the environment that name the PEM files of a client's own certificate.
const (
	certVariable = "METASIM_CERT"
	keyVariable  = "METASIM_KEY"
)

// ClientTLS trusts a server that shows the pinned certificate, or one that the pinned authority has signed, and no other, whatever its names. It
// shows the certificate of the files that METASIM_CERT and METASIM_KEY name, or that of the token. A wrong server sets *mismatch.
func ClientTLS(want Pin, token string, mismatch *error) (*tls.Config, error) {
	config := &tls.Config{
		NextProtos: []string{alpn}, MinVersion: tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection checks more: the certificate itself
		VerifyConnection: func(state tls.ConnectionState) error {
			*mismatch = want.check(state.PeerCertificates)
			return *mismatch
		},
	}
	own, err := clientCertificate(token)
	if err != nil {
		return nil, err
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	return config, nil
}

// PageTLS trusts a page with the pinned certificate, or one that the pinned authority has signed.
func PageTLS(want Pin) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // as above
		VerifyConnection:   func(state tls.ConnectionState) error { return want.check(state.PeerCertificates) },
	}
}

// clientCertificate returns what a client shows: a certificate without bytes is none.
func clientCertificate(token string) (*tls.Certificate, error) {
	if file := os.Getenv(certVariable); file != "" {
		cert, err := tls.LoadX509KeyPair(file, cmp.Or(os.Getenv(keyVariable), file))
		if err != nil {
			return nil, fmt.Errorf("the certificate of %s and %s cannot be used: %w", certVariable, keyVariable, err)
		}
		return &cert, nil
	}
	if token == "" {
		return &tls.Certificate{}, nil
	}
	key, err := clientKey(token)
	if err != nil {
		return nil, err
	}
	return selfSigned(key, x509.ExtKeyUsageClientAuth)
}

// check accepts the pinned certificate, whatever its names and dates, and one that the pinned authority has signed for servers.
func (want Pin) check(chain []*x509.Certificate) error {
	for i, c := range chain {
		if Pin(sha256.Sum256(c.Raw)) != want {
			continue
		}
		if i == 0 {
			return nil
		}
		if err := signedBy(c, x509.ExtKeyUsageServerAuth, rawCertificates(chain)); err != nil {
			return fmt.Errorf("the server's certificate is not one that the pinned authority has signed for servers: %w; ask who runs the server for another", err)
		}
		return nil
	}
	got := sha256.Sum256(chain[0].Raw)
	return fmt.Errorf("the server's certificate has the SHA-256 %x, and the URL pins %x; use the URL of the run as the server printed it", got[:8], want[:8])
}

// signedBy checks that a certificate, the first of a chain, was signed by an authority for a use, now.
func signedBy(ca *x509.Certificate, use x509.ExtKeyUsage, chain [][]byte) error {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(ca)
	leaf, err := x509.ParseCertificate(chain[0])
	for _, der := range chain[1:] {
		if c, e := x509.ParseCertificate(der); e == nil {
			between.AddCert(c)
		}
	}
	if err == nil {
		_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{use}})
	}
	return err
}

func rawCertificates(chain []*x509.Certificate) (raw [][]byte) {
	for _, c := range chain {
		raw = append(raw, c.Raw)
	}
	return raw
}

// firstCertificate reads a PEM file.
func firstCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("no CERTIFICATE block")
	}
	return x509.ParseCertificate(block.Bytes)
}
