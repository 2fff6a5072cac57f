// Package loop holds what most built-in models do alike: act at every message or in equal steps until no message can come any
// more, and leave with a result. Package federates and its subfolders use it.
package loop

import (
	"context"
	"errors"

	"metasim/client"
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
