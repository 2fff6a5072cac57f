package client

import (
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

// A Publication is a channel that a client sends on.
type Publication struct {
	channel string
	client  *Client // nil before Complete
	err     error
}

// Channel returns the channel's name.
func (p *Publication) Channel() string { return p.channel }

// Publish sends payload at the client's present instant, to every client that subscribes to the channel. The payload
// must not be changed afterwards. It leaves with the next wait.
//
// A publish that the client has promised not to make is refused with a *metasim.Violation, one that is too large with a
// *wire.ProtocolError, and nothing is sent; the client may go on, except in Run, which returns the error.
func (p *Publication) Publish(payload []byte) error {
	c := p.client
	switch {
	case p.err != nil:
		return p.err
	case c == nil:
		return fmt.Errorf("client: publish on %q before the client has joined; call Complete first", p.channel)
	case c.ended:
		return c.err
	}
	if bound := c.promised(); c.now.Before(bound) {
		err := &metasim.Violation{
			Rule: metasim.SendBeforePromise, Client: c.name, Channel: p.channel, At: c.now, Bound: bound,
		}
		return c.refuse(err)
	}
	if err := wire.CheckSend(p.channel, payload, c.now); err != nil {
		return c.refuse(fmt.Errorf("client %s: at %v: %w", c.name, c.now, err))
	}
	c.out.send(p.channel, c.now, payload)
	return nil
}

// refuse notes that a publish was refused, for Run.
func (c *Client) refuse(err error) error {
	if c.running && c.refused == nil {
		c.refused = err
	}
	return err
}

// promised returns the instant before which the client has promised not to send: its own promise; and before the next
// event that it reported it sends only in answer, which takes its reaction time. The server checks the same.
func (c *Client) promised() metasim.Instant {
	return metasim.Later(c.promise, metasim.Earlier(c.told.next, c.told.cause.React(c.reaction)))
}

// Promise tells everybody that the client sends nothing before t, whatever it is given, so that they need not wait for
// it. It is passed on at once. A promise that takes an earlier one back is refused.
func (c *Client) Promise(t metasim.Time) error {
	if c.ended {
		return c.err
	}
	i := metasim.At(t)
	if t == c.now.Time {
		i = metasim.Later(i, c.now) // as everywhere: the present time is the present instant
	}
	if bound := metasim.Later(c.promise, c.now); i.Before(bound) {
		return &metasim.Violation{Rule: metasim.PromiseRegress, Client: c.name, At: i, Bound: bound}
	}
	c.promise = i
	c.out.add(&metasim.Promise{NoSendBefore: i})
	return c.flush()
}
