// Package loop holds what most built-in models do alike: declare one channel in and one out, receive until no message can
// come any more, and leave with a result. Package federates and its subfolders use it.
package loop

import (
	"context"
	"errors"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// ErrDone is what a function returns to end the loop that calls it, when the client has done its work.
var ErrDone = errors.New("the client has done its work")

// Receive calls each for every message, at the instant of the message and in order, until each returns ErrDone or no message can
// come any more. Then it leaves the run with the result, which is written as JSON.
func Receive(ctx context.Context, c *client.Client, result any, each func(client.Message) error) error {
	return finish(ctx, c, result, func() error {
		for {
			messages, err := c.Next(ctx, metasim.Forever)
			for _, m := range messages {
				if err := each(m); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
		}
	})
}

// Every calls each at start, start + period, and so on, with the messages received since, until each returns ErrDone or the run
// ends. Then it leaves the run with the result, which is written as JSON.
func Every(ctx context.Context, c *client.Client, start, period metasim.Time, result any,
	each func(t metasim.Time, received []client.Message) error) error {
	return finish(ctx, c, result, func() error {
		for t := start; ; t = t.Add(period) {
			messages, err := c.Step(ctx, t)
			if err != nil {
				return err
			}
			if err := each(t, messages); err != nil {
				return err
			}
		}
	})
}

// finish leaves the run with a result once the work has ended well.
func finish(ctx context.Context, c *client.Client, result any, work func() error) error {
	if err := work(); !errors.Is(err, client.ErrEnd) && !errors.Is(err, ErrDone) {
		return err
	}
	return Finish(ctx, c, result)
}

// Finish leaves the run with a result, which is written as JSON.
func Finish(ctx context.Context, c *client.Client, result any) error {
	if err := c.SetResult(result); err != nil {
		return err
	}
	return c.Leave(ctx)
}

// Subscribe adds subscriptions without handlers, for a model that asks for its messages.
func Subscribe(b *client.Builder, patterns []string) error {
	for _, p := range patterns {
		if err := b.Subscribe(p, nil); err != nil {
			return err
		}
	}
	return nil
}

// An InOut declares the subscriptions and the one publication of a model that has no more. Make it with [New].
type InOut struct {
	ports catalog.Ports
	Out   *client.Publication // nil before Declare
}

// New returns the InOut of a model with one publication.
func New(in *catalog.Instance) InOut { return InOut{ports: in.Ports} }

// Declare adds the publication and the subscriptions to a client that has not joined yet.
func (io *InOut) Declare(b *client.Builder) error {
	io.Out = b.Publication(io.ports.Publications[0])
	return Subscribe(b, io.ports.Subscriptions)
}
