package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"metasim/metasim"
	"metasim/scenarios"
	"metasim/wire"
	"metasim/wire/transport/all"
)

// A farRun is the outer run, as the process of a nested run reaches it. See apart.go.
type farRun struct {
	clients []string // in order
	post    *courier
	cancel  context.CancelCauseFunc
}

func (r *farRun) names() []string { return r.clients }
func (*farRun) token() string     { return "" } // the outer run puts it in
func (r *farRun) fail(err error)  { r.cancel(err) }

func (r *farRun) round(f func(say func(wire.Packet))) {
	var said []wire.Packet
	f(func(p wire.Packet) { said = append(said, p) })
	r.post.put(said...)
}

// CellOptions say which nested run this process is to carry out, and where the outer run is: see Options.Apart.
type CellOptions struct {
	Name, Server, Token string
	Self                []string // as Options.Self
	Log                 *slog.Logger
}

// Cell carries out a nested run in this process. The outer run has started the process, and gets what came of it.
func Cell(ctx context.Context, o CellOptions) error {
	conn, err := all.Table().DialAs(ctx, o.Server, o.Token)
	if err != nil {
		return err
	}
	post := newCourier()
	post.put(wire.Packet{Member: wholeRun, Body: wire.Hello{Version: wire.Version, Minor: wire.Minor, Name: o.Name, Token: o.Token}})
	var writing sync.WaitGroup
	writing.Go(func() { post.deliver(conn) })
	defer writing.Wait()
	defer post.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patient := context.AfterFunc(ctx, post.close)
	packets, err := conn.Read()
	patient()
	if err != nil {
		return cmp.Or(context.Cause(ctx), fmt.Errorf("the outer run does not answer: %w", err))
	}
	c, run, err := newCellProcess(o, packets[0], post, cancel)
	if err != nil {
		return err
	}
	return c.carryOut(ctx, conn, packets[1:], run)
}

// A cellProcess is a nested run in this process, whose outer run is in another one.
type cellProcess struct {
	*cell
	post   *courier
	cancel context.CancelCauseFunc
	left   int // members of the gateway that the outer run has said goodbye to
}

// newCellProcess makes the nested run of a setup.
func newCellProcess(o CellOptions, setup wire.Packet, post *courier, cancel context.CancelCauseFunc) (*cellProcess, *Options, error) {
	told, is := setup.Body.(*metasim.Send)
	var s cellSetup
	if !is {
		return nil, nil, fmt.Errorf("the outer run says %s where it says what to do; use metasim of its version on this host", wire.NameOf(setup.Body))
	}
	if err := json.Unmarshal(told.Payload, &s); err != nil {
		return nil, nil, fmt.Errorf("what the outer run says is not understood: %w; use metasim of its version on this host", err)
	}
	sc, err := scenarios.Restore(s.Resolved, s.Dir)
	if err != nil {
		return nil, nil, err
	}
	sc.Memory, sc.Cascade, sc.PeerTimeout = s.Memory, s.Cascade, s.PeerTimeout
	for i := range sc.Clients {
		sc.Clients[i].Ahead = s.AheadOf[sc.Clients[i].Name]
	}
	n := newNest(len(sc.Clients))
	n.tell = func(name string, ev *metasim.Join) { post.put(declaration(name, ev)) }
	c := newCell(n, sc, o.Name)
	c.around = &farRun{s.Around, post, cancel}
	options := &Options{
		Out: s.Out, Transport: s.Transport, Inside: s.Inside, Pack: s.Pack, Patience: s.Patience, Env: s.Env, Command: s.Command, Self: o.Self, Log: o.Log,
		AllowOutside: s.AllowOutside, NoTrace: s.NoTrace, NoJournal: s.NoJournal, Durable: s.Durable, KeepEnv: s.KeepEnv,
	}
	return &cellProcess{cell: c, post: post, cancel: cancel}, options, options.Validate()
}

// carryOut carries the nested run out, and says in the end what came of it.
func (c *cellProcess) carryOut(ctx context.Context, conn wire.Conn, first []wire.Packet, o *Options) error {
	if err := c.prepare(ctx, o); err != nil {
		return errors.Join(err, c.say(noResult(sortedNames(&c.scenario), err)))
	}
	defer context.AfterFunc(ctx, c.end)()
	go c.read(conn, first)
	var passing sync.WaitGroup
	passing.Go(func() { c.pass(ctx) })
	result := c.result(c.runner.carryOut(ctx))
	err := c.say(result)
	if result.Error != "" {
		c.cancel(errors.New(result.Error))
	}
	passing.Wait() // what its clients have sent may still wait for the outer run
	if result.Error != "" {
		err = errors.Join(errors.New(result.Error), err)
	}
	return err
}

// say tells the outer run what came of the nested one.
func (c *cellProcess) say(r *cellResult) error {
	text, err := json.Marshal(r)
	if err == nil {
		c.post.put(wire.Packet{Member: wholeRun, Body: &metasim.Send{Channel: "result", Payload: text}})
	}
	return err
}

// read takes what the outer run says, until the connection ends.
func (c *cellProcess) read(conn wire.Conn, packets []wire.Packet) {
	for {
		c.take(packets)
		var err error
		if packets, err = conn.Read(); err != nil {
			c.cancel(fmt.Errorf("the outer run is gone: %w", err))
			return
		}
	}
}

// take takes packets of the outer run.
func (c *cellProcess) take(packets []wire.Packet) {
	var heard []any
	for _, p := range packets {
		switch body := p.Body.(type) {
		case wire.Hello:
			c.joined(body.Name, &metasim.Join{Publications: body.Publications, Subscriptions: body.Subscriptions})
		case *metasim.Deliver:
			d := *body
			d.To = metasim.ClientID(p.Member)
			heard = append(heard, &d)
		case *metasim.Authorize:
			if p.Member == wholeRun {
				heard = append(heard, &metasim.Permit{Until: body.Until})
				continue
			}
			heard = append(heard, &metasim.Authorize{To: metasim.ClientID(p.Member), Until: body.Until})
		case wire.Start:
			c.told([]wire.Packet{p})
		case wire.Goodbye:
			if c.left++; c.left == 1+len(c.scenario.Clients) {
				defer c.end()
			}
		case wire.Refuse:
			c.cancel(errors.New(body.Text))
		}
	}
	c.hear(heard...)
}
