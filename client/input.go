package client

import (
	"encoding/binary"
	"errors"

	"metasim/metasim"
)

// routeOf returns where the messages of a channel go, in the order of the subscriptions.
func (c *Client) routeOf(channel string) route {
	r, known := c.routes[channel]
	if known {
		return r
	}
	for _, i := range c.rules.Handlers(channel) {
		s := c.subscriptions[i]
		switch {
		case s.input != nil:
			r.take = append(r.take, s.input.Take)
		case s.handle != nil:
			r.handle = append(r.handle, s.handle)
		}
		r.shown = r.shown || s.input == nil
	}
	c.routes[channel] = r
	return r
}

// give gives messages to inputs, and returns those that Step and Next show. An input that fails hides the end of the run: the next call says
// that again.
func (c *Client) give(msgs []Message, end error) ([]Message, error) {
	var failed error
	shown := msgs[:0]
	for _, m := range msgs {
		r := c.routeOf(m.Channel)
		c.giving = m.Due
		for _, take := range r.take {
			failed = errors.Join(failed, take(m))
		}
		if r.shown {
			shown = append(shown, m)
		}
	}
	c.giving = metasim.Start
	clear(msgs[len(shown):])
	if failed != nil {
		return shown, failed
	}
	return shown, end
}

// state returns what a checkpoint has of the simulator: what each input saved, with its length before it, then what the Saver did.
func (c *Client) state() ([]byte, error) {
	var inputs []byte
	for _, in := range c.inputs {
		b, err := in.Save()
		if err != nil {
			return nil, err
		}
		inputs = append(binary.AppendUvarint(inputs, uint64(len(b))), b...)
	}
	b, err := c.saver.Save()
	if len(inputs) == 0 {
		return b, err
	}
	return append(inputs, b...), err
}

var errInputs = errors.New("it has other inputs than when the checkpoint was made")

// setState begins at a state.
func (c *Client) setState(state []byte) error {
	for _, in := range c.inputs {
		n, size := binary.Uvarint(state)
		if size <= 0 || n > uint64(len(state)-size) {
			return errInputs
		}
		state = state[size:]
		if err := in.Restore(state[:n]); err != nil {
			return err
		}
		state = state[n:]
	}
	return c.saver.Restore(state)
}
