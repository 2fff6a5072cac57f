//go:build !linux

package stream

import (
	"net"
	"syscall"
)

// private does nothing here: the socket file is made private right after it was created, and its directory is private
// from the start.
func private(_, _ string, _ syscall.RawConn) error { return nil }

// PeerPID returns 0: this system does not tell in a portable way.
func PeerPID(*net.UnixConn) int { return 0 }
