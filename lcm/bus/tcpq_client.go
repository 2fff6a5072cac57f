package bus

import (
	"container/list"
	"errors"
	"hash/maphash"
	"net"
	"sync"
	"time"

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
	if err := c.session.write(clientMagic, 0); err != nil {
		c.lose(err)
	}
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
	order   list.List                  // the hashes of those that have not come back, oldest first
	waiting map[uint64][]*list.Element // the same, by hash
}

func newEchoes() *echoes {
	return &echoes{seed: maphash.MakeSeed(), waiting: map[uint64][]*list.Element{}}
}

func (e *echoes) hash(channel string, payload []byte) uint64 {
	return maphash.Comparable(e.seed, [2]uint64{maphash.String(e.seed, channel), maphash.Bytes(e.seed, payload)})
}

// expect sends a message by put, and expects it back if put returns true.
func (e *echoes) expect(m *Message, put func() bool) bool {
	hash := e.hash(m.Channel, m.Payload)
	e.mu.Lock() // before the message can come back
	defer e.mu.Unlock()
	if !put() {
		return false
	}
	e.waiting[hash] = append(e.waiting[hash], e.order.PushBack(hash))
	if e.order.Len() > maxEchoes {
		e.forget(e.order.Front().Value.(uint64))
	}
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
	return e.forget(hash)
}

// forget no longer expects the oldest message of a hash. It returns false if none is expected.
func (e *echoes) forget(hash uint64) bool {
	equal := e.waiting[hash]
	if len(equal) == 0 {
		return false
	}
	e.order.Remove(equal[0])
	if e.waiting[hash] = equal[1:]; len(equal) == 1 {
		delete(e.waiting, hash)
	}
	return true
}
