package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"metasim/client"
	"metasim/wire"
)

// A player is a client of a workload: a plain struct, so that it can be handed to another process as JSON. It may be
// used once.
type player interface {
	declare(b *client.Builder) error
	// play takes part; what it returns without error has left, or leaves now.
	play(ctx context.Context, c *client.Client) error
}

// A part is a player with the name that it joins under.
type part struct {
	name   string
	player player
}

// players are all kinds that can be handed to another process.
func players() []player {
	return []player{
		&stepper{}, &pinger{}, &model{}, &leaf{}, &echoHub{}, &ringMember{}, &exchanger{}, &process{}, &forwarder{},
		&chainLink{}, &source{}, &sink{},
	}
}

// A portable is a part on its way to another process.
type portable struct {
	Name   string
	Kind   string
	Player json.RawMessage
}

func pack(parts []part) ([]portable, error) {
	var all []portable
	for _, p := range parts {
		spec, err := json.Marshal(p.player)
		if err != nil {
			return nil, err
		}
		all = append(all, portable{Name: p.name, Kind: fmt.Sprintf("%T", p.player), Player: spec})
	}
	return all, nil
}

func unpack(all []portable) ([]part, error) {
	var parts []part
	for _, p := range all {
		i := len(parts)
		for _, known := range players() {
			if fmt.Sprintf("%T", known) == p.Kind {
				if err := json.Unmarshal(p.Player, known); err != nil {
					return nil, err
				}
				parts = append(parts, part{p.Name, known})
			}
		}
		if len(parts) == i {
			return nil, fmt.Errorf("there is no player %q; add it to players", p.Kind)
		}
	}
	return parts, nil
}

// A door lets clients in.
type door struct {
	dial   func(context.Context) (wire.Conn, error)
	token  string
	packed bool              // all clients share one connection
	crew   *client.Scheduler // carries out the clients; nil: each has a goroutine
}

// perform plays parts, each a client, and returns when all have left.
func (d door) perform(ctx context.Context, parts []part) error {
	join := func() ([]client.Option, error) {
		conn, err := d.dial(ctx)
		return []client.Option{client.WithConn(conn)}, err
	}
	if d.packed && len(parts) > 0 {
		conn, err := d.dial(ctx)
		if err != nil {
			return err
		}
		host, err := client.Connect(ctx, client.WithConn(conn))
		if err != nil {
			return errors.Join(err, conn.Close())
		}
		defer func() { _ = host.Close() }() // all have left, or their errors say more
		join = func() ([]client.Option, error) { return []client.Option{client.WithHost(host)}, nil }
	}
	if d.crew == nil {
		return concurrently(len(parts), func(i int) error {
			opts, err := join()
			if err != nil {
				return fmt.Errorf("%s: %w", parts[i].name, err)
			}
			return parts[i].perform(ctx, append(opts, client.WithToken(d.token)))
		})
	}
	errs := make([]error, len(parts))
	for i, p := range parts {
		opts, err := join()
		if err != nil {
			errs[i] = fmt.Errorf("%s: %w", p.name, err)
			continue
		}
		d.crew.Go(func(aboard client.Option) {
			errs[i] = p.perform(ctx, append(opts, client.WithToken(d.token), aboard))
		})
	}
	d.crew.Wait()
	return errors.Join(errs...)
}

// concurrently calls f n times at once, and returns when all have.
func concurrently(n int, f func(i int) error) error {
	var (
		all  sync.WaitGroup
		errs = make([]error, n)
	)
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (p part) perform(ctx context.Context, opts []client.Option) error {
	b := client.NewBuilder(p.name)
	if err := p.player.declare(b); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	c, err := b.Complete(ctx, opts...)
	if err != nil {
		return err
	}
	if err := p.player.play(ctx, c); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", p.name, err), c.Close())
	}
	return c.Leave(ctx)
}
