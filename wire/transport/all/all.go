// Package all lists every transport between processes. A new transport is a folder beside this one, and one line in
// Table: the server, every command and the benchmark then have it, and the conformance suite of this folder tests it.
//
// A program that imports this package links QUIC. A simulator that needs only unix, tcp and shm need not import it: package
// client has these.
package all

import (
	"metasim/wire/transport"
	"metasim/wire/transport/quic"
	"metasim/wire/transport/secure"
	"metasim/wire/transport/shm"
	"metasim/wire/transport/stream"
	"metasim/wire/transport/tls"
)

// Table returns all transports, in the order in which commands list them. Listeners that encrypt make a certificate each.
func Table() transport.Table { return TableOf(nil) }

// TableOf is Table with the certificate that listeners show.
func TableOf(s *secure.Server) transport.Table {
	return transport.Table{
		stream.Unix(),
		stream.TCP(),
		tls.Transport(s),
		quic.Transport(s),
		shm.Transport(),
	}
}
