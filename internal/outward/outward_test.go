package outward

import (
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// The address that a server prints is one that others can use.
func TestFrom(t *testing.T) {
	for _, same := range []string{"unix:///tmp/x", "tcp://127.0.0.1:40", "quic://[::1]:40?sha256=00", "tcp://robot:40", "tcp://%"} {
		require.Equal(t, same, From(same, ""))
	}
	require.Equal(t, "quic://10.0.0.7:40?sha256=00", From("quic://[::]:40?sha256=00", "10.0.0.7"))
	for _, all := range []string{":0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", all)
		require.NoError(t, err)
		u, err := url.Parse(From("quic://"+l.Addr().String()+"?sha256=00", ""))
		require.NoError(t, err)
		require.Equal(t, "sha256=00", u.RawQuery)
		ip := net.ParseIP(u.Hostname())
		require.True(t, u.Hostname() == "localhost" || !ip.IsUnspecified() && !ip.IsLoopback(), u)
		conn, err := net.Dial("tcp", u.Host)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, l.Close())
	}
}
