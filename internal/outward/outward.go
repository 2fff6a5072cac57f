// Package outward knows at which address other hosts find this one.
package outward

import (
	"errors"
	"net"
)

// Address returns the address of the interface that leads out; empty if there is no way out.
func Address() string {
	for _, anywhere := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} { // addresses for examples; nothing is sent
		conn, err := net.Dial("udp", anywhere)
		if err != nil {
			continue // no way out
		}
		own, _, err := net.SplitHostPort(conn.LocalAddr().String())
		if err = errors.Join(err, conn.Close()); err == nil {
			return own
		}
	}
	return ""
}
