package replay

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"

	"metasim/metasim"
	"metasim/wire"
)

// A session is the server's side of a connection with one client: it answers as the server did then, and gives what the
// tape holds, ahead of need but not without bound.
type session struct {
	check
	token  string
	out    *outbox
	joined bool
	number uint32        // of the client on its connection
	pass   []wire.Packet // to be written

	met     map[metasim.ClientID]bool // who was introduced
	waiting bool                      // it has waited once: nobody is authorized before
	granted metasim.Instant
	given   []int  // sizes of what was given and is not acknowledged
	ahead   int    // their sum
	first   uint64 // number of the delivery before given[0]
	over    bool   // the last word is said
}

// What is given ahead: as much as the dispatcher would by default, and, of a client that only sends, so many sends.
const (
	aheadBytes = metasim.DefaultAhead
	aheadSends = 1024
	overhead   = 64 // of a delivery, beside its payload
)

// serve talks with a client until its part is over or the first difference. The error says why the check could not be
// done to its end.
func (s *session) serve(conn wire.Conn) error {
	s.out = newOutbox(conn)
	defer s.out.close()
	for !s.over {
		packets, err := conn.Read()
		for _, p := range packets {
			if err := s.packet(p); err != nil {
				return err
			}
			if s.over {
				break
			}
		}
		s.flush()
		if err != nil {
			if s.over {
				return nil
			}
			return s.hungUp(err)
		}
	}
	return nil
}

// hungUp takes the end of the connection before the client's part was over.
func (s *session) hungUp(err error) error {
	why := "its connection ended"
	switch {
	case errors.As(err, new(*wire.ProtocolError)):
		why = "it sent what is not the protocol: " + err.Error()
	case !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed):
		why = "its connection broke: " + err.Error()
	}
	if !s.joined {
		return fmt.Errorf("replay: client %q did not join: %s", s.name, why)
	}
	return s.gone(why)
}

// packet takes one message.
func (s *session) packet(p wire.Packet) error {
	hello, isHello := p.Body.(wire.Hello)
	switch {
	case isHello && !s.joined:
		return s.hello(p.Member, hello)
	case !s.joined:
		return fmt.Errorf("replay: client %q sent a %T before its Hello", s.name, p.Body)
	case isHello:
		s.refuse(p.Member, wire.UnknownName, fmt.Sprintf("%q is replayed alone; %q cannot join", s.name, hello.Name))
		return nil
	case p.Member != s.number:
		return nil // it was refused
	}
	switch ev := p.Body.(type) {
	case *metasim.Send:
		return s.sent(ev)
	case *metasim.Promise:
		return nil
	case *metasim.Advance:
		return s.reports(ev.Report, nil)
	case *metasim.PollWait:
		return s.reports(ev.Report, ev)
	case *metasim.Leave:
		return s.leaves(ev)
	}
	return fmt.Errorf("replay: client %q sent a %T, which only a server does", s.name, p.Body)
}

// hello lets the client in: all the others are there.
func (s *session) hello(number uint32, h wire.Hello) error {
	refuse := func(reason wire.Reason, text string) error {
		s.refuse(number, reason, text)
		s.flush()
		return errors.New("replay: " + text)
	}
	switch {
	case h.Version != wire.Version:
		return refuse(wire.BadVersion, fmt.Sprintf("client %q speaks protocol version %d, this replay speaks %d", h.Name, h.Version, wire.Version))
	case subtle.ConstantTimeCompare([]byte(h.Token), []byte(s.token)) != 1:
		return refuse(wire.BadToken, fmt.Sprintf("client %q has not the join token of this replay; give it METASIM_TOKEN", h.Name))
	case h.Name != s.name:
		return refuse(wire.UnknownName, fmt.Sprintf("%q is replayed, and %q wants to join; give it METASIM_CLIENT", s.name, h.Name))
	}
	s.joined, s.number = true, number
	if s.declares(h); s.Difference != nil {
		s.parted()
		return nil
	}
	m := s.tape.run.Manifest
	until := metasim.Infinity
	if m.Until > 0 {
		until = metasim.At(m.Until)
	}
	s.until = until
	s.put(wire.Welcome{Scenario: m.Scenario, Seed: m.Seed})
	s.put(wire.Start{Until: until})
	return nil
}

// reports takes a report; poll is the wait that it belongs to, if it does.
func (s *session) reports(r metasim.Report, poll *metasim.PollWait) error {
	if err := s.acknowledge(r.Acked); err != nil {
		return err
	}
	s.waiting = s.waiting || poll != nil
	if !s.waiting {
		return nil
	}
	before := s.granted
	for !s.enough() || !s.answered(poll) {
		next, ok, err := s.tape.more()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		s.give(next)
	}
	if s.granted != before || poll != nil && s.answered(poll) {
		s.put(&metasim.Authorize{Until: s.granted})
	}
	if !s.answered(poll) {
		return s.stuck(poll)
	}
	return nil
}

// enough reports whether the client has as much ahead as it should.
func (s *session) enough() bool {
	return s.ahead >= aheadBytes || len(s.tape.sends) >= aheadSends
}

// answered reports whether a poll needs no further authorization, as the dispatcher sees it. None does not.
func (s *session) answered(poll *metasim.PollWait) bool {
	return poll == nil || poll.Want.Before(s.granted) || poll.Messages && len(s.given) > 0 || s.granted == s.until
}

// give gives one step; the authorization follows when all of a pass is given.
func (s *session) give(next step) {
	for _, d := range next.messages {
		s.introduce(d.Message.From)
		s.put(d)
		size := len(d.Message.Payload) + overhead
		s.given = append(s.given, size)
		s.ahead += size
		s.Delivered++
	}
	s.granted = metasim.Later(s.granted, next.until)
}

// introduce says who a sender is, before the first delivery from it.
func (s *session) introduce(id metasim.ClientID) {
	if !s.met[id] {
		s.met[id] = true
		s.put(wire.Introduce{Client: id, Name: s.tape.run.Manifest.Clients[id]})
	}
}

func (s *session) acknowledge(number uint64) error {
	if number < s.first || number > s.first+uint64(len(s.given)) {
		return fmt.Errorf("replay: client %q acknowledged delivery %d, of %d to %d; mend the client",
			s.name, number, s.first, s.first+uint64(len(s.given)))
	}
	n := int(number - s.first)
	for _, size := range s.given[:n] {
		s.ahead -= size
	}
	s.given, s.first = s.given[n:], number
	return nil
}

func (s *session) put(body wire.Body) {
	s.pass = append(s.pass, wire.Packet{Member: s.number, Body: body})
}

func (s *session) refuse(number uint32, reason wire.Reason, text string) {
	s.pass = append(s.pass, wire.Packet{Member: number, Body: wire.Refuse{Reason: reason, Text: text}})
}

// end says the last word, if there is one.
func (s *session) end(last wire.Body) {
	if last != nil {
		s.put(last)
	}
	s.over = true
}

func (s *session) flush() {
	if len(s.pass) > 0 {
		s.out.put(s.pass)
		s.pass = nil
	}
}
