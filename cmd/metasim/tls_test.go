package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TCP that other hosts reach is TLS, and a client in another language checks the pin of the address; without encryption there is a warning.
func TestBeyondLoopback(t *testing.T) {
	python := strings.Split(strings.ReplaceAll(pythonEcho(t), `"`, ""), ", ")
	s := newStage(t)
	s.file("p.yaml", external)
	for _, c := range []struct{ scheme, flags string }{{"tls", ""}, {"tcp", "--insecure"}} {
		p := s.serve(append([]string{"p.yaml", "--transport", "tcp", "--listen", "0.0.0.0:0"}, strings.Fields(c.flags)...)...)
		require.True(t, strings.HasPrefix(p.url, c.scheme+"://"), p.url)
		warned := func() bool { return strings.Contains(p.err.String(), "nothing there is encrypted") }
		if c.scheme == "tcp" {
			s.eventually("it warns", warned)
		}
		require.Equal(t, c.scheme == "tcp", warned())
		if c.scheme == "tls" {
			u, err := url.Parse(p.url)
			require.NoError(t, err)
			conn, err := tls.Dial("tcp", u.Host, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
			require.ErrorContains(t, err, "protocol version", "nothing older than TLS 1.3: %v", conn)
			wrong := *p
			wrong.url = strings.ReplaceAll(p.url, u.Query().Get("sha256"), strings.Repeat("0", 64))
			refused := wrong.ponger().wait()
			require.Equal(t, 1, refused.status)
			refused.says(t, "the server's certificate has the SHA-256")
			text, status := play(python, wrong.url, "ponger", "PING", "PONG")
			require.NotZero(t, status)
			require.Contains(t, text, "another certificate than the URL pins")
		}
		ping := p.pinger()
		text, status := play(python, p.url, "ponger", "PING", "PONG")
		require.Zero(t, status, text)
		require.Equal(t, 0, ping.wait().status)
		p.done()
	}
}

// play runs a client in another language, with more in its environment.
func play(command []string, server, name string, args ...string) (text string, status int) {
	return playWith(nil, command, server, name, args...)
}

func playWith(env, command []string, server, name string, args ...string) (text string, status int) {
	cmd := exec.Command(command[0], append(command[1:], args...)...)
	cmd.Env = append(append(os.Environ(), "METASIM_SERVER="+server, "METASIM_CLIENT="+name, "METASIM_TOKEN=sesame"), env...)
	out, _ := cmd.CombinedOutput() // its status says more
	return string(out), cmd.ProcessState.ExitCode()
}

// An authority of one's own: the address pins it, so that the certificate of the server can be renewed while it runs; clients show certificates
// of it, or what follows from the token.
func TestOwnAuthority(t *testing.T) {
	python := strings.Split(strings.ReplaceAll(pythonEcho(t), `"`, ""), ", ")
	s := newStage(t)
	s.file("p.yaml", external)
	ca := certifier(s, "ca")
	other := certifier(s, "other")
	server := ca("server", "serverAuth")
	clientPair := ca("client", "clientAuth")
	alien := other("alien", "clientAuth")
	for _, transport := range []string{"tls", "quic"} {
		p := s.serve("p.yaml", "--transport", transport, "--ca", "ca.pem", "--cert", server+".pem", "--key", server+".key")
		require.Contains(t, p.url, fmt.Sprintf("sha256=%x", sha256.Sum256(der(s, "ca"))))
		if transport == "tls" {
			require.Equal(t, der(s, server), shown(t, p.url))
			env := func(pair string) []string {
				return []string{"METASIM_CA=" + filepath.Join(s.dir, "ca.pem"), "METASIM_CERT=" + filepath.Join(s.dir, pair+".pem"),
					"METASIM_KEY=" + filepath.Join(s.dir, pair+".key")}
			}
			for _, refused := range [][]string{env(alien), env(server), env(clientPair)[:1]} {
				text, status := playWith(refused, python, p.url, "ponger", "PING", "PONG")
				require.NotZero(t, status, text)
			}
			renewed := ca("renewed", "serverAuth")
			for _, end := range []string{".key", ".pem"} {
				require.NoError(t, os.Rename(filepath.Join(s.dir, renewed+end), filepath.Join(s.dir, server+end)))
			}
			require.Equal(t, der(s, server), shown(t, p.url), "the new certificate")
			ping := p.pinger() // with the certificate of the token
			text, status := playWith(env(clientPair), python, p.url, "ponger", "PING", "PONG")
			require.Zero(t, status, text)
			require.Equal(t, 0, ping.wait().status)
		} else {
			stranger := *p
			stranger.token = "guessed"
			require.Equal(t, 1, stranger.ponger().wait().status)
			ping, pong := p.pinger(), p.ponger()
			require.Equal(t, 0, ping.wait().status)
			require.Equal(t, 0, pong.wait().status)
		}
		p.done()
	}
	e := s.metasim("serve", "p.yaml", "--transport", "tls", "--ca", "other.pem", "--cert", server+".pem", "--key", server+".key")
	require.Equal(t, 1, e.status)
	e.says(t, "is no certificate for servers of the authority other.pem")
	e = s.metasim("serve", "p.yaml", "--transport", "tls", "--cert", server+".pem")
	require.Equal(t, 1, e.status)
	e.says(t, "give both --cert and --key")
	e = s.metasim("serve", "p.yaml", "--cert", server+".pem", "--key", server+".key")
	require.Equal(t, 2, e.status)
	e.says(t, "are for --transport tls and quic")
}

// certifier makes a certificate authority, NAME.pem, with openssl. The result makes certificates of it, for servers or for clients.
func certifier(s *stage, name string) func(leaf, use string) string {
	s.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		s.Skip("SKIPPED LOUDLY: there is no openssl to make an authority with")
	}
	openssl := func(args string) {
		cmd := exec.Command("openssl", strings.Fields(args)...)
		cmd.Dir = s.dir
		out, err := cmd.CombinedOutput()
		require.NoError(s, err, "%s: %s", args, out)
	}
	openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name + " -keyout " + name + ".key -out " + name + ".pem")
	return func(leaf, use string) string {
		s.file(leaf+".ext", "extendedKeyUsage="+use+"\n")
		openssl("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + leaf + " -keyout " + leaf + ".key -out " + leaf + ".csr")
		openssl("x509 -req -in " + leaf + ".csr -CA " + name + ".pem -CAkey " + name + ".key -days 1 -extfile " + leaf + ".ext -out " + leaf + ".pem")
		return leaf
	}
}

// der returns the certificate in a PEM file.
func der(s *stage, name string) []byte {
	s.Helper()
	block, _ := pem.Decode(s.read(name + ".pem"))
	require.NotNil(s, block)
	return block.Bytes
}

// shown returns the certificate that a server shows.
func shown(t *testing.T, server string) []byte {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	conn, err := tls.Dial("tcp", u.Host, &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Raw
}
