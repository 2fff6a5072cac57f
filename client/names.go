package client

import (
	"errors"
	"strconv"

	"metasim/metasim"
	"metasim/wire"
)

// named adds the name of the client to an error. The error that ended the session is kept with its name: every later call
// returns that same error.
func (c *Client) named(err error) error {
	if err == nil || err != c.rules.Err() {
		return named(c.rules.Full(), err)
	}
	if c.over == nil {
		c.over = named(c.rules.Full(), err)
	}
	return c.over
}

// named adds the name of the client to an error, because a process may have many clients. Errors from the server and
// violations of rules already have the name.
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
