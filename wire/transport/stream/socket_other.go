//go:build !linux

package stream

import "net"

// movable returns the connection: only Linux has an epoll.
func movable(c net.Conn) net.Conn { return c }
