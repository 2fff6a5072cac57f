package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/shm"
	"metasim/wire/transport/stream"
)

// NewBuilder begins a client called name. In a process that a scenario started, METASIM_CLIENT decides the name.
func NewBuilder(name string) *Builder { return &Builder{name: name} }

// Publication declares a channel that the client sends on. Declaring one twice gives the same.
func (b *Builder) Publication(channel string) *Publication {
	for _, p := range b.pubs {
		if p.channel == channel {
			return p
		}
	}
	p := &Publication{channel: channel, err: named(b.name, b.declared.Publish(channel))}
	if p.err == nil {
		b.pubs = append(b.pubs, p)
	}
	return p
}

// Publishes reports whether a channel was given to Publication.
func (b *Builder) Publishes(channel string) bool {
	return slices.ContainsFunc(b.pubs, func(p *Publication) bool { return p.channel == channel })
}

// Subscribe declares interest in a channel: its name, or a regular expression that matches the whole name, as in LCM.
// Run calls handler for each message, at its instant. A nil handler is for a client that uses Step or Next; a message then
// still wakes Run. If several subscriptions match a message, the handlers are called in the order of declaration.
func (b *Builder) Subscribe(pattern string, handler func(Message) error) error {
	if err := b.declared.Subscribe(pattern); err != nil {
		return named(b.name, err)
	}
	b.subscriptions = append(b.subscriptions, subscription{handle: handler})
	return nil
}

// Input declares interest in a channel, as Subscribe does, for messages that in is given: by Step and Next before they return, by Await,
// and by Run before its handlers. Step and Next do not return them, unless a subscription of Subscribe matches them too. Package
// metasim/client/typed has inputs that keep the latest value, or a queue of values.
func (b *Builder) Input(pattern string, in Input) error {
	if err := b.declared.Subscribe(pattern); err != nil {
		return named(b.name, err)
	}
	b.subscriptions = append(b.subscriptions, subscription{input: in})
	b.inputs = append(b.inputs, in)
	return nil
}

// Reaction declares the least time from a delivery to a send that it causes. Other clients then wait less for this one. A
// publish that is sooner is refused. The default, 0, allows an answer at the instant of the message.
func (b *Builder) Reaction(d time.Duration) error {
	return named(b.name, b.declared.React(metasim.Time(d)))
}

// SendsOnlyEvery promises that the client sends only at times that are multiples of the period: it may hear between them, and act, but
// publishes nothing. Other clients wait for it at these times alone. A publish between them is refused, and so is one at a later step of
// such a time, when the client has gone on from the first one at which it acted.
func (b *Builder) SendsOnlyEvery(period time.Duration) error {
	return named(b.name, b.declared.SendOnlyEvery(metasim.Time(period)))
}

// Checkpoints lets the client be started again at its last checkpoint, where the scenario asks for checkpoints: Save is called at the first
// instant after each period, by Step, Next or Run, when the client has done all that it does there. Restore is called by Complete, and then the
// client is where it was: it calls Step or Next as it did next, or sets its timers again as before its first Run, and calls Run. Run moves them to
// where they stood. While a timer is set that was set in Run, or any timer outside of it, no checkpoint is made. Nor is one while
// messages of an Await wait for the next Step: the log says so.
func (b *Builder) Checkpoints(s Saver) error {
	if err := b.declared.Save(); err != nil {
		return named(b.name, err)
	}
	b.saver = s
	return nil
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

// WithHost takes part over a connection that other clients of this process share. It stays open when the client leaves, and
// when it fails: the others go on, if the run does. The environment is not looked at, so the token must be given.
func WithHost(h *Host) Option { return func(o *options) { o.host = h } }

// WithTransports reaches the server with these transports. Default: unix, tcp and shm. QUIC is not in the default,
// because it adds 3.4 MB to a small program, nor is TLS: client.WithTransports(all.Table()), of metasim/wire/transport/all.
func WithTransports(table transport.Table) Option { return func(o *options) { o.transports = table } }

// WithLogger tells this log when the client looks for its server, joins, begins, makes no checkpoint, leaves or fails. Default: nothing is told. No
// line says how far the client was authorized.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithStartTimeout lets the client be started before its server: while nobody listens there, it tries again, for at most this long in real
// time. Default: it tries once.
func WithStartTimeout(d time.Duration) Option { return func(o *options) { o.patience = d } }

// Complete joins the run, and returns once every client of the scenario has joined. The client is then at the start
// instant. A *wire.RefusedError tells why the server did not let it in.
func (b *Builder) Complete(ctx context.Context, opts ...Option) (*Client, error) {
	o := gather(opts)
	o.name = cmp.Or(o.name, b.name)
	c, err := b.complete(ctx, o)
	if err != nil {
		o.log.Warn("not joined", "client", o.name, "why", err)
	}
	return c, named(o.name, err)
}

func (b *Builder) complete(ctx context.Context, o options) (*Client, error) {
	if err := b.declared.Check(o.name, o.token); err != nil {
		if o.conn != nil {
			err = errors.Join(err, o.conn.Close())
		}
		return nil, err
	}
	own := o.host == nil
	if own {
		conn, err := connect(ctx, o)
		if err != nil {
			return nil, err
		}
		o.host = newOwnHost(conn, o.task)
	}
	o.host = o.host.latest()
	return b.join(ctx, o, own)
}

// join says Hello and waits for the start.
func (b *Builder) join(ctx context.Context, o options, own bool) (*Client, error) {
	c := &Client{own: own, alone: own && o.alone, subscriptions: b.subscriptions, inputs: b.inputs, saver: b.saver, log: o.log, routes: map[string]route{}}
	switch {
	case own && o.conn == nil:
		again := o
		again.patience = 0 // the client itself tries again
		c.dial = func(ctx context.Context) (*Host, error) {
			conn, err := connect(ctx, again)
			if err != nil {
				return nil, err
			}
			return newOwnHost(conn, o.task), nil
		}
	case o.host.lineage != nil:
		c.dial = func(ctx context.Context) (*Host, error) { return c.out.host.successor(ctx) }
	}
	if c.dial != nil {
		c.patience = o.patience
		if err := b.declared.Survive(); err != nil {
			if own {
				err = errors.Join(err, o.host.Close())
			}
			return nil, err
		}
	}
	c.out.host, c.out.task = o.host, o.task
	c.out.queue.Member, c.in = o.host.join(o.task)
	c.out.queue.Encoded = o.host.encodes()
	var err error
	if c.rules, err = b.declared.Join(o.name, o.token, &c.out.queue); err != nil {
		o.host.leave(c.out.queue.Member)
		if own {
			err = errors.Join(err, o.host.Close())
		}
		return nil, err
	}
	c.log.Info("joining", "client", o.name, "server", o.host.conn.Peer())
	for err = c.flush(); err == nil && !c.rules.Started(); {
		err = c.receive(ctx)
	}
	if err == nil {
		err = c.restore()
	}
	if errors.Is(err, ErrInterrupted) {
		c.rules.Cancel(err)
	}
	if err != nil {
		return nil, errors.Join(err, c.detach())
	}
	if told := c.rules.Told(); told.Timed {
		c.watch.start(c.alone, told.CoreWait)
	}
	for _, p := range b.pubs {
		p.client = c
	}
	c.log.Info("joined", "client", o.name, "scenario", c.rules.Told().Scenario, "at", c.Now().String())
	return c, nil
}

// Connect connects a Host to the server. The options say where it is, as those of Complete do.
func Connect(ctx context.Context, opts ...Option) (*Host, error) {
	o := gather(opts)
	conn, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	h := newHost(conn)
	if o.conn == nil {
		o.patience = 0 // its clients try again
		h.lineage = &lineage{last: h, dial: func(ctx context.Context) (wire.Conn, error) { return connect(ctx, o) }}
	}
	return h, nil
}

func connect(ctx context.Context, o options) (wire.Conn, error) {
	if o.conn != nil {
		return o.conn, nil
	}
	if o.url == "" {
		return nil, errNoServer
	}
	table := o.transports
	if table == nil {
		table = transport.Table{stream.Unix(), stream.TCP(), shm.Transport()}
	}
	conn, err := dial(ctx, table, o)
	if errors.As(err, new(*transport.UnknownError)) && o.transports == nil {
		err = fmt.Errorf(`%w; for tls:// and quic:// give Complete or Connect client.WithTransports(all.Table()) of "metasim/wire/transport/all"`, err)
	}
	return conn, err
}

var errNoServer = errors.New("no server; set METASIM_SERVER, or use WithServer")

// gather applies options; the environment says what they leave open, unless they give a connection.
func gather(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	if o.conn == nil && o.host == nil {
		o.url = cmp.Or(o.url, os.Getenv("METASIM_SERVER"))
		o.token = cmp.Or(o.token, os.Getenv("METASIM_TOKEN"))
		given := os.Getenv("METASIM_CLIENT")
		o.alone = given != "" && cmp.Or(o.name, given) == given && o.task == nil
		o.name = cmp.Or(o.name, given)
	}
	return o
}
