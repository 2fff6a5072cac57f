package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"metasim/metasim"
	"metasim/wire"
)

// NewServer returns the server's end of a run in which no client has joined. It fails if a packet could not hold what the
// server must send to clients.
func NewServer(c ServerConfig) (*Server, error) {
	for _, name := range append([]string{""}, c.Names...) {
		if err := wire.Check(wire.Packet{Body: wire.Welcome{Scenario: c.Scenario, About: c.About[name]}}); err != nil {
			return nil, err
		}
	}
	if err := checkNames(c.Names); err != nil {
		return nil, err
	}
	s := &Server{config: c, tokens: newTokens(&c), ids: make(map[string]metasim.ClientID, len(c.Names)), members: make([]member, len(c.Names))}
	for i, name := range c.Names {
		s.ids[name] = metasim.ClientID(i)
		s.members[i].client = metasim.ClientID(i)
		s.members[i].scope = c.Scopes.Of(name)
	}
	return s, nil
}

// checkNames checks that every client can be introduced, and all of them on one connection.
func checkNames(names []string) error {
	size := 0
	for i, name := range names {
		if err := wire.Check(wire.Packet{Body: wire.Introduce{Client: metasim.ClientID(i), Name: name}}); err != nil {
			return err
		}
		size += len(name) + wire.NameCost
	}
	if size > wire.MaxNames {
		return fmt.Errorf("the names of %d clients take %d bytes, with %d bytes added to each: the limit is %d; use fewer clients or shorter names",
			len(names), size, wire.NameCost, wire.MaxNames)
	}
	return nil
}

// Connect takes in a connection.
func (s *Server) Connect(output Output) *Conn {
	return &Conn{output: output, members: make(map[uint32]*member)}
}

// Receive takes one packet of a connection. It returns the event for the dispatcher, nil if there is none; or that the
// peer was refused. If the packet's body is an event, that is the event.
func (s *Server) Receive(c *Conn, p wire.Packet) (metasim.Event, *Refusal) {
	m := c.members[p.Member]
	if m == nil {
		if h, ready, ok := helloOf(p.Body); ok {
			return s.hello(c, p.Member, h, ready)
		}
		return nil, c.refuse(p.Member, wire.BadMessage, fmt.Sprintf(
			"member %d sent a %s before its Hello; say Hello first", p.Member, wire.NameOf(p.Body)))
	}
	if m.cut || m.done || m.conn != c { // of a connection that was dropped something may still come: the client is another process by now
		return nil, nil
	}
	switch ev := p.Body.(type) {
	case *metasim.Send:
		ev.Client = m.client
		m.sends(ev)
	case *metasim.Promise:
		ev.Client = m.client
	case *metasim.Advance:
		ev.Client = m.client
	case *metasim.PollWait:
		ev.Client = m.client
	case *metasim.Leave:
		ev.Client, ev.Cut = m.client, false
		if len(ev.Result) > 0 && (!json.Valid(ev.Result) || !utf8.Valid(ev.Result)) {
			return nil, m.misbehaves("the result of a Leave is JSON in UTF-8, or empty", "its Leave has a result that is no JSON")
		}
	case wire.Checkpoint:
		if s.every(m) == 0 {
			return nil, m.misbehaves("a client sends a Checkpoint when it is asked for them", "it sent a Checkpoint and was not asked for any")
		}
		if m.again == nil { // else it repeats itself, and so does this
			s.saved, s.savedBy = &ev, m.client
		}
		return nil, nil
	case wire.Failed:
		if ev.Gone { // a relay says it, and another process may come under another number
			delete(c.members, p.Member)
			return nil, &Refusal{Lost: true, Gone: true, Client: m.client, Cause: ev.Reason}
		}
		m.done = true
		return nil, &Refusal{Lost: true, Said: true, Client: m.client, Cause: "it failed: " + ev.Reason}
	case wire.Hello, *prepared:
		return nil, m.misbehaves(fmt.Sprintf("member %d of this connection has said Hello already", m.number), "it said Hello twice")
	default:
		name := wire.NameOf(p.Body)
		return nil, m.misbehaves(fmt.Sprintf("a client does not send a %s", name), fmt.Sprintf("it sent a %s, which only a server does", name))
	}
	ev := p.Body.(metasim.Event)
	if m.again != nil {
		return m.again.take(p, ev)
	}
	m.keepPromise(ev)
	if m.unacked != nil {
		m.limitAck(ev)
	}
	return ev, nil
}

// Admits reports whether a peer that shows this token may speak. Whether it may join with it, its Hello decides. It may be called by several
// goroutines at once.
func (s *Server) Admits(token string) bool { return s.tokens.admits(token) }

// Trusted reports whether the peer has shown the token of the run.
func (c *Conn) Trusted() bool { return c.trusted }

// Relay returns the name of the relay at the other end, for people; empty if the peer is none.
func (c *Conn) Relay() string { return c.relay }

// TurnAway ends a connection on which nobody has shown the token, and tells the peer why.
func (c *Conn) TurnAway(text string) { c.refuse(0, wire.BadMessage, text) }

// Prepare does for each Hello among packets what takes long and needs nothing of the run: the caller does it before its turn. A Hello that
// was not prepared is prepared by Receive. Several goroutines may call it at once.
func (s *Server) Prepare(packets []wire.Packet) {
	for i := range packets {
		h, ok := packets[i].Body.(wire.Hello)
		if !ok {
			continue
		}
		if _, known := s.ids[h.Name]; known && h.Version == wire.Version && s.Admits(h.Token) { // without the token it is not worth it
			packets[i].Body = new(s.compile(h))
		}
	}
}

// hello lets a client in, or says why not. ready is nil if the Hello was not prepared.
func (s *Server) hello(c *Conn, number uint32, h wire.Hello, ready *prepared) (metasim.Event, *Refusal) {
	id, known := s.ids[h.Name]
	if h.Version != wire.Version {
		return nil, c.refuse(number, wire.BadVersion, fmt.Sprintf(
			"client %q speaks protocol version %d, this server speaks %d; build both from one version of metasim", h.Name, h.Version, wire.Version))
	}
	if why := s.tokens.refusal(h.Name, h.Token, known && h.Back == nil && s.members[id].present && !s.members[id].away); why != "" {
		return nil, c.refuse(number, wire.BadToken, why)
	}
	c.trusted, c.relay = true, cmp.Or(c.relay, h.Relay)
	switch {
	case !known:
		return nil, c.refuse(number, wire.UnknownName, fmt.Sprintf(
			"the scenario %q has no client %q; %s", s.config.Scenario, h.Name, s.someNames()))
	case h.Back != nil && s.members[id].done && !s.members[id].cut: // its Leave is the last that the journal has of it
		c.output.Put(wire.Packet{Member: number, Body: wire.Goodbye{}})
		return nil, nil
	case s.precedes(&s.members[id], &h):
		return nil, &Refusal{Precedes: true, Client: id}
	case s.refusal(&s.members[id], &h) != "":
		return nil, c.refuse(number, wire.TooLate, s.refusal(&s.members[id], &h))
	case s.members[id].away: // it comes back
	case s.Started():
		return nil, c.refuse(number, wire.TooLate, fmt.Sprintf(
			"client %q comes too late: the run has begun, and nobody joins after that", h.Name))
	case s.members[id].present:
		return nil, c.refuse(number, wire.NameTaken, fmt.Sprintf(
			"a client called %q has joined already; names are unique in a run", h.Name))
	}
	if ready == nil {
		ready = new(s.compile(h))
	}
	if ready.reason != 0 {
		return nil, c.refuse(number, ready.reason, ready.why)
	}
	m := &s.members[id]
	m.conn, m.number, m.present, m.saves, m.about = c, number, true, h.Saves, wire.About{}
	m.returns, m.back = h.Returns, h.Back
	if h.Back != nil {
		m.lacks = h.Back.Sent - m.standing.known.Sent
	}
	if h.KnowsAbout() {
		m.about = s.config.About[h.Name]
	}
	c.members[number] = m
	join := &metasim.Join{
		Client: id, Publications: ready.publications, Subscriptions: ready.subscriptions, Reaction: h.Reaction,
	}
	join.Compiled(ready.patterns)
	if !m.away {
		m.joined = join
	}
	return join, nil
}

// someNames says as which clients one may still join, of others not too many.
func (s *Server) someNames() string {
	const enough = 8
	var names []string
	for i, name := range s.config.Names {
		if !s.config.Inside[name] && s.members[i].conn == nil {
			names = append(names, name)
		}
	}
	switch more := len(names) - enough; {
	case len(names) == 0:
		return "all clients of it have joined, or are models that the server runs itself; name this one in the scenario, with external: true"
	case more > 0:
		return fmt.Sprintf("name it there, or join as one of: %q and %d more", names[:enough], more)
	}
	return fmt.Sprintf("name it there, or join as one of: %q", names)
}

// Malformed tells the peer that it has sent what is not the protocol: each member, and whoever has not joined as member 0.
// The caller ends the connection.
func (s *Server) Malformed(c *Conn, text string) {
	if len(c.members) == 0 {
		c.refuse(0, wire.BadMessage, text)
	}
	for _, id := range s.Disconnect(c) {
		c.refuse(s.members[id].number, wire.BadMessage, text)
	}
}

// Answer tells the peers what follows from an event that the dispatcher has taken and that has been recorded: Welcome
// from Join, Start from Begin, Goodbye from Leave. It is not called if the run has failed with the event: then Evict and Farewell put
// the last packets. It returns the next event for the dispatcher, nil if there is none: Begin, when the last client has
// joined.
func (s *Server) Answer(ev metasim.Event) metasim.Event {
	switch ev := ev.(type) {
	case *metasim.Join:
		s.greet(&s.members[ev.Client])
		if s.joined++; s.Started() {
			return &metasim.Begin{}
		}
	case *metasim.Begin:
		for i := range s.members {
			s.members[i].put(wire.Start{Until: s.config.Until})
		}
	case *metasim.Leave:
		m := &s.members[ev.Client]
		m.put(wire.Goodbye{})
		m.over, m.done = true, true
	}
	return nil
}

// Deliver sends a delivery to its client, or keeps it for one that has still to be given what came before.
func (s *Server) Deliver(d *metasim.Deliver) {
	m := &s.members[d.To]
	switch {
	case m.again != nil:
		m.again.later().deliver(new(*d))
	case m.standing != nil:
		m.standing.deliver(d)
	default:
		s.deliver(m, d)
	}
}

// Authorize sends an authorization to its client, likewise.
func (s *Server) Authorize(e *metasim.Authorize) {
	m := &s.members[e.To]
	switch {
	case m.again != nil:
		m.again.later().authorize(e)
	case m.standing != nil:
		m.standing.granted = e.Until
	default:
		m.put(e)
	}
}

// Evict tells a client which rule it broke. It returns nil if the client never joined.
func (s *Server) Evict(e *metasim.Evict) *Refusal {
	return s.Refuse(e.Client, wire.RuleBroken, e.Err.Error())
}

// Refuse ends a client, and tells it why. It returns nil if the client never joined.
func (s *Server) Refuse(id metasim.ClientID, reason wire.Reason, text string) *Refusal {
	m := &s.members[id]
	if m.conn == nil {
		return nil
	}
	m.over = true
	return m.conn.refuse(m.number, reason, text)
}

// Disconnect takes the end of a connection. It returns the clients on it that have not left, in order: they are lost, and
// the caller says so with Lose. So of several that are lost with one connection the same one is always named first.
func (s *Server) Disconnect(c *Conn) []metasim.ClientID {
	var lost []metasim.ClientID
	for i := range s.members {
		if m := &s.members[i]; m.conn == c && !m.over {
			lost = append(lost, m.client)
		}
	}
	return lost
}

// Lose notes that a client is lost: it went away without leaving. It reports false when that changes nothing, as the
// client has left or is known to be lost.
func (s *Server) Lose(id metasim.ClientID) bool {
	m := &s.members[id]
	if m.over || m.lost {
		return false
	}
	m.lost, m.over = true, m.conn != nil
	return true
}

// Cut lets the run go on without a client that is lost. It returns the event for the dispatcher; clock is the client's last
// activity: see metasim.Status.
func (s *Server) Cut(id metasim.ClientID, clock metasim.Instant) *metasim.Leave {
	s.members[id].cut = true
	return &metasim.Leave{Client: id, Now: clock, Cut: true}
}

// Farewell tells the clients that have not left that the run is over, and why if it failed.
func (s *Server) Farewell(err error) {
	text := "the run is over"
	if err != nil {
		text = fmt.Sprintf("the run failed: %v", err)
	}
	for i := range s.members {
		s.members[i].put(wire.Refuse{Reason: wire.RunFailed, Text: text})
	}
}
