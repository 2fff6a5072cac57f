package client

import (
	"errors"
	"strconv"

	"metasim/metasim"
	"metasim/wire"
)

// named is the function of that name, which returns the same error each time for a session that is over.
func (c *Client) named(err error) error {
	if err == nil || err != c.rules.Err() {
		return named(c.rules.Name(), err)
	}
	if c.over == nil {
		c.over = named(c.rules.Name(), err)
	}
	return c.over
}

// named says which client an error is about: a process may have many. What the server said, and a broken rule, name the
// client themselves.
func named(client string, err error) error {
	if err == nil || client == "" ||
		errors.As(err, new(*metasim.Violation)) || errors.As(err, new(*wire.RefusedError)) || errors.As(err, new(*namedError)) {
		return err
	}
	return &namedError{client, err}
}

func (e *namedError) Error() string {
	return "client " + strconv.Quote(e.client) + ": " + e.err.Error()
}

func (e *namedError) Unwrap() error { return e.err }

func (e *cancelledError) Error() string { return e.cause.Error() }
func (e *cancelledError) Unwrap() error { return e.cause }
