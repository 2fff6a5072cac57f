package mirror

import (
	"io"
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
	// Bus is the network. It is the mirror's from now on.
	Bus bus.Bus
	// Clients are the names of all clients, by ClientID.
	Clients []string
	// Naming makes the names on the network.
	Naming names.Naming
	// Queue is how many messages may wait to be sent, and QueueBytes how many bytes of payload. Zero: 65,536, and 64 MiB.
	Queue, QueueBytes int
	// Log gets a warning when the first message is dropped, and for a name that LCM has no form for. Nil: nowhere.
	Log *slog.Logger
}

// Stats say how much was shown.
type Stats struct {
	Shown   uint64    // messages given to the network, each with a companion
	Dropped uint64    // messages for which there was no room in the queue
	Refused uint64    // messages whose names LCM has no form for; their companions were shown
	Bus     bus.Stats // of the network: counts messages and companions
}

// A Mirror is an observer of a server.
type Mirror struct {
	config Config
	seqs   []uint64 // the number of each client's next send

	mu      sync.Mutex
	waiting []sight
	bytes   int
	idle    bool // the sender waits for ready
	closed  bool

	dropped atomic.Uint64

	ready  chan struct{}
	ending chan struct{}
	done   chan struct{}
	sender sender
	pace   pace
}

// The bounds of what waits where Config does not say.
const (
	defaultQueue      = 1 << 16
	defaultQueueBytes = 64 << 20
)

// New begins to show what is observed.
func New(c Config) *Mirror {
	if c.Queue <= 0 {
		c.Queue = defaultQueue
	}
	if c.QueueBytes <= 0 {
		c.QueueBytes = defaultQueueBytes
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	m := &Mirror{
		config: c, seqs: make([]uint64, len(c.Clients)),
		ready: make(chan struct{}, 1), ending: make(chan struct{}), done: make(chan struct{}),
		sender: newSender(&c),
	}
	go m.run()
	return m
}

// Observe takes what one Step or Settle came to. It never fails, and never waits for the network.
func (m *Mirror) Observe(_ int64, ev metasim.Event, effects []metasim.Effect) error {
	if send, ok := ev.(*metasim.Send); ok {
		seq := m.seqs[send.Client]
		m.seqs[send.Client]++
		m.mu.Lock()
		m.put(&sight{kind: received, from: send.Client, seq: seq, channel: send.Channel, sent: send.Sent, due: send.Sent,
			payload: send.Payload})
		m.mu.Unlock()
	}
	locked := false // most steps deliver nothing
	for _, e := range effects {
		d, ok := e.(*metasim.Deliver)
		if !ok {
			continue
		}
		if !locked {
			m.mu.Lock()
			locked = true
		}
		msg := &d.Message
		m.put(&sight{kind: delivered, from: msg.From, to: d.To, seq: msg.Seq, channel: msg.Channel, sent: msg.Sent, due: msg.Due,
			payload: msg.Payload})
	}
	if locked {
		m.mu.Unlock()
	}
	return nil
}

// put makes a sight wait, if there is room. Payloads never change after they were sent, so they need not be copied. The
// caller holds the lock.
func (m *Mirror) put(s *sight) {
	if len(m.waiting) >= m.config.Queue || m.bytes+len(s.payload) > m.config.QueueBytes {
		m.dropped.Add(1)
		return
	}
	m.waiting = append(m.waiting, *s)
	m.bytes += len(s.payload)
	if m.idle {
		m.idle = false
		m.ready <- struct{}{} // has room: it is asked once for each time the sender is idle
	}
}

// gather is how long the sender lets messages come together where few come: many at once cost much less than one by one,
// and nobody sees a millisecond.
const gather = time.Millisecond

// run sends what waits, until the mirror is closed and nothing does.
func (m *Mirror) run() {
	defer close(m.done)
	lossy := m.config.Bus.Lossy()
	var batch []sight
	for warned := false; ; {
		var closed bool
		if !warned && m.dropped.Load() > 0 {
			warned = true
			m.config.Log.Warn("the public LCM bus does not keep up; what it misses is counted, and the run goes on")
		}
		if batch, closed = m.take(batch); len(batch) == 0 {
			if closed {
				return
			}
			<-m.ready
			continue
		}
		if lossy {
			m.spread(batch)
			continue
		}
		m.sender.send(batch)
		if len(batch) < atOnce {
			m.pause()
		}
	}
}

// take exchanges what waits for an empty batch. If nothing waits, the next put, or Close, says ready.
func (m *Mirror) take(batch []sight) ([]sight, bool) {
	clear(batch) // payloads can be freed
	m.mu.Lock()
	defer m.mu.Unlock()
	batch, m.waiting = m.waiting, batch[:0]
	m.bytes = 0
	m.idle = len(batch) == 0 && !m.closed
	return batch, m.closed
}

// pause waits a little, unless the mirror is closed.
func (m *Mirror) pause() {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.ending:
	}
}

// Close sends what waits, closes the network and says how much was shown. Nothing may be observed any more.
func (m *Mirror) Close() (Stats, error) {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	if m.idle {
		m.idle = false
		m.ready <- struct{}{}
	}
	m.mu.Unlock()
	if !closed {
		close(m.ending)
	}
	<-m.done
	err := m.config.Bus.Close()
	return Stats{Shown: m.sender.shown, Refused: m.sender.refused, Dropped: m.dropped.Load(), Bus: m.config.Bus.Stats()}, err
}
