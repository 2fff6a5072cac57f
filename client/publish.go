package client

import (
	"bytes"
	"context"
	"fmt"

	"metasim/wire"
)

// Channel returns the channel's name.
func (p *Publication) Channel() string { return p.channel }

// Client returns the client that sends on it; nil before Complete.
func (p *Publication) Client() *Client { return p.client }

// Publish sends a copy of payload at the client's present instant, to every client that subscribes to the channel: the
// caller may use the slice again at once. It is written at the next wait, at the latest, and sooner where much was published: then
// Publish waits until the connection takes it, and fails where the run is over.
//
// A publish that the client has promised not to make is refused with a *metasim.Violation, one that is too large with a
// *wire.ProtocolError, and nothing is sent; the client may go on, except in Run, which returns the error.
func (p *Publication) Publish(payload []byte) error {
	if len(payload) >= leastPlaced {
		return p.PublishParts(payload)
	}
	c, err := p.joined()
	if err != nil {
		return err
	}
	c.out.mu.Lock()
	err = c.rules.Publish(p.channel, payload)
	return c.published(err)
}

// leastPlaced is the size from which on it is worth to ask the connection for a place for a copy.
const leastPlaced = 256 << 10

// PublishParts is Publish of one payload that is in parts, one behind the other. So what stands before a large state need not be put together with it first.
// A large payload is copied once, to where other processes of the host get it, if the connection has such a place.
func (p *Publication) PublishParts(parts ...[]byte) error {
	c, err := p.joined()
	if err != nil {
		return err
	}
	c.out.mu.Lock()
	var payload []byte
	if places, ok := c.out.host.conn.(wire.Copier); ok {
		payload = places.Copy(parts)
	}
	if payload == nil {
		payload = bytes.Join(parts, nil) // its memory is not cleared first
	}
	err = c.rules.PublishOwned(p.channel, payload)
	return c.published(err)
}

// PublishOwned is Publish without the copy, for a payload that was made for this message, or received: the slice is handed
// over, and nobody may change it afterwards. When it is written depends on real time, and so would what is sent.
func (p *Publication) PublishOwned(payload []byte) error {
	c, err := p.joined()
	if err != nil {
		return err
	}
	c.out.mu.Lock()
	err = c.rules.PublishOwned(p.channel, payload)
	return c.published(err)
}

// published ends a publish, and unlocks what was locked for it. Much is written at once: the server bounds what a client sends at
// one instant, and a client that does not return from its handler is not to gather it instead.
func (c *Client) published(err error) error {
	full := err == nil && c.out.queue.Full()
	var unwritten error
	if full {
		unwritten = c.out.write(nil)
	}
	c.out.mu.Unlock()
	if unwritten != nil {
		err = c.unwritten(unwritten)
	} else if full {
		err = c.drain(context.Background())
	}
	return c.named(err)
}

// joined returns the client of the publication, if it may send.
func (p *Publication) joined() (*Client, error) {
	switch {
	case p.err != nil:
		return nil, p.err
	case p.client == nil:
		return nil, fmt.Errorf("publish on %q before the client has joined; call Complete first", p.channel)
	}
	return p.client, p.client.elsewhere()
}
