package live

import (
	"fmt"
	"time"

	"metasim/wire/transport/quic"
)

// Who shows the token may connect, and say any name. A server with a homeserver seals its messages, so they prove who sends them; datagrams are too many for that. They count in
// the name of a server where it has sealed something over the same connection: nobody else sends over that. A server that has not is asked to, over the connection, and says hello.

const (
	// helloDatagram asks who is there, and helloText is the sealed answer.
	helloDatagram = 7
	helloText     = "hello"
	// helloEvery is how often somebody is asked, helloTime for how long what it says meanwhile is lost without a word: datagrams overtake messages.
	helloEvery = 200 * time.Millisecond
	helloTime  = 3 * time.Second
)

// A caller is what is known of who is at the other end of a connection.
type caller struct {
	name         string    // proven; empty: none is
	begun, asked time.Time // when it was asked for it: first, and last
}

// callerOf returns what is known of a caller. It is called with what came from it, one after the other.
func callerOf(q *quic.Caller) *caller {
	c, known := q.Note.(*caller)
	if !known {
		c = &caller{}
		q.Note = c
	}
	return c
}

// An ImpostorError: a datagram says that it is from a server which has not sealed anything over that connection.
type ImpostorError struct{ From, Is string }

func (e *ImpostorError) Error() string {
	if e.Is == "" {
		return fmt.Sprintf("somebody who says that it is %s does not prove it; start %s with --home, and this version of metasim", e.From, e.From)
	}
	return fmt.Sprintf("%s says that it is %s; a server tells only of itself", e.Is, e.From)
}

// counts reports whether a datagram counts that says that it is from a server, and what is wrong with it.
func (c *caller) counts(q *quic.Caller, from string) (bool, error) {
	now := time.Now()
	switch {
	case c.name == from:
		return true, nil
	case c.name != "":
		return false, &ImpostorError{from, c.name}
	case now.Sub(c.asked) < helloEvery:
		return false, nil
	}
	if c.begun.IsZero() {
		c.begun = now
	}
	c.asked = now
	_ = q.SendDatagram([]byte{helloDatagram}) // it may be lost, and is sent again
	if now.Sub(c.begun) < helloTime {
		return false, nil
	}
	return false, &ImpostorError{From: from}
}
