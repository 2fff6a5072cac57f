//go:build !unix

package stream

// withoutWaiting returns c as a nonblocking stream, or nil if it cannot be one.
func withoutWaiting(c Stream) nonblocking {
	p, _ := c.(nonblocking)
	return p
}
