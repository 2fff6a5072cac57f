package session_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"metasim/internal/script"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// The stories of the server's end, and of both ends with a dispatcher between them. After a change:
// go test ./wire/session -run Ends -rewrite, then read the difference.
func TestEnds(t *testing.T) {
	script.Dir(t, "testdata/server/*.txt", func(t *testing.T) script.Handler { return (&ends{}).do })
}

// ends is a whole run in one goroutine: a dispatcher, the server's end, and the client's end of some clients.
//
// Every packet is printed: "x/1 > Leave" was sent by member 1 of connection x, "x/1 < Goodbye" to it. The commands:
//
//	new clients=a,b [until=T] [token=TEXT] [seed=N] [timed]
//	allow NAME [pub=X,Y] [sub=X,Y] [any] [token=TEXT]   before new: the channels that a client may use, any: expressions of
//	                                   any kind; and its own token
//	connect CONN...
//	hello CONN/N NAME [version=N] [token=TEXT] [pub=X,Y] [sub=X,Y] [reaction=T]
//	send CONN/N CHANNEL [at=T] [payload=TEXT]            raw: whatever a peer may send
//	advance CONN/N [now=T] [promise=T] [next=T] [ack=N]
//	wait CONN/N [want=T] [messages] and as advance       want: else infinity
//	promise CONN/N T
//	leave CONN/N [now=T] [ack=N]
//	failed CONN/N REASON
//	goodbye CONN/N                                       what only a server sends
//	settle                             what follows from all that stands above it
//	disconnect CONN                    the connection ends
//	cut NAME                           the run goes on without a client that is lost
//	exit NAME                          a process ended before its client joined
//	farewell [TEXT]                    the run is over; with TEXT, it failed
//	known                              what is known of each client
//
// Clients with an end of their own:
//
//	join NAME CONN/N [token=TEXT] [pub=X,Y] [sub=X,Y] [reaction=T]
//	publish NAME CHANNEL [TEXT]
//	step NAME T, next NAME T           begin to advance; settle ends it, once the answer is there
//	quit NAME                          leave
//	state NAME                         where it is, and why its session is over
type ends struct {
	server     *session.Server
	dispatcher *metasim.Dispatcher
	finished   error
	allowed    map[string]session.Permission
	tokens     map[string]string
	conns      map[string]*endConn
	clients    []*endClient
	out        strings.Builder
}

// An endConn is one connection.
type endConn struct {
	*ends
	name    string
	conn    *session.Conn
	names   session.Names
	clients map[uint32]*endClient
}

// An endClient is a client's end.
type endClient struct {
	*session.Client
	conn    *endConn
	out     session.Outbound
	in      session.Inbound
	waiting bool
}

var errRunIsOver = errors.New("the run is over")

func (e *ends) print(format string, args ...any) { fmt.Fprintf(&e.out, format+"\n", args...) }

func (e *ends) do(c *script.Command) (string, error) {
	e.out.Reset()
	err := e.command(c)
	return strings.TrimSuffix(e.out.String(), "\n"), err
}

func (e *ends) command(c *script.Command) error {
	switch c.Name {
	case "allow":
		return e.allow(c)
	case "new":
		return e.create(c)
	case "connect":
		for name, err := c.Word("a connection"); err == nil; name, err = c.Word("a connection") {
			x := &endConn{ends: e, name: name, clients: map[uint32]*endClient{}}
			x.conn = e.server.Connect(x)
			e.conns[name] = x
		}
		return nil
	case "settle":
		e.settle()
		return nil
	case "farewell":
		var err error
		if text, e := c.Word("a text"); e == nil {
			err = errors.New(strings.ReplaceAll(text, "_", " "))
		}
		e.server.Farewell(err)
		return nil
	case "known":
		for i, name := range e.dispatcher.Names() {
			e.print("%s %s", name, [...]string{"absent", "present", "left", "lost"}[e.server.Presence(metasim.ClientID(i))])
		}
		e.print("started %v, missing %v", e.server.Started(), e.server.Missing())
		return nil
	case "hello", "send", "advance", "wait", "promise", "leave", "failed", "goodbye":
		return e.raw(c)
	case "cut", "exit":
		return e.lose(c)
	case "disconnect":
		x, err := e.connection(c.Word("a connection"))
		if err != nil {
			return err
		}
		for _, id := range e.server.Disconnect(x.conn) {
			e.print("lost %s, news %v", e.dispatcher.Names()[id], e.server.Lose(id))
		}
		return nil
	}
	return e.client(c)
}

func (e *ends) create(c *script.Command) error {
	r := &reader{arguments: c}
	d, err := metasim.New(metasim.Config{Clients: c.List("clients"), Until: r.instant("until").Time})
	if err = errors.Join(err, r.err); err != nil {
		return err
	}
	e.dispatcher = d
	e.conns, e.clients, e.finished = map[string]*endConn{}, nil, nil
	e.server, err = session.NewServer(session.ServerConfig{
		Scenario: "story", Seed: r.number("seed"), Token: r.text("token"), Timed: c.Flag("timed"), Names: e.dispatcher.Names(), Until: e.dispatcher.End(),
		Permissions: e.allowed, Tokens: e.tokens,
	})
	return err
}

// raw sends what a peer says, right or wrong.
func (e *ends) raw(c *script.Command) error {
	x, member, err := e.member(c)
	if err != nil {
		return err
	}
	body, err := rawBody(c)
	if err != nil {
		return err
	}
	x.receive(wire.Packet{Member: member, Body: body})
	return nil
}

// lose tells the server's end that a client is lost.
func (e *ends) lose(c *script.Command) error {
	name, err := c.Word("a client")
	for i, n := range e.dispatcher.Names() {
		id := metasim.ClientID(i)
		switch {
		case n != name:
		case c.Name == "exit":
			e.print("lost %s, news %v", name, e.server.Lose(id))
		default:
			e.step(e.server.Cut(id, e.dispatcher.Status(id).Clock))
		}
	}
	return err
}

// client does a command of a client with an end of its own.
func (e *ends) client(c *script.Command) error {
	name, err := c.Word("a client")
	if err != nil {
		return err
	}
	if c.Name == "join" {
		return e.join(c, name)
	}
	for _, cl := range e.clients {
		if cl.Name() == name {
			return cl.do(c)
		}
	}
	return fmt.Errorf("nobody called %q has joined", name)
}

func (e *ends) join(c *script.Command, name string) error {
	x, member, err := e.member(c)
	r := &reader{arguments: c}
	reaction, token := r.instant("reaction"), r.text("token")
	if err := errors.Join(err, r.err); err != nil {
		return err
	}
	d := session.Declaration{}
	for _, channel := range c.List("pub") {
		err = errors.Join(err, d.Publish(channel))
	}
	for _, pattern := range c.List("sub") {
		err = errors.Join(err, d.Subscribe(pattern))
	}
	cl := &endClient{conn: x, out: session.Outbound{Member: member}}
	if err = errors.Join(err, d.React(reaction.Time)); err == nil {
		cl.Client, err = d.Join(name, token, &cl.out)
	}
	if err != nil {
		return err
	}
	x.clients[member] = cl
	e.clients = append(e.clients, cl)
	cl.write()
	return nil
}

// do does a command of a client.
func (cl *endClient) do(c *script.Command) error {
	switch c.Name {
	case "publish":
		channel, err := c.Word("a channel")
		payload, _ := c.Word("a payload")
		if err == nil {
			cl.say(cl.Publish(channel, []byte(payload)))
		}
		return err
	case "quit":
		cl.say(cl.Leave())
		cl.write()
		return nil
	case "state":
		cl.conn.print("%s is at %v: %v", cl.Name(), cl.Now(), cl.Err())
		return nil
	case "step", "next":
		text, err := c.Word("an instant")
		if err != nil {
			return err
		}
		t, err := readInstant(text)
		if err != nil {
			return err
		}
		begin := cl.BeginStep
		if c.Name == "next" {
			begin = cl.BeginNext
		}
		if err := begin(t.Time); err != nil {
			cl.say(err)
			return nil
		}
		cl.advance()
		return nil
	}
	return fmt.Errorf("no such command")
}

// say prints an error.
func (cl *endClient) say(err error) {
	if err != nil {
		cl.conn.print("%s: %v", cl.Name(), err)
	}
}

// advance goes on, or waits.
func (cl *endClient) advance() {
	if cl.Authorized() {
		cl.GoOn(session.Work{})
		cl.arrive()
		return
	}
	cl.Wait(session.Work{})
	cl.waiting = true
	cl.write()
}

// arrive prints where the client is, and what it sees there.
func (cl *endClient) arrive() {
	cl.waiting = false
	messages, err := cl.Arrive()
	cl.conn.print("%s is at %v", cl.Name(), cl.Now())
	for _, m := range messages {
		cl.conn.print("  %s %q from %s, sent %v, due %v", m.Channel, m.Payload, m.From, m.Sent, m.Due)
	}
	cl.say(err)
}

// write sends what the client has to say.
func (cl *endClient) write() {
	for _, p := range cl.out.Packets() {
		cl.conn.receive(p)
	}
	cl.out.Written()
}

// receive takes a packet of a connection to the server's end, and what follows from it to the dispatcher.
func (x *endConn) receive(p wire.Packet) {
	x.print("%s/%d > %s", x.name, p.Member, describe(p))
	if x.finished != nil {
		return
	}
	ev, refusal := x.server.Receive(x.conn, p.Keep())
	if refusal != nil && refusal.Lost {
		x.print("lost %s, news %v: %s", x.dispatcher.Names()[refusal.Client], x.server.Lose(refusal.Client), refusal.Cause)
	}
	for ev != nil {
		x.step(ev)
		if x.finished != nil && !errors.Is(x.finished, errRunIsOver) {
			return
		}
		ev = x.server.Answer(ev)
	}
}

func (e *ends) step(ev metasim.Event) { e.carryOut(e.dispatcher.Step(ev)) }

func (e *ends) carryOut(effects []metasim.Effect) {
	for _, effect := range effects {
		switch effect := effect.(type) {
		case *metasim.Deliver:
			e.server.Deliver(effect)
		case *metasim.Authorize:
			e.server.Authorize(effect)
		case *metasim.Evict:
			e.server.Evict(effect)
		case *metasim.Finish:
			e.finished = errRunIsOver
			if effect.Err != nil {
				e.finished = effect.Err
			}
			e.print("finish: %v", effect.Err)
		}
	}
}

// settle lets the dispatcher authorize, and clients that are answered go on.
func (e *ends) settle() {
	e.carryOut(e.dispatcher.Settle())
	for _, cl := range e.clients {
		if cl.waiting && cl.Answered() {
			cl.arrive()
		}
	}
}

// Put prints a packet, and gives it to the client's end, if there is one.
func (x *endConn) Put(p wire.Packet) {
	if _, ok := p.Body.(wire.Introduce); ok {
		x.print("%s < %s", x.name, describe(p))
		_ = (&session.Inbound{}).Add([]wire.Packet{p}, &x.names)
		return
	}
	x.print("%s/%d < %s", x.name, p.Member, describe(p))
	if cl := x.clients[p.Member]; cl != nil {
		cl.say(cl.in.Add([]wire.Packet{p}, &x.names))
		if err := cl.Receive(&cl.in); err != nil {
			cl.say(err)
		}
		cl.in.Clear()
	}
}

// connection returns the connection of this name.
func (e *ends) connection(name string, err error) (*endConn, error) {
	if x := e.conns[name]; x != nil || err != nil {
		return x, err
	}
	return nil, fmt.Errorf("no connection is called %q", name)
}

// member takes CONN/N.
func (e *ends) member(c *script.Command) (*endConn, uint32, error) {
	text, err := c.Word("CONN/N")
	name, number, _ := strings.Cut(text, "/")
	x, err := e.connection(name, err)
	n, err2 := strconv.ParseUint(number, 10, 32)
	return x, uint32(n), errors.Join(err, err2)
}
