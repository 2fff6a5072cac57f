package client

import (
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

// acquaintances are the clients that the server has introduced on a connection. Who reads the connection uses them, so
// they need no lock. A map, as of ten thousand clients a connection may hear the first and the last.
type acquaintances struct {
	peer  string // the server, for errors
	names map[metasim.ClientID]string
	size  int // as wire.MaxNames counts it
}

// meet takes an introduction. A number is given once: else nobody knew whom a message that waits is from.
func (a *acquaintances) meet(in wire.Introduce) error {
	if name, known := a.names[in.Client]; known {
		return &wire.ProtocolError{
			Peer: a.peer, What: fmt.Sprintf("that client %d is %q", in.Client, in.Name),
			Bound:  fmt.Sprintf("it has said that this is %q, and a client is introduced once", name),
			Remedy: "introduce each client once on a connection",
		}
	}
	if a.size += len(in.Name) + wire.NameCost; a.size > wire.MaxNames {
		return &wire.ProtocolError{
			Peer: a.peer, What: fmt.Sprintf("the names of %d clients", len(a.names)+1),
			Bound:  fmt.Sprintf("names take at most %d bytes, each %d beside its own", wire.MaxNames, wire.NameCost),
			Remedy: "use fewer clients or shorter names",
		}
	}
	if a.names == nil {
		a.names = make(map[metasim.ClientID]string)
	}
	a.names[in.Client] = in.Name
	return nil
}

// message returns a message as the simulator sees it.
func (a *acquaintances) message(m *metasim.Message) (Message, error) {
	name, known := a.names[m.From]
	if !known {
		return Message{}, &wire.ProtocolError{
			Peer: a.peer, What: fmt.Sprintf("a message from client %d on %q", m.From, m.Channel),
			Bound:  "it has not said who that is",
			Remedy: "introduce a client before its first message on a connection",
		}
	}
	return Message{From: name, Channel: m.Channel, Seq: m.Seq, Sent: m.Sent, Due: m.Due, Payload: m.Payload}, nil
}
