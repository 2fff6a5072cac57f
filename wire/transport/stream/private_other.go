//go:build !linux

package stream

import (
	"net"
	"syscall"
)

// private does nothing on this system: ListenUnix makes the socket file private right after bind, and its directory is
// private from the start.
func private(_, _ string, _ syscall.RawConn) error { return nil }

// PeerPID returns 0: there is no portable way to find out.
func PeerPID(*net.UnixConn) int { return 0 }
