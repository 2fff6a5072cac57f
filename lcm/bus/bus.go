package bus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"metasim/lcm"
	"metasim/lcm/names"
	"metasim/metasim"
)

// ErrClosed is what a closed bus, or a closed subscription, says.
var ErrClosed = errors.New("lcm bus: closed")

// A Message is one publish.
type Message struct {
	Channel string // 1 to names.MaxChannel bytes, none of them zero
	Payload []byte // may be empty
	// At is the simulated time of it. Only an event log has a place for it; it is 0 in what is received.
	At metasim.Time
	// Unordered says that it may overtake others of its channel that are published with it: it says itself where it belongs.
	Unordered bool
}

// A Bus is an LCM network that one takes part in. It is safe for concurrent use.
type Bus interface {
	// Publish sends messages, and keeps nothing of them. Those of one channel keep their order; over udpm those of different
	// channels may overtake each other within one call. It does not wait: what cannot go out now is counted and given up. The error is a *[MessageError] for the first message that LCM has no form for (the others are sent), or
	// ErrClosed.
	Publish(ms ...Message) error
	// Subscribe begins to receive what is published on channels that one of the patterns matches as a whole: a name or a
	// regular expression. What this bus publishes itself is heard too, unless its options say otherwise. Without any
	// pattern nothing comes, but its end does.
	Subscribe(patterns ...string) (*Subscription, error)
	// Lossy reports whether who listens misses what comes faster than it reads: then it is kind to spread what can wait.
	Lossy() bool
	// Stats says how it goes.
	Stats() Stats
	// Close ends it and its subscriptions. Peers that read are given a moment to take what waits for them.
	Close() error
}

// Stats count messages since the bus was opened.
type Stats struct {
	Sent     uint64 // went out; to how many is not known
	Failed   uint64 // could not go out: no route, no server, no space, or no form for it
	Skipped  uint64 // were left out on purpose: an event log has no empty payloads
	Received uint64 // came in whole
	Dropped  uint64 // came in or went out, and one subscriber's queue was full: counted for each such subscriber
	Lost     uint64 // others sent, and did not come, or not whole; as far as it shows
	Refused  uint64 // datagrams and frames that were no LCM
}

// Options of a bus. The zero value is good.
type Options struct {
	// Queue is how many bytes of messages may wait for one subscriber, or one peer. Zero: 32 MiB.
	Queue int
	// OthersOnly keeps what the bus publishes itself, which LCM gives back to whoever listens, from its own subscriptions.
	// On udpm a message is told by the socket that it came from. A tcpq server does not say whose a message is, so there it
	// is told by what is in it: of two equal ones, ours and another's, one is heard.
	OthersOnly bool
	// Log gets a warning when the bus first fails. Nil: nowhere.
	Log *slog.Logger
}

const defaultQueue = 32 << 20

func (o Options) withDefaults() Options {
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return o
}

// A MessageError is a message that LCM has no form for.
type MessageError struct {
	Channel string
	What    string // "has 64 bytes", and what to do
}

func (e *MessageError) Error() string {
	return fmt.Sprintf("lcm bus: the channel %q %s", e.Channel, e.What)
}

func check(m *Message) error {
	var wrong *names.ChannelError
	if errors.As(names.CheckChannel(m.Channel), &wrong) {
		return &MessageError{Channel: m.Channel, What: wrong.What}
	}
	if len(m.Payload) > lcm.MaxPayload {
		return &MessageError{Channel: m.Channel, What: fmt.Sprintf("got a payload of %d bytes, and LCM allows %d; send less at once",
			len(m.Payload), lcm.MaxPayload)}
	}
	return nil
}

// counters are Stats that several goroutines count. The first failure is said in the log.
type counters struct {
	sent, failed, skipped, received, dropped, lost, refused atomic.Uint64

	log  *slog.Logger
	url  string
	once sync.Once
}

func (c *counters) Stats() Stats {
	return Stats{
		Sent: c.sent.Load(), Failed: c.failed.Load(), Skipped: c.skipped.Load(), Received: c.received.Load(),
		Dropped: c.dropped.Load(), Lost: c.lost.Load(), Refused: c.refused.Load(),
	}
}

// Lossy is false but for udpm.
func (c *counters) Lossy() bool { return false }

// fails counts n messages that could not go out, and says why once.
func (c *counters) fails(n uint64, why error) {
	c.failed.Add(n)
	c.once.Do(func() {
		c.log.Warn("the LCM bus cannot be had; what it does not take is counted, and the rest goes on", "bus", c.url, "why", why)
	})
}

// fits reports whether LCM has a form for a message. If not it counts it, and keeps the first error.
func (c *counters) fits(m *Message, first *error) bool {
	err := check(m)
	if err == nil {
		return true
	}
	c.failed.Add(1)
	if *first == nil {
		*first = err
	}
	return false
}

// clone is the message with a payload of its own.
func (m *Message) clone() Message {
	c := *m
	c.Payload = bytes.Clone(m.Payload)
	return c
}
