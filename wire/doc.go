// Package wire is the protocol between the server and its clients: the packets, the connections that carry them, and
// the codec between packets and bytes. docs/protocol.md describes every byte.
//
//	packet.go      the packets: plain structs
//	conn.go        Conn, Listener: what a transport gives
//	encode*.go     packets -> frames            (Encoder)
//	decode*.go     one frame -> packets         (Decoder), field by field with a cursor
//	fields.go      the tags that both use
//	rare.go        the bodies of joining and parting, by generated code
//	payload.go     who keeps a payload, and what it keeps alive
//	frame.go       frames over a byte stream    (Reader, Writer)
//	traffic.go     how much went over a connection
//	limits.go      what is too much, and Check
//	wirepb/        the same packets as generated protobuf
//	mem/ stream/ quic/ dial/   the transports
//	wiretest/      the suite that every transport passes
//
// # Duties of the caller
//
//  1. One goroutine reads a Conn, one writes it. Both must keep going: two peers that only write wait for each other.
//  2. A payload that was written or read is never changed any more: in one process it is shared, not copied.
//  3. Everything one pass has to say on a connection goes into one Write.
//  4. Whoever connects writes first: on some transports the other side cannot write before.
//  5. In the messages of the core the client's own ID does not travel. Do not read it on this side of a Conn.
//  6. Whom a Deliver is from is introduced on the connection before it, once.
//
// # What is promised
//
// Packets come out in the order in which they went in. What does not fit the protocol ends in a *ProtocolError, never
// in a panic, nor in memory beyond a small multiple of what came.
//
// In the steady state a packet that is written takes no memory, and one that is read takes that of its body; its
// payload is copied once on each side. A payload that somebody keeps holds on to twice its size at most, or to 4 KiB.
package wire
