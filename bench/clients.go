package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"metasim/client"
	"metasim/metasim"
	"metasim/wire"
)

// pack makes participants ready for another process.
func pack(clients []participant) ([]packedClient, error) {
	var all []packedClient
	for _, p := range clients {
		spec, err := json.Marshal(p.simulator)
		if err != nil {
			return nil, err
		}
		all = append(all, packedClient{Name: p.name, Kind: fmt.Sprintf("%T", p.simulator), Simulator: spec})
	}
	return all, nil
}

// unpack is the inverse of pack. kinds makes one simulator of each kind that there is.
func unpack(all []packedClient, kinds func() []simulator) ([]participant, error) {
	var clients []participant
	for _, p := range all {
		i := len(clients)
		for _, s := range kinds() {
			if fmt.Sprintf("%T", s) == p.Kind {
				if err := json.Unmarshal(p.Simulator, s); err != nil {
					return nil, err
				}
				clients = append(clients, participant{p.Name, s})
			}
		}
		if len(clients) == i {
			return nil, fmt.Errorf("there is no simulator %q; add it to simulators", p.Kind)
		}
	}
	return clients, nil
}

// A connector connects clients to a server.
type connector struct {
	dial      func(context.Context) (wire.Conn, error)
	token     string
	packed    bool              // all clients share one connection
	scheduler *client.Scheduler // runs the clients; nil: each has a goroutine
}

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
	if d.scheduler == nil {
		return concurrently(len(clients), func(i int) error {
			joined, err := join()
			if err != nil {
				return fmt.Errorf("%s: %w", clients[i].name, err)
			}
			return clients[i].run(ctx, joined, client.WithToken(d.token))
		})
	}
	errs := make([]error, len(clients))
	for i, p := range clients {
		joined, err := join()
		if err != nil {
			errs[i] = fmt.Errorf("%s: %w", p.name, err)
			continue
		}
		d.scheduler.Go(func(scheduled client.Option) {
			errs[i] = p.run(ctx, joined, client.WithToken(d.token), scheduled)
		})
	}
	d.scheduler.Wait()
	return errors.Join(errs...)
}

// run runs one client from joining to leaving.
func (p participant) run(ctx context.Context, opts ...client.Option) error {
	b := client.NewBuilder(p.name)
	if err := p.simulator.declare(b); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	c, err := b.Complete(ctx, opts...)
	if err != nil {
		return err
	}
	if err := p.simulator.run(ctx, c); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", p.name, err), c.Close())
	}
	return c.Leave(ctx)
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
