package quic

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/wire"
)

func TestMain(m *testing.M) {
	if err := os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func listen(t *testing.T) wire.Listener {
	t.Helper()
	l, err := listenURL("quic://127.0.0.1:0")
	require.NoError(t, err)
	return l
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"tcp://127.0.0.1:1", "use quic://host:port?sha256=<64 hex>"},
		{"quic://127.0.0.1", "use quic://host:port?sha256=<64 hex>"},
		{"quic://127.0.0.1:1/x", "use quic://host:port?sha256=<64 hex>"},
		{"quic://127.0.0.1:1", "does not pin the server's certificate"},
		{"quic://127.0.0.1:1?sha256=12", "is no SHA-256"},
		{"quic://127.0.0.1:1?sha256=" + strings.Repeat("x", 64), "is no SHA-256"},
	} {
		_, err := dialURL(t.Context(), c.url)
		require.ErrorContains(t, err, c.want)
	}
	_, err := listenURL("quic://192.0.2.1:1")
	require.ErrorContains(t, err, "use a free port")
}

// The certificate of another server is refused, with the reason.
func TestPin(t *testing.T) {
	one, other := listen(t), listen(t)
	defer func() { require.NoError(t, one.Close()) }()
	defer func() { require.NoError(t, other.Close()) }()
	where, _, _ := strings.Cut(one.URL(), "?")
	_, pin, _ := strings.Cut(other.URL(), "?")
	_, err := dialURL(t.Context(), where+"?"+pin)
	require.ErrorContains(t, err, "use the URL of the run as the server printed it")
}

// A Close also ends a Read and a Write that wait for a client that has not written anything.
func TestCloseBeforeTheFirstWrite(t *testing.T) {
	l := listen(t)
	client, err := dialURL(t.Context(), l.URL())
	require.NoError(t, err)
	server, err := l.Accept()
	require.NoError(t, err)
	read, written := make(chan error, 1), make(chan error, 1)
	go func() { _, err := server.Read(); read <- err }()
	go func() { written <- server.Write(goodbye) }()
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-read, net.ErrClosed)
	require.ErrorIs(t, <-written, net.ErrClosed)
	require.NoError(t, client.Close())
	require.NoError(t, l.Close())
}

// A peer with another ALPN is refused.
func TestAnotherProtocol(t *testing.T) {
	l := listen(t)
	defer func() { require.NoError(t, l.Close()) }()
	hostport, _, _, err := parseURL(l.URL())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = quicgo.DialAddr(ctx, hostport, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}}, nil)
	require.ErrorContains(t, err, "no application protocol")
}
