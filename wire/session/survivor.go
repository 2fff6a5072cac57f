package session

import (
	"errors"
	"fmt"

	"metasim/internal/fifo"
	"metasim/internal/foldhash"
	"metasim/metasim"
	"metasim/wire"
)

// A client can outlive its server. Where the server says so (Welcome.Patience) the client remembers its last sends, and a hash of each of the last
// deliveries that it has handled. When the server is lost and resumed, the client comes back to it and catches up:
//
//  1. It says how much it has sent and handled; the server says how much of that its journal has.
//  2. It sends again what the journal lacks. The resumed server may be behind, and must authorize each of these sends again. So the client behaves as one that steps
//     from one of its sends to the next, and then to where it is.
//  3. What it is given again it has handled already. It compares the hashes, as the others must have sent the same again, and drops it.
//
// What it was given and had not handled it forgets, and is given again. Then it goes on where it was: its own promises hold, only its authorization is
// that of the new server.

// How much a client remembers. What a server that was killed had not written is less, if its disk keeps pace.
const (
	keptSends      = 1 << 16
	keptBytes      = 64 << 20 // of the payloads of sends
	keptDeliveries = 1 << 16
)

// welcomed takes the answer to a Hello.
func (c *Client) welcomed(b wire.Welcome) error {
	m := c.memory
	c.welcome = true
	c.own = ownName(c.name, &b.About)
	switch {
	case m == nil && b.Patience > 0 && c.hello.Returns:
		c.memory = new(memory)
	case m == nil || m.back == nil:
	case b.Known == nil:
		return errors.New("the server that it came back to does not know that a client can: resume the run with the metasim that began it")
	case b.Scenario != c.told.Scenario || b.Seed != c.told.Seed:
		return fmt.Errorf("it came back to another run: that of scenario %q with seed %d, and not of %q with seed %d; resume the run that it takes part in",
			b.Scenario, b.Seed, c.told.Scenario, c.told.Seed)
	default:
		return m.back.compare(m, b.Known, c.handled)
	}
	c.told = b
	return nil
}

// compare finds out what the server lacks.
func (b *catchUp) compare(m *memory, known *wire.Known, handled uint64) error {
	b.known, b.next = *known, known.Sent
	b.skip = handled - min(handled, known.Delivered)
	switch sent := m.sent(); {
	case known.Sent > sent:
		return fmt.Errorf("the resumed server has %d messages of it, and it has sent %d: another process took part under its name; start it again", known.Sent, sent)
	case known.Sent < m.first:
		return fmt.Errorf("it is ahead of the resumed server by %d messages that it has sent, and remembers the last %d; start it again, or run with --durable",
			sent-known.Sent, m.sends.Len())
	case b.skip > uint64(len(m.handled)):
		return fmt.Errorf("it is ahead of the resumed server by %d messages that it was given, and remembers the last %d; start it again, or run with --durable",
			b.skip, len(m.handled))
	}
	return nil
}

// sent is how many messages the client has sent.
func (m *memory) sent() uint64 { return m.first + uint64(m.sends.Len()) }

// place is where the hash of a delivery is in handled.
func (m *memory) place(number uint64) int { return int((number - m.base - 1) % keptDeliveries) }

// published remembers a send.
func (m *memory) published(channel string, sent metasim.Instant, payload []byte) {
	m.sends.Push(metasim.Send{Channel: channel, Sent: sent, Payload: payload})
	for m.size += len(payload); m.sends.Len() > keptSends || m.size > keptBytes && m.sends.Len() > 1; m.first++ {
		m.size -= len(m.sends.Pop().Payload)
	}
}

// took remembers a delivery that the client handles, by its number.
func (m *memory) took(number uint64, d *Message) {
	m.due = metasim.Later(m.due, d.Due)
	if at := m.place(number); at < len(m.handled) {
		m.handled[at] = hashOf(d)
	} else {
		m.handled = append(m.handled, hashOf(d))
	}
}

func hashOf(d *Message) uint64 {
	h := foldhash.Bytes(foldhash.Bytes(foldhash.Seed, d.From), d.Channel)
	for _, word := range []uint64{d.Seq, uint64(d.Sent.Time), uint64(d.Sent.Step), uint64(d.Due.Time), uint64(d.Due.Step)} {
		h = foldhash.Word(h, word)
	}
	return foldhash.Bytes(h, d.Payload)
}

// Patience returns for how many nanoseconds of real time a client whose connection has ended waits for its server; 0: it does not.
func (c *Client) Patience() int64 {
	if c.memory == nil || c.err != nil {
		return 0
	}
	return c.told.Patience
}

// Welcomed reports whether the server has let the client in.
func (c *Client) Welcomed() bool { return c.welcome }

// Return has the client come back over a new connection: it puts its Hello, and forgets what else was to be written, and what was given and not handled.
// The caller writes, and gives what arrives to Receive, until CatchUp returns true; and again from the beginning if that connection ends too.
func (c *Client) Return() {
	m := c.memory
	c.out.Written()
	c.given = fifo.Queue[Message]{}
	c.started, c.waits, c.granted, c.quiet = false, false, metasim.Start, metasim.Start
	hello := c.hello
	if m != nil {
		m.back = &catchUp{}
		hello.Back = &wire.Back{Sent: m.sent(), Handled: c.handled}
	}
	c.out.put(hello)
	c.out.urgent = true
}

// CatchUp puts what the client may tell its new server by now. It returns true when the client is where it was before: then it says again what it waited
// for, or that it leaves. Before that the caller writes what it has put, if that is something, and gives what arrives to Receive.
func (c *Client) CatchUp() bool {
	m := c.memory
	switch {
	case m == nil: // the server had not let it in
		return c.started
	case m.back == nil:
		return true
	case !c.started:
		return false
	}
	b := m.back
	for ; b.next < m.sent(); b.next++ {
		s := m.sends.All()[b.next-m.first]
		if m.waited && b.next >= m.initial && !s.Sent.Before(c.granted) {
			c.ask(s.Sent)
			return false
		}
		c.out.send(s.Channel, s.Sent, s.Payload)
		c.out.urgent = true
		b.clock = s.Sent
	}
	if at := metasim.Later(c.now, m.due); at != metasim.Start && (b.skip > 0 || !at.Before(c.granted)) {
		c.ask(at)
		return false
	}
	c.said = metasim.Later(c.said, b.known.Now)
	m.back = nil
	return true
}

// ask waits for an instant, before which the client sends nothing more.
func (c *Client) ask(want metasim.Instant) {
	b := c.memory.back
	if b.asked && b.want == want {
		return
	}
	b.asked, b.want = true, want
	floor := metasim.Later(b.known.NoSendBefore, want)
	*c.out.ask() = metasim.PollWait{
		Report: metasim.Report{Now: metasim.Later(b.known.Now, b.clock), NoSendBefore: floor, NextEvent: floor, Acked: c.handled - b.skip},
		Want:   want,
	}
}

// again takes a delivery that the client has handled before. It reports false if the client has not.
func (c *Client) again(d *Message) (handled bool, err error) {
	b := c.memory.back
	if b == nil || b.skip == 0 {
		return false, nil
	}
	number := c.handled - b.skip + 1
	b.skip--
	if c.memory.handled[c.memory.place(number)] != hashOf(d) {
		return true, fmt.Errorf("delivery %d, of %q on %q at %v, is not what it was given before its server was lost: %q did not repeat what it did; make it deterministic, or run with --durable",
			number, d.From, d.Channel, d.Due, d.From)
	}
	return true, nil
}
