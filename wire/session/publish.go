package session

import (
	"encoding/json"
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

// Publish sends payload on a channel at the client's present instant. It leaves with the next report. The payload must
// not be changed afterwards.
//
// What the client has promised not to send is a *metasim.Violation, what is too large a *wire.ProtocolError, and nothing
// is sent. The client may go on, except in Run.
func (c *Client) Publish(channel string, payload []byte) error {
	if c.err != nil {
		return c.err
	}
	if bound := c.promised(); c.now.Before(bound) {
		return c.refuse(&metasim.Violation{
			Rule: metasim.SendBeforePromise, Client: c.name, Channel: channel, At: c.now, Bound: bound,
		})
	}
	if err := wire.CheckSend(channel, payload, c.now); err != nil {
		return c.refuse(fmt.Errorf("at %v: %w", c.now, err))
	}
	c.out.send(channel, c.now, payload)
	return nil
}

// refuse notes that a publish was refused, for Run.
func (c *Client) refuse(err error) error {
	if c.running && c.refused == nil {
		c.refused = err
	}
	return err
}

// Promise tells everybody that the client sends nothing before t, whatever it is given. A promise that takes an earlier
// one back is a *metasim.Violation.
func (c *Client) Promise(t metasim.Time) error {
	if c.err != nil {
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
	c.out.put(&metasim.Promise{NoSendBefore: i})
	c.out.urgent = true
	return nil
}

// SetResult says what the run's result shows for this client: v as JSON. It travels with Leave.
func (c *Client) SetResult(v any) error {
	if c.err != nil {
		return c.err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if err := wire.Check(wire.Packet{Body: &metasim.Leave{Result: b}}); err != nil {
		return err
	}
	c.result = b
	return nil
}

// Leave releases the client from all it promised. The session is over when the server's Goodbye has come: until then the
// caller gives what arrives to Receive.
func (c *Client) Leave() error {
	if c.err != nil {
		return c.err
	}
	c.out.put(&metasim.Leave{Now: c.now, Acked: c.handled, Result: c.result})
	c.out.urgent = true
	return nil
}
