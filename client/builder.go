package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport"
)

// A Builder gathers what a client declares before it joins.
type Builder struct {
	name     string
	pubs     []*Publication
	subs     []subscription
	reaction metasim.Time
	complete bool
	err      error // the first mistake; Complete returns it
}

type subscription struct {
	pattern string
	handler func(Message)
}

// NewBuilder begins a client called name. In a process that a scenario started, METASIM_CLIENT decides the name.
func NewBuilder(name string) *Builder { return &Builder{name: name} }

// ErrComplete is returned for a channel that is added to a client which has joined: others rely on what it declared.
var ErrComplete = errors.New("client: channels are fixed once the client has joined; declare them before Complete")

// Publication declares a channel that the client sends on. Declaring one twice gives the same.
func (b *Builder) Publication(channel string) *Publication {
	for _, p := range b.pubs {
		if p.channel == channel {
			return p
		}
	}
	p := &Publication{channel: channel}
	if b.complete {
		p.err = ErrComplete
		return p
	}
	if channel == "" {
		b.fail(errors.New("client: a publication needs a channel name"))
	}
	b.pubs = append(b.pubs, p)
	return p
}

// Subscribe declares interest in a channel: its name, or a regular expression that matches the whole name, as in LCM.
// Run calls handler for each message, at its instant; a nil handler is for those who use Step or Next, and still lets a
// message wake Run. Of several subscriptions that match a message each is served, in the order of declaration.
func (b *Builder) Subscribe(pattern string, handler func(Message)) error {
	if b.complete {
		return ErrComplete
	}
	if err := metasim.CheckSubscription(pattern); err != nil {
		err = fmt.Errorf("client: subscription %q is neither a channel name nor a regular expression: %w", pattern, err)
		b.fail(err)
		return err
	}
	b.subs = append(b.subs, subscription{pattern, handler})
	return nil
}

// Reaction declares the least time from a delivery to a send that it causes, to the benefit of those who would wait for
// it. A publish that is sooner is refused. The default, 0, allows an answer at the instant of the message.
func (b *Builder) Reaction(d time.Duration) error {
	if b.complete {
		return ErrComplete
	}
	if d < 0 {
		err := fmt.Errorf("client: the reaction time is %v; use a positive duration, or 0", d)
		b.fail(err)
		return err
	}
	b.reaction = metasim.Time(d)
	return nil
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// An Option says how a client reaches its server where the environment does not, or should not.
type Option func(*options)

type options struct {
	url, token, name string
	alone            bool // the process was started to be this client
	conn             wire.Conn
	transports       transport.Table // nil: the default
	host             *Host
	seat             *seat
}

// WithServer connects to this server: "unix:///path", "shm:///path", "tcp://host:port", or that of a transport given
// by WithTransports. Default: METASIM_SERVER.
func WithServer(url string) Option { return func(o *options) { o.url = url } }

// WithToken shows this join token. Default: METASIM_TOKEN.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithName joins under this name. Default: METASIM_CLIENT, then the Builder's.
func WithName(name string) Option { return func(o *options) { o.name = name } }

// WithConn takes part over this connection, which the client owns from now on. The environment is not looked at.
func WithConn(conn wire.Conn) Option { return func(o *options) { o.conn = conn } }

// WithHost takes part over a connection that other clients of this process share. It stays open when the client leaves;
// if the client fails, it drops the connection, and with it the others. The environment is not looked at, so the token
// must be given.
func WithHost(h *Host) Option { return func(o *options) { o.host = h } }

// Complete joins the run, and returns once every client of the scenario has joined. The client is then at the start
// instant. A *wire.RefusedError tells why the server did not let it in.
func (b *Builder) Complete(ctx context.Context, opts ...Option) (*Client, error) {
	o := gather(opts)
	o.name = cmp.Or(o.name, b.name)
	if err := b.check(o); err != nil {
		if o.conn != nil {
			err = errors.Join(err, o.conn.Close())
		}
		return nil, err
	}
	own := o.host == nil
	if own {
		conn, err := connect(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("client %s: %w", o.name, err)
		}
		o.host = newOwn(conn, o.seat)
	}
	b.complete = true
	return b.join(ctx, o, own)
}

// check names the first thing that keeps the client from joining.
func (b *Builder) check(o options) error {
	switch {
	case b.complete:
		return ErrComplete
	case b.err != nil:
		return b.err
	case o.name == "":
		return errors.New("client: no name; give NewBuilder one, or set METASIM_CLIENT")
	case o.conn == nil && o.host == nil && o.url == "":
		return errors.New("client: no server; set METASIM_SERVER, or use WithServer")
	}
	return nil
}

// gather applies options; the environment says what they leave open, unless they give a connection.
func gather(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.conn == nil && o.host == nil {
		o.url = cmp.Or(o.url, os.Getenv("METASIM_SERVER"))
		o.token = cmp.Or(o.token, os.Getenv("METASIM_TOKEN"))
		named := os.Getenv("METASIM_CLIENT")
		o.alone = named != "" && cmp.Or(o.name, named) == named && o.seat == nil
		o.name = cmp.Or(o.name, named)
	}
	return o
}

// join says Hello and waits for the start.
func (b *Builder) join(ctx context.Context, o options, own bool) (*Client, error) {
	c := &Client{
		name: o.name, host: o.host, own: own, alone: own && o.alone, subs: b.subs, reaction: b.reaction, handlers: map[string][]func(Message){},
	}
	c.number, c.mail = o.host.join(o.seat)
	c.out.host, c.out.number, c.out.seat = o.host, c.number, o.seat
	hello := wire.Hello{Version: wire.Version, Name: o.name, Token: o.token, Reaction: b.reaction}
	for _, p := range b.pubs {
		hello.Publications = append(hello.Publications, p.channel)
	}
	for _, s := range b.subs {
		hello.Subscriptions = append(hello.Subscriptions, s.pattern)
	}
	if err := wire.Check(wire.Packet{Body: hello}); err != nil {
		return nil, errors.Join(fmt.Errorf("client %s: %w", o.name, err), c.Close())
	}
	c.out.add(hello)
	if err := c.flush(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	for !c.started {
		if err := c.receive(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	for _, p := range b.pubs {
		p.client = c
	}
	return c, nil
}
