package bus

import (
	"errors"
	"hash/maphash"
	"net"
	"sync"
	"time"

	"metasim/internal/fifo"
	"metasim/lcm/names"
)

// dialTime is how long a server may take to answer.
const dialTime = 5 * time.Second

// errServerGone is why the messages of a client are not sent.
var errServerGone = errors.New("the tcpq server closed the connection")

// A tcpqClient is a bus over a tcpq server.
type tcpqClient struct {
	counters
	options Options
	session *session
	subs    subscriptions
	work    sync.WaitGroup

	echoes *echoes // nil: what comes back is received like other messages

	mu     sync.Mutex
	gone   error // why the server is lost
	closed bool
}

func dialTCPQ(a names.Address, o Options) (*tcpqClient, error) {
	conn, err := net.DialTimeout("tcp", a.Where, dialTime)
	if err != nil {
		return nil, err
	}
	c := &tcpqClient{options: o, session: newSession(conn, o.Queue)}
	c.log, c.url = o.Log, a.URL
	if o.OthersOnly {
		c.echoes = newEchoes()
	}
	c.work.Go(c.read)
	c.work.Go(c.write)
	return c, nil
}

// read reads frames of the server, until one of the two closes.
func (c *tcpqClient) read() {
	err := c.session.read(serverMagic, c.options.Queue, c.receive)
	if errors.Is(err, errNotLCM) {
		c.refused.Add(1)
	}
	c.lose(errors.Join(errServerGone, err))
}

// write writes frames to the server, until one of the two closes.
func (c *tcpqClient) write() {
	if err := c.session.write(appendHello(nil, clientMagic)); err != nil {
		c.lose(err)
		return
	}
	c.session.closeWrite()
}

// lose ends the bus when the server is lost.
func (c *tcpqClient) lose(why error) {
	c.session.cut()
	c.subs.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.gone == nil {
		c.gone = why
		c.fails(0, why)
	}
}

// receive processes a frame of the server.
func (c *tcpqClient) receive(f *frame) error {
	switch {
	case f.kind != framePublish || names.CheckChannel(f.text) != nil:
		c.refused.Add(1)
	case f.dropped:
		c.dropped.Add(1)
	case c.echoes.returned(f.text, f.payload):
	default:
		// The server sends one copy, however many patterns match.
		c.received.Add(1)
		c.dropped.Add(c.subs.deliver(Message{Channel: f.text, Payload: f.payload}))
	}
	return nil
}

func (c *tcpqClient) Publish(ms ...Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	var first error
	for i := range ms {
		m := &ms[i]
		switch {
		case !c.fits(m, &first):
		case c.gone == nil && c.put(m):
			c.sent.Add(1)
		default:
			c.failed.Add(1)
		}
	}
	return first
}

// put queues a message for the server, if there is room.
func (c *tcpqClient) put(m *Message) bool {
	if c.echoes == nil || !c.subs.wants(m.Channel) {
		return c.session.put(newPublish(m))
	}
	return c.echoes.expect(m, func() bool { return c.session.put(newPublish(m)) })
}

func (c *tcpqClient) Subscribe(patterns ...string) (*Subscription, error) {
	s, err := c.subs.add(patterns, c.options.Queue)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone != nil {
		return nil, c.gone // lose has closed s
	}
	for _, pattern := range patterns {
		if !c.session.put(appendText(nil, frameSubscribe, pattern)) {
			c.fails(0, errors.New("the queue for the server has no room for a subscription"))
		}
	}
	return s, nil
}

func (c *tcpqClient) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.session.end()
	c.mu.Unlock()
	c.subs.close()
	c.work.Wait()
	return nil
}

// maxEchoes is how many messages may be on their way to a server and back. If there are more, the server does not return all.
const maxEchoes = 1 << 20

// echoes are messages that a client has published and that its server will send back. The protocol does not tell the sender
// of a message, but its content is enough: of several equal messages it does not matter which one is left out.
type echoes struct {
	seed maphash.Seed

	mu      sync.Mutex
	number  uint64              // of the next message
	waiting map[uint64][]uint64 // the numbers of those that have not come back, oldest first, by hash
	order   fifo.Queue[echo]    // all of them, and some that have come back
}

type echo struct{ hash, number uint64 }

func newEchoes() *echoes {
	return &echoes{seed: maphash.MakeSeed(), waiting: map[uint64][]uint64{}}
}

func (e *echoes) hash(channel string, payload []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(e.seed)
	_, _ = h.WriteString(channel) // a hash never fails
	_ = h.WriteByte(0)
	_, _ = h.Write(payload)
	return h.Sum64()
}

// expect sends a message by put, and expects it back if put returns true.
func (e *echoes) expect(m *Message, put func() bool) bool {
	hash := e.hash(m.Channel, m.Payload)
	e.mu.Lock() // before the message can come back
	defer e.mu.Unlock()
	if !put() {
		return false
	}
	e.waiting[hash] = append(e.waiting[hash], e.number)
	e.order.Push(echo{hash, e.number})
	e.number++
	if e.order.Len() > maxEchoes {
		e.forget(*e.order.First())
	}
	e.trim()
	return true
}

// returned reports whether a message that came is one that was expected back.
func (e *echoes) returned(channel string, payload []byte) bool {
	if e == nil {
		return false
	}
	hash := e.hash(channel, payload)
	e.mu.Lock()
	defer e.mu.Unlock()
	numbers := e.waiting[hash]
	if len(numbers) == 0 {
		return false
	}
	e.forget(echo{hash, numbers[0]})
	e.trim()
	return true
}

// forget no longer expects a message, which is the oldest of its hash.
func (e *echoes) forget(o echo) {
	numbers := e.waiting[o.hash]
	switch {
	case len(numbers) == 0 || numbers[0] != o.number: // it has come back
	case len(numbers) == 1:
		delete(e.waiting, o.hash)
	default:
		e.waiting[o.hash] = numbers[1:]
	}
}

// trim drops the oldest messages of order that are no longer expected.
func (e *echoes) trim() {
	for o := e.order.First(); o != nil; o = e.order.First() {
		if numbers := e.waiting[o.hash]; len(numbers) > 0 && numbers[0] <= o.number {
			return
		}
		e.order.Drop(1)
	}
}
