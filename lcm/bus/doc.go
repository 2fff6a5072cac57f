// Package bus speaks on the networks of LCM, so that its programs (lcm-logger, lcm-spy, anything built with liblcm) hear
// metasim, and metasim hears them. It needs nothing of LCM itself.
//
// There are three kinds, each named by a URL as LCM's own programs take it:
//
//	udpm://GROUP:PORT?ttl=N&recv_buf_size=BYTES   UDP multicast; lossy. Defaults: 239.255.76.67:7667, ttl 0 (this host)
//	tcpq://HOST:PORT                              TCP through a server; ordered, lossless to who keeps up. 127.0.0.1:7700
//	file://PATH                                   an event log, written; its times are simulated time in microseconds
//
// [Open] takes part as any program does. [Serve] is the same, but is itself the server that a tcpq network needs.
//
// A bus is best effort and never waits: who publishes is not held up by who listens, and not by a network that is not
// there. What could not be done is counted ([Stats]), and said once in [Options].Log.
//
// # Packets of udpm
//
// All integers are big-endian. A message whose channel, zero and payload have at most 65499 bytes is one datagram; a
// longer one is cut into fragments, each with at most 65487 bytes after its header. seq counts a sender's messages from 0.
//
//	"LC02" | u32 seq | channel | 0 | payload
//	"LC03" | u32 seq | u32 payload size | u32 offset | u16 number | u16 count | [channel | 0, in number 0 only] | payload part
//
// # Frames of tcpq
//
//	client: u32 0x287617fb | u32 0x0100         server: u32 0x287617fa | u32 0x0100      neither waits for the other
//	u32 1 | u32 length | channel | u32 length | payload      publish, both ways
//	u32 2 | u32 length | pattern                             subscribe
//	u32 3 | u32 length | pattern                             unsubscribe
//
// The caller's duties: to Close a bus; to receive from a [Subscription] faster than it fills, or to live with what is
// dropped; not to change payloads that it was given, as others were given the same.
package bus
