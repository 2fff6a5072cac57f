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
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		for _, m := range messages {
			if err := each(m); err != nil {
				return end(ctx, c, result, err)
			}
		}
		if err != nil {
			return end(ctx, c, result, err)
		}
	}
}

// Every calls each at start, start + period, and so on, with the messages received since, until each returns ErrDone or the run
// ends. Then it leaves the run with the result, which is written as JSON.
func Every(ctx context.Context, c *client.Client, start, period metasim.Time, result any,
	each func(t metasim.Time, received []client.Message) error) error {
	for t := start; ; t = t.Add(period) {
		messages, err := c.Step(ctx, t)
		if err == nil {
			err = each(t, messages)
		}
		if err != nil {
			return end(ctx, c, result, err)
		}
	}
}

// end leaves the run with a result where the error that ended the work says that it ended well.
func end(ctx context.Context, c *client.Client, result any, err error) error {
	if !errors.Is(err, client.ErrEnd) && !errors.Is(err, ErrDone) {
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
