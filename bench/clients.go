package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"metasim/client"
	"metasim/federates"
	"metasim/metasim"
	"metasim/wire"
)

// A connector connects clients to a server.
type connector struct {
	dial      func(context.Context) (wire.Conn, error)
	packed    bool              // all clients share one connection
	scheduler *client.Scheduler // runs the clients; nil: each has a goroutine
}

// token is what clients show when they join, as in a real run.
const token = "bench"

// run runs all clients, and returns when all have left.
func (d connector) run(ctx context.Context, clients []participant) error {
	join := func() (client.Option, error) {
		conn, err := d.dial(ctx)
		return client.WithConn(conn), err
	}
	if d.packed && len(clients) > 0 {
		conn, err := d.dial(ctx)
		if err != nil {
			return err
		}
		host, err := client.Connect(ctx, client.WithConn(conn))
		if err != nil {
			return errors.Join(err, conn.Close())
		}
		defer func() { _ = host.Close() }() // all have left, or their errors say more
		join = func() (client.Option, error) { return client.WithHost(host), nil }
	}
	takePart := func(p participant, opts ...client.Option) error {
		joined, err := join()
		if err == nil {
			err = federates.TakePart(ctx, p.simulator, p.name, append(opts, joined, client.WithToken(token))...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		return nil
	}
	if d.scheduler == nil {
		return concurrently(len(clients), func(i int) error { return takePart(clients[i]) })
	}
	errs := make([]error, len(clients))
	for i, p := range clients {
		d.scheduler.Go(func(scheduled client.Option) { errs[i] = takePart(p, scheduled) })
	}
	d.scheduler.Wait()
	return errors.Join(errs...)
}

// concurrently calls f n times at once, and returns when all calls have.
func concurrently(n int, f func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// ports are the channels of a simulator that publishes on one and subscribes to one.
type ports struct {
	Out, In string
	out     *client.Publication
}

func (p *ports) Declare(b *client.Builder) error {
	p.out = b.Publication(p.Out)
	return b.Subscribe(p.In, nil)
}

// each calls f for every message until a time, or until none can come any more.
func each(ctx context.Context, c *client.Client, until metasim.Time, f func(client.Message) error) error {
	for c.Now().Time < until {
		messages, err := c.Next(ctx, until)
		for _, m := range messages {
			if err := f(m); err != nil {
				return err
			}
		}
		if errors.Is(err, client.ErrEnd) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A relay passes on what comes.
type relay struct {
	ports
	Begin int          // bytes of a message that it publishes first; 0: none
	Until metasim.Time // from then on it passes nothing on, and leaves; 0: when nothing can come any more
	Mute  bool         // it passes nothing on
}

func (r *relay) Run(ctx context.Context, c *client.Client) error {
	if r.Begin > 0 {
		if err := r.out.PublishOwned(make([]byte, r.Begin)); err != nil {
			return err
		}
	}
	until := cmp.Or(r.Until, metasim.Forever)
	return each(ctx, c, until, func(m client.Message) error {
		if r.Mute || c.Now().Time >= until {
			return nil
		}
		return r.out.PublishOwned(m.Payload)
	})
}
