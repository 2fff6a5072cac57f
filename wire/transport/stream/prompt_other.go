//go:build !unix

package stream

import "net"

// promptly returns how to use a connection without waiting; nil where there is no way.
func promptly(c net.Conn) nonblocking {
	p, _ := c.(nonblocking)
	return p
}
