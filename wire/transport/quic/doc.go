// Package quic carries the protocol over QUIC, between machines: TLS 1.3, and one bidirectional stream for each
// connection, as a promise on a second stream could overtake a send.
//
// The server makes a certificate for the run, and its URL pins it: who has the URL, and nobody else's server, is
// trusted. Clients are told apart by the token of their Hello.
//
// # Duties of the caller
//
//  1. Whoever dials writes first: the stream reaches the server with its first bytes, and a Write of the server waits
//     for it.
//  2. Keep a Read going, and close every Conn: a Close waits up to two seconds for the peer to read to the end.
//  3. Hand the URL on as it is, with its pin, over a way that is trusted: the environment of a child, a private file.
//
// # What is promised
//
// A peer that dies is noticed after three seconds of silence. What was written before a Close is read by a peer that
// reads. A Dial that a crowded server refuses is tried again, with jitter.
//
// quic-go asks for large socket buffers and says so on the standard logger where the system gives less; the variable
// QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING silences it. Speed suffers, nothing else.
package quic
