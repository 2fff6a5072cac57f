package wire

import (
	"errors"
	"fmt"
	"strings"
)

// A ProtocolError says that what came, or was about to be sent, is not of the protocol.
type ProtocolError struct {
	Peer   string // who sent it, as Conn.Peer names it; empty for what this side was about to send
	What   string // "a frame of 4294967295 bytes"
	Bound  string // "a frame has at most 67108864"
	Remedy string // "speak the metasim protocol, version 1"
	Err    error  // the cause, where there is one: io.ErrUnexpectedEOF for a stream that ended inside a frame
}

func (e *ProtocolError) Error() string {
	var s strings.Builder
	s.WriteString("wire: ")
	if e.Peer != "" {
		s.WriteString(e.Peer + " sent ")
	}
	s.WriteString(e.What)
	if e.Bound != "" {
		s.WriteString(": " + e.Bound)
	}
	if e.Err != nil {
		s.WriteString(" (" + e.Err.Error() + ")")
	}
	return s.String() + "; " + e.Remedy
}

// Unwrap returns the cause.
func (e *ProtocolError) Unwrap() error { return e.Err }

// speak is the remedy for what no metasim peer would send.
var speak = fmt.Sprintf("speak the metasim protocol, version %d", Version)

// from names the peer in an error of the codec, which knows none.
func from(peer string, err error) error {
	if err == nil {
		return nil
	}
	var e *ProtocolError
	if errors.As(err, &e) && e.Peer == "" {
		e.Peer = peer
	}
	return err
}
