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

// Receive calls each for every message, at the instant of the message and in order, until no message can come any more. An
// error of each ends it.
func Receive(ctx context.Context, c *client.Client, each func(client.Message) error) error {
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		for _, m := range messages {
			if err := each(m); err != nil {
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
