//go:build !unix

package stream

import "net"

// withoutWaiting returns c as a nonblocking stream, or nil if it cannot be one.
func withoutWaiting(c net.Conn) nonblocking {
	p, _ := c.(nonblocking)
	return p
}
