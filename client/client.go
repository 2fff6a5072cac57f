package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"metasim/metasim"
	"metasim/wire"
)

// A Message is one that a client was given.
type Message struct {
	From    string // the sender's name
	Channel string
	Seq     uint64          // counts the sender's publishes, from 0
	Sent    metasim.Instant // when it was published
	Due     metasim.Instant // when it arrived: the instant at which the client sees it
	Payload []byte          // not to be changed
}

// A Client is one simulator's part in a run. It is not safe for concurrent use.
type Client struct {
	name     string
	subs     []subscription
	handlers map[string][]func(Message) // by channel, as far as met
	reaction metasim.Time
	host     *Host
	own      bool   // nobody else is on the host
	alone    bool   // nor in the process, as far as is known
	timed    bool   // the server wants to know how long it computes
	number   uint32 // on the host
	mail     mail
	out      outgoing

	started bool
	ended   bool            // left, or failed: see err
	err     error           // why the connection is of no use any more
	until   metasim.Instant // the end of the run, exclusive

	now     metasim.Instant
	promise metasim.Instant // the last Promise, or Step
	granted metasim.Instant // exclusive; nobody but this package may see it
	quiet   metasim.Instant // until it may act beyond this, nobody is known to be helped by its reports
	given   []Message       // what it was given and has not handled
	handled uint64          // the number of the last delivery that the simulator was given
	told    report          // what the server was told last
	timers  timers
	watch   stopwatch
	running bool   // in Run
	refused error  // the first timer, or in Run publish, that was refused: Run returns it
	result  []byte // JSON
}

// report is what the last report promised, and what has been handled since.
type report struct {
	next  metasim.Instant // the conditional promise
	cause metasim.Instant // due of the first message handled since; Infinity for none
}

// ErrEnd is returned by Step and Next when the run ends before the instant they are to reach.
var ErrEnd = errors.New("client: the run ends before this instant")

// ErrLeft is returned for whatever a client is asked to do after it left.
var ErrLeft = errors.New("client: it has left the run; leave last")

// Name returns the name under which the client takes part.
func (c *Client) Name() string { return c.name }

// Now returns the instant of what the client did last: what it publishes carries it.
func (c *Client) Now() metasim.Instant { return c.now }

// Until returns the end of the run: nothing happens at it or later. Infinity where the run has no end.
func (c *Client) Until() metasim.Instant { return c.until }

// SetResult says what the run's result shows for this client: v as JSON, sent when it leaves.
func (c *Client) SetResult(v any) error {
	if c.ended {
		return c.err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("client %s: result: %w", c.name, err)
	}
	if err := wire.Check(wire.Packet{Body: &metasim.Leave{Result: b}}); err != nil {
		return fmt.Errorf("client %s: %w", c.name, err)
	}
	c.result = b
	return nil
}

// Leave ends the client's part: it is released from all it promised, and so are those who waited for it. It returns
// when the server has everything that the client sent. Leaving twice is no error.
func (c *Client) Leave(ctx context.Context) error {
	if !c.ended {
		c.out.add(&metasim.Leave{Now: c.now, Acked: c.handled, Result: c.result})
		for err := c.flush(); err == nil && !c.ended; {
			err = c.receive(ctx)
		}
		if err := c.detach(); err != nil && errors.Is(c.err, ErrLeft) {
			return err
		}
	}
	if errors.Is(c.err, ErrLeft) {
		return nil
	}
	return c.err
}

// Close drops the connection. Without a Leave before it the client counts as crashed, and the run fails. After a Leave
// it does nothing.
func (c *Client) Close() error {
	if !c.ended {
		c.fail(errors.New("client: closed"))
	}
	return c.detach()
}

// detach gives the client's place up. Of a host that it shares it takes the others with it, unless it has left.
func (c *Client) detach() error {
	c.mail.forget()
	c.host.leave(c.number)
	if c.own || !errors.Is(c.err, ErrLeft) {
		return c.host.Close()
	}
	return nil
}

// flush writes what the client has to say, in one write.
func (c *Client) flush() error {
	if c.ended {
		return c.err
	}
	return c.written(c.out.flush())
}

// goOn reports an instant after which the client goes on, as it may: next is its next event. The report may wait for
// more, unless somebody is known to wait for it.
func (c *Client) goOn(r metasim.Report, next metasim.Instant) error {
	if c.ended {
		return c.err
	}
	c.out.advance(r)
	var err error
	if c.quiet.Before(next) {
		c.quiet = metasim.Infinity // once is enough
		err = c.out.flush()
	} else {
		err = c.out.flushLater()
	}
	if err != nil {
		return c.written(err)
	}
	if c.out.wrote() {
		c.watch.skip()
		if c.mail.unread() {
			return c.drain()
		}
	}
	return nil
}

// written takes what became of a write.
func (c *Client) written(err error) error {
	if err == nil {
		return nil
	}
	if protocol := new(*wire.ProtocolError); errors.As(err, protocol) {
		err = fmt.Errorf("client %s: at %v: %w", c.name, c.now, err) // nothing was sent, so the server has no say in it
		c.fail(err)
		return err
	}
	// A server that ends the run says why, then closes: its reason is better than the broken pipe.
	for err = nil; err == nil; {
		err = c.receive(context.Background())
	}
	return c.err
}

// receive waits for something from the server, and takes it in.
func (c *Client) receive(ctx context.Context) error {
	news, err := c.mail.wait(ctx)
	return c.takeAll(news, err)
}

// drain takes in what has come from the server, without waiting for more.
func (c *Client) drain() error {
	news, err := c.mail.take()
	return c.takeAll(news, err)
}

func (c *Client) takeAll(n news, err error) error {
	for _, body := range n.rest {
		if e := c.take(body); e != nil {
			c.fail(e)
			return e
		}
	}
	c.given = append(c.given, n.given...)
	if c.granted.Before(n.granted) {
		c.granted, c.quiet = n.granted, n.quiet
	}
	if err == nil || c.ended {
		return c.err
	}
	c.fail(c.lost(err))
	if isCancelled(err) {
		// It does not go on, so nobody should wait for it. It is cancelled: how the closing went is of no interest.
		_ = c.detach()
	}
	return c.err
}

// lost says in words why nothing comes from the server any more.
func (c *Client) lost(err error) error {
	var cancelled *cancelledError
	switch {
	case errors.As(err, &cancelled):
		return fmt.Errorf("client %s: waiting at %v: %w", c.name, c.now, cancelled.cause)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("client %s: the server went away at %v: %w", c.name, c.now, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("client %s: lost the server at %v: %w", c.name, c.now, err)
}

func (c *Client) take(body wire.Body) error {
	switch b := body.(type) {
	case wire.Welcome:
		c.timed = b.Timed
	case wire.Start:
		c.started, c.until = true, b.Until
		c.told = report{cause: metasim.Infinity}
		if c.timed {
			c.watch.start(c.alone)
		}
	case wire.Goodbye:
		c.fail(ErrLeft)
	case wire.Refuse:
		return &wire.RefusedError{Reason: b.Reason, Text: b.Text}
	default:
		return fmt.Errorf("client %s: the server sent a %T, which no client expects", c.name, body)
	}
	return nil
}

// fail ends the client; every call from now on returns err.
func (c *Client) fail(err error) {
	if !c.ended {
		c.ended, c.err = true, err
	}
}

// due returns when the next message that the client has is due.
func (c *Client) due() metasim.Instant {
	if len(c.given) == 0 {
		return metasim.Infinity
	}
	return c.given[0].Due
}

// pop takes the next message out of the inbox: it counts as handled.
func (c *Client) pop() Message {
	msg := c.given[0]
	c.given[0] = Message{} // its payload is the simulator's now
	c.given = c.given[1:]
	c.handled++
	c.told.cause = metasim.Earlier(c.told.cause, msg.Due)
	return msg
}

// popUntil takes all messages due at or before i.
func (c *Client) popUntil(i metasim.Instant) []Message {
	var msgs []Message
	for len(c.given) > 0 && !i.Before(c.given[0].Due) {
		if msgs == nil {
			msgs = make([]Message, 0, min(len(c.given), 8))
		}
		msgs = append(msgs, c.pop())
	}
	return slices.Clip(msgs)
}

// report makes the client's report: next is its next event.
func (c *Client) report(now, next metasim.Instant) metasim.Report {
	floor := metasim.Later(now, c.promise)
	next = metasim.Later(floor, next)
	// What was promised binds whatever is said now: an answer that its reaction time forbids is not sent from a timer.
	c.told = report{next: metasim.Later(c.promised(), next), cause: metasim.Infinity}
	return metasim.Report{
		Now: now, NoSendBefore: floor, NextEvent: c.told.next, Acked: c.handled, Computed: c.watch.lap(c.out.seat),
	}
}
