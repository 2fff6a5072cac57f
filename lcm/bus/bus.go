// Package bus exchanges messages with the programs of LCM (lcm-logger, lcm-spy, anything built with liblcm) over LCM's
// networks. It needs nothing of LCM itself.
//
// There are three kinds of network, named by URLs like those of LCM's own programs:
//
//	udpm://GROUP:PORT?ttl=N&recv_buf_size=BYTES   UDP multicast; lossy. Defaults: 239.255.76.67:7667, ttl 0 (this host)
//	tcpq://HOST:PORT                              TCP through a server; ordered, lossless if the receiver reads in time.
//	                                              Default: 127.0.0.1:7700
//	file://PATH                                   an event log, write-only; its times are simulated time in microseconds
//
// [Open] joins a network like any program. With [Options].Serve it also is the server that a tcpq network needs.
//
// A bus does not guarantee delivery. If a receiver is slow or the network is missing, it drops messages: Publish waits a tenth of
// a second at most. Failures are counted ([Stats]), and the first one is logged in [Options].Log.
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
//	client: u32 0x287617fb | u32 0x0100         server: u32 0x287617fa | u32 0x0100      at once, without waiting
//	u32 1 | u32 length | channel | u32 length | payload      publish, both ways
//	u32 2 | u32 length | pattern                             subscribe
//	u32 3 | u32 length | pattern                             unsubscribe
//
// # Duties of the caller
//
//  1. Close every bus.
//  2. Receive from a [Subscription] faster than it fills, or accept that messages are dropped.
//  3. Do not change received payloads: other subscriptions share them.
package bus

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"metasim/lcm"
	"metasim/lcm/names"
	"metasim/metasim"
)

// The remedies of a host on which UDP multicast does not do what it should.
const (
	// OverflowRemedy is for programs that lose datagrams.
	OverflowRemedy = "allow larger ones, sudo sysctl -w net.core.rmem_max=4194304, and ask for them, ?recv_buf_size=4194304 in the URL"
	// routeRemedy is for a host without a route, on which programs of one host shall hear each other.
	routeRemedy = "make a route for it: sudo ip link set lo up multicast on && sudo ip route add 224.0.0.0/4 dev lo"
)

// A Message is one message on a network.
type Message struct {
	Channel string // 1 to names.MaxChannel bytes, none of them zero
	Payload []byte // may be empty
	// At is its simulated time. Only an event log keeps it; it is 0 in a message that was received.
	At metasim.Time
	// Unordered says that it may overtake others of its channel in the same Publish, because its payload tells the order.
	Unordered bool
}

// A Bus is a connection to an LCM network. It is safe for concurrent use.
type Bus interface {
	// Publish sends messages, and keeps no reference to them. Messages of one channel keep their order; over udpm those of
	// different channels may overtake each other within one call. A message that cannot be sent now is counted and dropped;
	// over udpm it waits up to a tenth of a second for programs of this host that read too slowly. The error is ErrClosed, or a
	// *[names.ChannelError] for the first message that LCM cannot carry (the others are sent).
	Publish(ms ...Message) error
	// Subscribe begins to receive messages of the channels that a pattern matches as a whole: a name or a regular expression.
	// The bus also receives what it publishes itself, unless its options say otherwise. Without a pattern no message comes,
	// but the end of the bus can be noticed. A subscription ends with the bus.
	Subscribe(patterns ...string) (*Subscription, error)
	// Lossy reports whether a receiver misses messages that come faster than it reads. Then a publisher should pace them.
	Lossy() bool
	// Subscribers returns how many programs listen to the network, other than by this bus. On udpm they are those of this host.
	// known is false where that cannot be known: for an event log, and for udpm elsewhere than on Linux.
	Subscribers() (n int, known bool)
	// Stats returns the counts so far.
	Stats() Stats
	// Close ends the bus and its subscriptions. It gives peers a few seconds to read what is queued for them.
	Close() error
}

// Stats count messages since the bus was opened.
type Stats struct {
	Sent     uint64 // sent; the number of receivers is not known, but see Unheard
	Unheard  uint64 // of those, how many no program subscribed to, as far as that is known: by the server of a tcpq network
	Failed   uint64 // not sent: no route, no server, no space, or LCM cannot carry it
	Skipped  uint64 // left out on purpose: an event log has no empty payloads
	Received uint64 // received whole
	Dropped  uint64 // received or sent while the queue of a subscriber was full: counted for each such subscriber
	Lost     uint64 // sent by others and not received whole, as far as their numbers show
	Overflow uint64 // datagrams lost by programs of this host, this one included, because their receive buffers were full (udpm on Linux)
	Refused  uint64 // datagrams and frames that are not LCM's
}

// Options of a bus. The zero value is ready to use.
type Options struct {
	// Serve makes the bus the server of its network, if that is tcpq.
	Serve bool
	// Queue is how many bytes of messages may be queued for one subscriber or one peer. Zero: 32 MiB.
	Queue int
	// OthersOnly leaves out of the subscriptions what this bus publishes itself, which LCM sends back to every receiver. On
	// udpm such a message is known by the socket that sent it. A tcpq server does not tell the sender, so there it is known
	// by its content: of two equal messages, one of this bus and one of another program, one is received.
	OthersOnly bool
	// Log gets a warning when the bus first fails. Nil: none.
	Log *slog.Logger
}

// counters are Stats that several goroutines count. The first failure is logged.
type counters struct {
	sent, unheard, failed, skipped, received, dropped, lost, refused atomic.Uint64

	log  *slog.Logger
	url  string
	once sync.Once
}

func (c *counters) Stats() Stats {
	return Stats{
		Sent: c.sent.Load(), Unheard: c.unheard.Load(), Failed: c.failed.Load(), Skipped: c.skipped.Load(), Received: c.received.Load(),
		Dropped: c.dropped.Load(), Lost: c.lost.Load(), Refused: c.refused.Load(),
	}
}

// Subscribers is not known for most networks.
func (c *counters) Subscribers() (int, bool) { return 0, false }

// Lossy is false for all networks but udpm.
func (c *counters) Lossy() bool { return false }

// fails counts n messages that were not sent, and logs the reason once.
func (c *counters) fails(n uint64, why error) {
	c.failed.Add(n)
	c.once.Do(func() {
		c.log.Warn("the LCM network is not available; the run goes on without it, and messages for it are counted", "bus", c.url, "why", why)
	})
}

// fits reports whether LCM can carry a message. If not, it counts the message, and sets *first if that is nil.
func (c *counters) fits(m *Message, first *error) bool {
	err := names.CheckChannel(m.Channel)
	if err == nil && len(m.Payload) > lcm.MaxPayload {
		what := fmt.Sprintf("has a payload of %d bytes, and LCM allows %d; split it", len(m.Payload), lcm.MaxPayload)
		err = &names.ChannelError{Channel: m.Channel, What: what}
	}
	if err == nil {
		return true
	}
	c.failed.Add(1)
	if *first == nil {
		*first = err
	}
	return false
}
