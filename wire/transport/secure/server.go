package secure

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Files are a certificate of one's own: PEM files. Cert and Key belong together. CA is the authority that has signed Cert, and signs the
// certificates of clients; empty: none.
type Files struct{ CA, Cert, Key string }

// A Server is how a server shows who it is, and which clients it lets in. Several listeners may share it.
type Server struct {
	files  Files
	ca     *x509.Certificate   // nil: none
	tokens map[string]struct{} // the public keys that follow from them
	ask    bool                // a client without a certificate is not let in
	pin    Pin

	mu   sync.Mutex
	cert *tls.Certificate
	read [2]fileState // of Cert and Key when they were read
}

// A fileState tells whether a file has changed.
type fileState struct {
	changed time.Time
	size    int64
}

// NewServer returns a server with a certificate made for it, or with that of the files.
func NewServer(files Files) (*Server, error) {
	s := &Server{files: files, tokens: map[string]struct{}{}}
	if files == (Files{}) {
		cert, err := serverCertificate()
		if err != nil {
			return nil, err
		}
		s.show(cert)
		return s, nil
	}
	if files.Cert == "" || files.Key == "" {
		return nil, errors.New("a certificate of one's own needs its key; give both --cert and --key, and --ca if an authority signs the clients' too")
	}
	if files.CA != "" {
		text, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, fmt.Errorf("the authority cannot be read: %w", err)
		}
		if s.ca, err = firstCertificate(text); err != nil {
			return nil, fmt.Errorf("%s holds no certificate (%w); use a PEM file", files.CA, err)
		}
	}
	cert, err := s.load()
	if err != nil {
		return nil, err
	}
	if s.cert, s.pin = cert, sha256.Sum256(cert.Certificate[0]); s.ca != nil {
		s.pin = sha256.Sum256(s.ca.Raw)
	}
	return s, nil
}

// Again returns a server with the certificate that was made for another, which has died: made is what its Made returned.
func Again(made []byte) (*Server, error) {
	cert, err := tls.X509KeyPair(made, made)
	if err != nil {
		return nil, fmt.Errorf("the certificate that was made for the run cannot be used: %w", err)
	}
	s := &Server{tokens: map[string]struct{}{}}
	s.show(&cert)
	return s, nil
}

// show shows this certificate, which the URL pins.
func (s *Server) show(cert *tls.Certificate) {
	s.cert, s.pin = cert, sha256.Sum256(cert.Certificate[0])
}

// Made returns the certificate that was made for the server, with its key, as PEM; nil if files have it.
func (s *Server) Made() ([]byte, error) {
	if s.files != (Files{}) {
		return nil, nil
	}
	key, err := x509.MarshalPKCS8PrivateKey(s.cert.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("write a key down: %w", err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Certificate[0]})
	return append(cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...), nil
}

// ResetKey returns a key that follows from that of the certificate: a server that shows the same certificate later has the same key. With it QUIC
// tells the peers of a server that has died that their connections are gone.
func (s *Server) ResetKey() (key [sha256.Size]byte, err error) {
	secret, err := x509.MarshalPKCS8PrivateKey(s.certificate().PrivateKey)
	if err != nil {
		return key, fmt.Errorf("read a key: %w", err)
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, "metasim stateless reset", len(key))
	return [sha256.Size]byte(derived), err
}

// Admit lets clients in with the certificates that follow from these join tokens, or that the authority of the files has signed. If
// required is false, a client without a certificate is let in too.
func (s *Server) Admit(required bool, tokens ...string) error {
	s.ask = required
	for _, token := range tokens {
		key, err := clientKey(token)
		if err != nil {
			return err
		}
		s.tokens[string(key.Public().(ed25519.PublicKey))] = struct{}{}
	}
	return nil
}

// URL returns the address of a listener, with the pin.
func (s *Server) URL(scheme, hostport string) string {
	return fmt.Sprintf("%s://%s?sha256=%x", scheme, hostport, s.pin)
}

// TLS returns the configuration of a listener.
func (s *Server) TLS() *tls.Config {
	return &tls.Config{
		NextProtos: []string{alpn}, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate(), nil },
		ClientAuth:     tls.RequestClientCert, VerifyConnection: s.verify,
	}
}

// PageTLS returns the configuration of a listener for browsers, which show no certificate.
func (s *Server) PageTLS() *tls.Config {
	return &tls.Config{
		NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate(), nil },
	}
}

// certificate returns the certificate, and reads it again if a file of it has changed. While the new files cannot be used, as when only one of
// them has been written, the old certificate is shown.
func (s *Server) certificate() *tls.Certificate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files.Cert != "" && s.states() != s.read {
		if cert, err := s.load(); err == nil {
			s.cert = cert
		}
	}
	return s.cert
}

// states tells what the files are now.
func (s *Server) states() (now [2]fileState) {
	for i, name := range []string{s.files.Cert, s.files.Key} {
		if info, err := os.Stat(name); err == nil {
			now[i] = fileState{info.ModTime(), info.Size()}
		}
	}
	return now
}

// load reads the files. With an authority the certificate has to be signed by it, as clients know nothing else.
func (s *Server) load() (*tls.Certificate, error) {
	now := s.states() // before they are read: a change in between is seen the next time
	cert, err := tls.LoadX509KeyPair(s.files.Cert, s.files.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be used: %w; --cert and --key are PEM files that belong together", err)
	}
	if s.ca != nil {
		if err := signedBy(s.ca, x509.ExtKeyUsageServerAuth, cert.Certificate); err != nil {
			return nil, fmt.Errorf("%s is no certificate for servers of the authority %s: %w; sign it, or leave --ca out", s.files.Cert, s.files.CA, err)
		}
		cert.Certificate = append(cert.Certificate, s.ca.Raw)
	}
	s.read = now
	return &cert, nil
}

// verify lets a client in, or says why not.
func (s *Server) verify(state tls.ConnectionState) error {
	chain := rawCertificates(state.PeerCertificates)
	if len(chain) == 0 {
		if s.ask {
			return errors.New("the client shows no certificate: join with a client of protocol 2.3, with METASIM_TOKEN as the server gave it")
		}
		return nil
	}
	if key, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey); ok {
		if _, known := s.tokens[string(key)]; known {
			return nil
		}
	}
	if s.ca != nil && signedBy(s.ca, x509.ExtKeyUsageClientAuth, chain) == nil {
		return nil
	}
	if !s.ask {
		return nil // the token of its Hello decides
	}
	return errors.New("the certificate of the client follows from no token of this run, and no authority of it has signed it")
}
