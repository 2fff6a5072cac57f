package tls_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/quic"
	"metasim/wire/transport/secure"
	"metasim/wire/transport/tls"
)

// A server that asks for certificates hears those alone who know a token, over tls and quic.
func TestMutual(t *testing.T) {
	for name, transportOf := range map[string]func(*secure.Server) transport.Transport{"tls": tls.Transport, "quic": quic.Transport} {
		t.Run(name, func(t *testing.T) {
			s, err := secure.NewServer(secure.Files{})
			require.NoError(t, err)
			require.NoError(t, s.Admit(true, "sesame", "open"))
			one := transportOf(s)
			l, err := one.Listen(name + "://127.0.0.1:0")
			require.NoError(t, err)
			heard := make(chan error, 8)
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, err = c.Read()
					heard <- err
					_ = c.Close() // half of them have no peer
				}
			}()
			say := func(token string) error {
				c, err := one.DialAs(t.Context(), l.URL(), token)
				if err != nil {
					return err
				}
				defer func() { _ = c.Close() }() // as above
				if err := c.Write([]wire.Packet{{Body: wire.Hello{Version: wire.Version}}}); err != nil {
					return err
				}
				_, err = c.Read()
				return err
			}
			for _, token := range []string{"sesame", "open"} {
				require.ErrorContains(t, say(token), "EOF")
				require.NoError(t, <-heard)
			}
			for _, token := range []string{"", "guessed"} {
				require.Error(t, say(token))
			}
			require.NoError(t, l.Close())
			close(heard)
			for err := range heard {
				require.Error(t, err, "what it said was heard")
			}
		})
	}
}

// A peer that says nothing keeps no listener from closing.
func TestSilentPeer(t *testing.T) {
	l, err := tls.Transport(nil).Listen("tls://127.0.0.1:0")
	require.NoError(t, err)
	host, _, _ := strings.Cut(strings.TrimPrefix(l.URL(), "tls://"), "?")
	silent, err := net.Dial("tcp", host)
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, l.Close())
	_, err = silent.Read(make([]byte, 1))
	require.Error(t, err)
	require.Less(t, time.Since(began), 5*time.Second, "half of what a handshake may take")
	require.NoError(t, silent.Close())
}

// While only one of two files has been renewed, the old certificate is shown; then the new one.
func TestRenewed(t *testing.T) {
	dir := t.TempDir()
	files := secure.Files{Cert: filepath.Join(dir, "c.pem"), Key: filepath.Join(dir, "k.pem")}
	write := func(cert, key []byte) {
		for name, b := range map[string][]byte{files.Cert: cert, files.Key: key} {
			if b != nil {
				require.NoError(t, os.WriteFile(name+".new", b, 0o600))
				require.NoError(t, os.Rename(name+".new", name))
			}
		}
	}
	firstCert, firstKey := newPair(t, 1)
	write(firstCert, firstKey)
	s, err := secure.NewServer(files)
	require.NoError(t, err)
	shows := func(serial int64) {
		cert, err := s.TLS().GetCertificate(nil)
		require.NoError(t, err)
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		require.NoError(t, err)
		require.Equal(t, serial, leaf.SerialNumber.Int64())
	}
	shows(1)
	cert, key := newPair(t, 1<<40) // another size: the clock of a file system may be coarse
	write(cert, nil)
	shows(1)
	write(nil, key)
	shows(1 << 40)
	require.NoError(t, os.Remove(files.Key))
	shows(1 << 40)
	_, err = secure.NewServer(files)
	require.ErrorContains(t, err, "--cert and --key are PEM files that belong together")
}

// newPair returns a certificate and its key, in PEM.
func newPair(t *testing.T, serial int64) (cert, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}
