package bus

import (
	"errors"
	"net"
	"sync"
	"time"

	"metasim/lcm/names"
)

// dialTime is how long a server may take to answer.
const dialTime = 5 * time.Second

// errServerGone is why a client's messages do not go out.
var errServerGone = errors.New("the tcpq server closed the connection")

// A tcpqClient takes part in a tcpq network through its server.
type tcpqClient struct {
	counters
	options Options
	session *session
	subs    subscriptions
	work    sync.WaitGroup

	echoes *echoes // nil where what comes back is heard as all else

	mu     sync.Mutex
	asked  map[string]bool // patterns that the server knows
	gone   error           // why there is no server any more
	closed bool
}

func dialTCPQ(a names.Address, o Options) (*tcpqClient, error) {
	conn, err := net.DialTimeout("tcp", a.Host, dialTime)
	if err != nil {
		return nil, err
	}
	c := &tcpqClient{options: o, session: newSession(conn, o.Queue), asked: map[string]bool{}}
	c.log, c.url = o.Log, a.URL
	if o.OthersOnly {
		c.echoes = newEchoes()
	}
	c.work.Go(c.hear)
	c.work.Go(c.feed)
	return c, nil
}

// hear takes what the server says, until one of the two closes.
func (c *tcpqClient) hear() {
	err := c.session.read(serverMagic, c.options.Queue, c.take)
	if errors.Is(err, errNoLCM) {
		c.refused.Add(1)
	}
	c.lose(errors.Join(errServerGone, err))
}

func (c *tcpqClient) feed() {
	if err := c.session.write(appendHello(nil, clientMagic)); err != nil {
		c.lose(err)
		return
	}
	c.session.half()
}

// lose ends what needs the server.
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

func (c *tcpqClient) take(f *frame) error {
	switch {
	case f.kind != framePublish || names.CheckChannel(f.text) != nil:
		c.refused.Add(1)
	case f.dropped:
		c.dropped.Add(1)
	case c.echoes.met(f.text, f.payload):
	default:
		// Only one copy comes, however many patterns match: the server counts its peers, not their patterns.
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

// put gives the server a message, if there is room.
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
		s.Close()
		return nil, c.gone
	}
	for _, pattern := range patterns {
		if c.asked[pattern] {
			continue
		}
		c.asked[pattern] = true
		if !c.session.put(appendText(nil, frameSubscribe, pattern)) {
			c.fails(0, errors.New("there is no room for a subscription among what waits for the server"))
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
