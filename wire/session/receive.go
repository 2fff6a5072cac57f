package session

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"metasim/internal/slab"
	"metasim/metasim"
	"metasim/wire"
)

// ErrLeft is returned for whatever a client is asked to do after it left.
var ErrLeft = errors.New("it has left the run; leave last")

// Receive takes in what the server has said. It returns why the session is over, once it is.
func (c *Client) Receive(in *Inbound) error {
	for _, body := range in.rest {
		if err := c.take(body); err != nil {
			return c.Fail(err)
		}
	}
	for i := range in.given {
		if c.memory != nil {
			handled, err := c.again(&in.given[i])
			if err != nil {
				return c.Fail(err)
			}
			if handled {
				continue
			}
		}
		c.given.Push(in.given[i])
	}
	if c.granted.Before(in.granted) {
		c.granted, c.quiet = in.granted, in.quiet
	}
	return c.err
}

func (c *Client) take(body wire.Body) error {
	switch b := body.(type) {
	case wire.Welcome:
		return c.welcomed(b)
	case wire.Checkpoint:
		if c.started || !c.save.able {
			return &wire.ProtocolError{
				Peer: "the server", What: "a Checkpoint", Bound: "it comes before Start, to a client that has said that it saves", Remedy: "mend the server",
			}
		}
		return c.checkpoint(&b)
	case wire.Start:
		c.started, c.until = true, b.Until
	case wire.Goodbye:
		c.Fail(ErrLeft)
	case wire.Refuse:
		return &wire.RefusedError{Reason: b.Reason, Text: b.Text}
	default:
		return &wire.ProtocolError{
			Peer: "the server", What: "a " + wire.NameOf(body), Bound: "only clients send that",
			Remedy: fmt.Sprintf("speak the metasim protocol, version %d", wire.Version),
		}
	}
	return nil
}

// Fail ends the session, unless it is over, and returns why it is over. Nothing can be done with the client any more.
func (c *Client) Fail(err error) error {
	if c.err == nil {
		c.err = err
	}
	return c.err
}

// LastReport puts a report of where the client is, in case nothing follows. The client may still go on.
func (c *Client) LastReport() {
	if c.err == nil && c.started {
		c.out.advance(c.report(c.now, c.now))
	}
}

// Close ends the session of a client that does not leave, unless it is over.
func (c *Client) Close(reason error) {
	c.LastReport()
	c.Fail(reason)
}

// Failed tells the server that the client does not take part any more, and why. It reports false if there is nothing to tell:
// the client has left, the server has ended it, or nothing reaches the server.
func (c *Client) Failed() bool {
	if c.err == nil || c.err == ErrLeft || errors.As(c.err, new(*LostError)) || errors.As(c.err, new(*wire.RefusedError)) {
		return false
	}
	c.out.put(wire.Failed{Reason: c.err.Error()})
	return true
}

// Lose ends the session with a *LostError, as the connection ended: io.EOF where the server closed it.
func (c *Client) Lose(err error) error { return c.Fail(&LostError{At: c.now, Err: err}) }

// Cancel ends the session because the caller does not wait any longer.
func (c *Client) Cancel(cause error) error {
	return c.Fail(fmt.Errorf("waiting at %v: %w", c.now, cause))
}

func (e *LostError) Error() string {
	if errors.Is(e.Err, io.EOF) {
		return fmt.Sprintf("the server went away at %v: %v", e.At, io.ErrUnexpectedEOF)
	}
	return fmt.Sprintf("lost the server at %v: %v", e.At, e.Err)
}

// Unwrap returns why the connection ended: io.ErrUnexpectedEOF where the server closed it.
func (e *LostError) Unwrap() error {
	if errors.Is(e.Err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return e.Err
}

// Err returns why the session is over, ErrLeft after a Leave; nil while it is not.
func (c *Client) Err() error { return c.err }

// Started reports whether every client has joined, so that this one may initialize.
func (c *Client) Started() bool { return c.started }

// Name returns what the client is called in its scenario. It is there once the client is Started.
func (c *Client) Name() string { return c.own }

// Full returns the name under which the client takes part. It differs from Name in a scenario inside of another one.
func (c *Client) Full() string { return c.name }

// Told returns what the server has said of the run and of the client's part in it.
func (c *Client) Told() wire.Welcome { return c.told }

// Is reports whether others may call the client by this name: by its Name, or from a scenario around its own by a longer one.
func (c *Client) Is(name string) bool {
	return name == c.own || len(name) > len(c.own) && strings.HasSuffix("/"+c.name, "/"+name)
}

// Now returns the instant of what the client did last: what it publishes carries it.
func (c *Client) Now() metasim.Instant { return c.now }

// Until returns the end of the run: nothing happens at it or later. Infinity where the run has no end.
func (c *Client) Until() metasim.Instant { return c.until }

// Add takes in packets for one client. It keeps nothing of them but payloads, and adds the clients that are introduced to
// names. It fails with a *wire.ProtocolError at a message from a client that was not introduced, and at a wrong
// introduction.
func (in *Inbound) Add(packets []wire.Packet, names *Names) error {
	in.any = in.any || len(packets) > 0
	for i := range packets {
		switch body := packets[i].Body.(type) {
		case *metasim.Deliver:
			m, err := names.message(&body.Message)
			if err != nil {
				return err
			}
			in.given = append(in.given, m)
		case wire.Introduce:
			if err := names.introduce(body); err != nil {
				return err
			}
		case *metasim.Authorize:
			in.granted = metasim.Later(in.granted, body.Until)
			in.quiet = body.QuietUntil
		default:
			in.rest = append(in.rest, packets[i].Keep().Body)
		}
	}
	return nil
}

// Empty reports whether nothing was added since the last Clear.
func (in *Inbound) Empty() bool { return !in.any }

// leastGiven is for how many messages an Inbound always keeps memory.
const leastGiven = 64

// Clear forgets everything but the memory, and that of a burst too after a while.
func (in *Inbound) Clear() {
	clear(in.given)
	clear(in.rest)
	use := in.use
	given := slab.Reuse(in.given, &use, leastGiven)
	*in = Inbound{given: given, rest: in.rest[:0], use: use}
}

// introduce takes an introduction. A number is given once: otherwise the sender of a message that waits would be unclear.
func (n *Names) introduce(in wire.Introduce) error {
	if name, known := n.names[in.Client]; known {
		return &wire.ProtocolError{
			Peer: n.Peer, What: fmt.Sprintf("that client %d is %q", in.Client, in.Name),
			Bound:  fmt.Sprintf("it has said that this is %q, and a client is introduced once", name),
			Remedy: "introduce each client once on a connection",
		}
	}
	if n.size += len(in.Name) + wire.NameCost; n.size > wire.MaxNames {
		return &wire.ProtocolError{
			Peer: n.Peer, What: fmt.Sprintf("the names of %d clients", len(n.names)+1),
			Bound:  fmt.Sprintf("names take at most %d bytes, each %d beside its own", wire.MaxNames, wire.NameCost),
			Remedy: "use fewer clients or shorter names",
		}
	}
	if n.names == nil {
		n.names = make(map[metasim.ClientID]string)
	}
	n.names[in.Client] = in.Name
	return nil
}

// message returns a message as the simulator sees it.
func (n *Names) message(m *metasim.Message) (Message, error) {
	name, known := n.names[m.From]
	if !known {
		return Message{}, &wire.ProtocolError{
			Peer: n.Peer, What: fmt.Sprintf("a message from client %d on %q", m.From, m.Channel),
			Bound:  "it has not said who that is",
			Remedy: "introduce a client before its first message on a connection",
		}
	}
	return Message{From: name, Channel: m.Channel, Seq: m.Seq, Sent: m.Sent, Due: m.Due, Payload: m.Payload}, nil
}
