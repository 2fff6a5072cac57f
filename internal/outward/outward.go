// Package outward knows at which address other hosts find this one.
package outward

import (
	"cmp"
	"errors"
	"net"
	"net/url"
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

// From returns the URL of a listener for a host that sees this one at an address; empty: that is not known. Where the server listens at all interfaces, it
// has that address, or the one of the interface that leads out.
func From(rawURL, address string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsUnspecified() {
		return rawURL
	}
	u.Host = net.JoinHostPort(cmp.Or(address, Address(), "localhost"), u.Port())
	return u.String()
}
