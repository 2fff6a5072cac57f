// Package wire is the protocol between the server and its clients: the packets, the connections that carry them, and
// the codec between packets and bytes. docs/protocol.md describes every byte.
//
//	wire.go        the packets; Conn and Listener: what a transport gives
//	stream.go      frames on a byte stream (Reader, Writer)
//	encode.go      packets to frames (Encoder)
//	decode.go      one frame to packets (Decoder)
//	bodies.go      the body of a packet, field by field
//	handshake.go   the bodies of joining and leaving, by generated code
//	memory.go      what the decoder keeps: payloads, names, and the last body of each kind, which often comes again
//	cursor.go      the fields of a message, and their numbers
//	limits.go      what is refused: Check, and ProtocolError
//	wirepb/        the same packets as generated protobuf
//	session/       the rules of both ends
//	transport/     the transports, and the test suite that each passes
//
// # Duties of the caller
//
//  1. One goroutine reads a Conn, one writes it. Both must go on: two peers that only write wait for each other.
//  2. A payload that was written or read is never changed any more: inside one process it is shared, not copied.
//  3. Everything that one pass sends on a connection goes into one Write.
//  4. The side that connects writes first: on some transports the other side cannot write before.
//  5. The Client field of events does not travel. Do not read it on the receiving side.
//  6. The sender of a Deliver is introduced on the connection before it, once.
//
// # What is promised
//
// Packets come out in the order in which they went in. Bytes that are not of the protocol end in a *ProtocolError, never
// in a panic, nor in more memory than a small multiple of what came.
//
// In the steady state, to write a packet allocates nothing, and to read one allocates only its payload, which is copied
// once on each side. A payload that is kept keeps at most twice its size alive, or 4 KiB.
package wire
