//go:build !linux

package quic

import "net"

// dropped knows nothing on this system.
func dropped(net.PacketConn) uint64 { return 0 }
