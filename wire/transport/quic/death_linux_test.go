package quic

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernel says whether any process has a port, and a process that does not read has it.
func TestNobodyHas(t *testing.T) {
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	addr := udp.LocalAddr().(*net.UDPAddr)
	require.False(t, nobodyHas(addr))
	require.NoError(t, udp.Close())
	require.True(t, nobodyHas(addr))

	other, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	relay, err := net.DialUDP("udp", nil, other.LocalAddr().(*net.UDPAddr))
	require.NoError(t, err)
	addr = relay.LocalAddr().(*net.UDPAddr)
	require.False(t, nobodyHas(addr), "its socket hears one peer alone")
	require.NoError(t, relay.Close())
	require.True(t, nobodyHas(addr))
	require.NoError(t, other.Close())
}
