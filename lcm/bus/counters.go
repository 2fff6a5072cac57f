package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"metasim/lcm"
	"metasim/lcm/names"
)

// counters are Stats that several goroutines count. The first failure is logged.
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

// check returns a *MessageError for a message that LCM cannot carry.
func check(m *Message) error {
	var wrong *names.ChannelError
	if errors.As(names.CheckChannel(m.Channel), &wrong) {
		return &MessageError{Channel: m.Channel, What: wrong.What}
	}
	if len(m.Payload) > lcm.MaxPayload {
		return &MessageError{Channel: m.Channel, What: fmt.Sprintf("has a payload of %d bytes, and LCM allows %d; split it",
			len(m.Payload), lcm.MaxPayload)}
	}
	return nil
}
