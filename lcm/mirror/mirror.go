// Package mirror shows a run to LCM's own tools: it observes the server, and publishes every message that the server
// received, and every message that it delivered, on an LCM network.
//
// A message on CHANNEL is shown on CHANNEL@sender when it was received, and on CHANNEL@sender>recipient when it was
// delivered. The payload is unchanged: tools know its type by its first bytes. With each goes a companion on
// METASIM_EVENT, of the type in event_t.lcm: it has the instants and names for which LCM's packets have no place.
//
// The messages come in the order in which the server processed them, which is not that of simulated time, and differs from
// run to run. Over UDP, messages that are sent together are sent channel by channel. What happened, in order, is in the
// journal.
//
// A mirror changes nothing: it never delays or ends the run, and is not part of the digest. Messages that it has no time to
// send are dropped and counted.
//
// # Duties of the caller
//
//  1. Give it the clients in the order of their names.
//  2. Close it after the last Observe.
package mirror

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"metasim/lcm/bus"
	"metasim/lcm/names"
	"metasim/metasim"
)

// A Config says what to show, and where.
type Config struct {
	// Bus is the network. The mirror owns and closes it.
	Bus bus.Bus
	// Clients are the names of all clients, by ClientID.
	Clients []string
	// Naming makes the channels on the network.
	Naming names.Naming
	// Log gets a warning when the first message is dropped, and for each channel that LCM cannot carry. Nil: none.
	Log *slog.Logger
}

// Stats count messages.
type Stats struct {
	Shown   uint64    // given to the network, each with a companion
	Dropped uint64    // dropped because the queue was full
	Refused uint64    // on a channel that LCM cannot carry; only their companions were shown
	Bus     bus.Stats // of the network: counts messages and companions
}

// A Mirror is an observer of a server.
type Mirror struct {
	config Config
	seqs   []uint64 // the number of each client's next send

	mu      sync.Mutex
	more    sync.Cond // something waits, or the mirror is closed
	waiting []message
	bytes   int
	closed  bool

	dropped atomic.Uint64

	ending chan struct{} // closed when the mirror is
	work   sync.WaitGroup
	sender sender
	next   time.Time // when paced sends again
}

// The bounds of the queue: messages, and bytes of their payloads.
const (
	maxQueue      = 1 << 16
	maxQueueBytes = 64 << 20
)

// New returns a mirror that shows what it observes.
func New(c Config) *Mirror {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	m := &Mirror{config: c, seqs: make([]uint64, len(c.Clients)), ending: make(chan struct{}), sender: newSender(&c)}
	m.more.L = &m.mu
	m.work.Go(m.run)
	return m
}

// Observe queues the messages of one Step or Settle. It never fails, and never waits for the network.
func (m *Mirror) Observe(_ int64, ev metasim.Event, effects []metasim.Effect) error {
	if send, ok := ev.(*metasim.Send); ok {
		seq := m.seqs[send.Client]
		m.seqs[send.Client]++
		m.put(&message{kind: received, Message: metasim.Message{
			From: send.Client, Seq: seq, Channel: send.Channel, Sent: send.Sent, Due: send.Sent, Payload: send.Payload,
		}})
	}
	for _, e := range effects {
		if d, ok := e.(*metasim.Deliver); ok {
			m.put(&message{kind: delivered, to: d.To, Message: d.Message})
		}
	}
	return nil
}

// put queues a message, if there is room. A payload never changes after it was sent, so it is not copied.
func (m *Mirror) put(s *message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) >= maxQueue || m.bytes+len(s.Payload) > maxQueueBytes {
		m.dropped.Add(1)
		return
	}
	m.waiting = append(m.waiting, *s)
	m.bytes += len(s.Payload)
	m.more.Signal()
}

// gather is how long run waits for more messages when there are few: to send many at once costs much less than one by one,
// and no person sees a millisecond.
const gather = time.Millisecond

// run sends queued messages, until the mirror is closed and the queue is empty.
func (m *Mirror) run() {
	lossy := m.config.Bus.Lossy()
	var batch []message
	for warned := false; ; {
		if !warned && m.dropped.Load() > 0 {
			warned = true
			m.config.Log.Warn("the public LCM network is too slow for this run; messages that are dropped are counted, and the run goes on")
		}
		if batch = m.take(batch); len(batch) == 0 {
			return
		}
		if lossy {
			m.paced(batch)
			continue
		}
		m.sender.send(batch)
		if len(batch) < atOnce {
			m.pause()
		}
	}
}

// take exchanges the queue for an empty batch. It waits while the queue is empty, unless the mirror is closed.
func (m *Mirror) take(batch []message) []message {
	clear(batch) // frees the payloads
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.waiting) == 0 && !m.closed {
		m.more.Wait()
	}
	batch, m.waiting = m.waiting, batch[:0]
	m.bytes = 0
	return batch
}

// pause waits for gather, or until the mirror is closed.
func (m *Mirror) pause() {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.ending:
	}
}

// Close sends the queued messages, closes the network and returns the counts. Observe must not be called any more.
func (m *Mirror) Close() (Stats, error) {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		close(m.ending)
	}
	m.mu.Unlock()
	m.more.Signal()
	m.work.Wait()
	err := m.config.Bus.Close()
	return Stats{Shown: m.sender.shown, Refused: m.sender.refused, Dropped: m.dropped.Load(), Bus: m.config.Bus.Stats()}, err
}

// How many messages, each with its companion, are sent to a lossy network in a millisecond.
const (
	// slow is used while at most few messages are queued: liblcm keeps 30 messages for a subscription until its program
	// handles them, and a run sends many at one instant.
	slow = 10
	few  = 1000
	// fast is used while more are queued. It is also a bound: no program reads more over UDP, and to send more would take
	// processors from the run.
	fast = 300
)

// paced sends messages to a lossy network, some each millisecond.
func (m *Mirror) paced(batch []message) {
	for len(batch) > 0 {
		n, late := slow, time.Duration(0)
		if len(batch)+m.backlog() > few {
			n, late = fast, 5*gather
		}
		n = min(n, len(batch))
		m.wait(late)
		m.sender.send(batch[:n])
		batch = batch[n:]
	}
}

func (m *Mirror) backlog() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

// wait returns a millisecond after the last wait, or sooner to make up for waits that returned late, by at most late.
func (m *Mirror) wait(late time.Duration) {
	now := time.Now()
	if now.Before(m.next) {
		time.Sleep(m.next.Sub(now))
	}
	if oldest := now.Add(-late); m.next.Before(oldest) {
		m.next = oldest
	}
	m.next = m.next.Add(gather)
}
