package session

import (
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

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

// Clear forgets everything but the memory.
func (in *Inbound) Clear() {
	clear(in.given)
	clear(in.rest)
	*in = Inbound{given: in.given[:0], rest: in.rest[:0]}
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
