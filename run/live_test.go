package run

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// An address that is printed is one that a browser on another host can go to.
func TestBrowserAddress(t *testing.T) {
	name, err := os.Hostname()
	require.NoError(t, err)
	for ip, want := range map[string]string{"127.0.0.1": "127.0.0.1:80", "::1": "[::1]:80", "0.0.0.0": name + ":80", "::": name + ":80"} {
		require.Equal(t, want, browserAddress(&net.TCPAddr{IP: net.ParseIP(ip), Port: 80}))
	}
}
