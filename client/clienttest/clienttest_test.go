package clienttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/delay"
	"metasim/metasim"
)

var links = []delay.Rule{{Spec: delay.Spec{Delay: delay.Uniform{Min: 1 * metasim.Millisecond, Max: 9 * metasim.Millisecond}}}}

// speaks publishes what it draws, each millisecond.
func speaks(ctx context.Context, options ...client.Option) error {
	b := client.NewBuilder("")
	out := b.Publication("NOISE")
	c, err := b.Complete(ctx, options...)
	if err != nil {
		return err
	}
	for range c.Steps(ctx, time.Millisecond) {
		if err := out.Publish(fmt.Append(nil, c.Rand("noise").IntN(1000))); err != nil {
			return err
		}
	}
	return c.Leave(ctx)
}

// hears leaves at its fifth message, whatever it has been given beyond that.
func hears(ctx context.Context, options ...client.Option) error {
	b := client.NewBuilder("")
	var c *client.Client
	heard := 0
	if err := b.Subscribe("NOISE", func(client.Message) error {
		if heard++; heard == 5 {
			return c.Leave(ctx)
		}
		return nil
	}); err != nil {
		return err
	}
	c, err := b.Complete(ctx, options...)
	if err != nil {
		return err
	}
	about := c.About()
	c.OnLeave(func() any { return map[string]any{"with": about.With, "entry": about.Entry} })
	return errors.Join(os.WriteFile(filepath.Join(about.Directory, c.Name()), nil, 0o600), c.Run(ctx))
}

// A run is the same each time, also where a client leaves before it has handled all that it was given; another seed gives another run.
func TestTheSameEachTime(t *testing.T) {
	same := func(seed uint64) Transcript {
		return Run(t, World{Until: 50 * metasim.Millisecond, Seed: seed, Links: links},
			Simulator{Name: "speaker", Run: speaks}, Simulator{Name: "ear", Run: hears, With: map[string]int{"gain": 3}})
	}
	first := same(1)
	require.Len(t, first.Deliveries, 5)
	require.JSONEq(t, `{"with": {"gain": 3}, "entry": "ear"}`, string(first.Results["ear"]))
	for range 20 {
		require.Equal(t, first, same(1))
	}
	require.NotEqual(t, first.String(), same(2).String())
}

// What goes wrong is said, and ends the run for all: nobody waits for one that is gone.
func TestFailures(t *testing.T) {
	joined := func(f func(ctx context.Context, c *client.Client) error) func(context.Context, ...client.Option) error {
		return func(ctx context.Context, options ...client.Option) error {
			c, err := client.NewBuilder("").Complete(ctx, options...)
			if err != nil {
				return err
			}
			return f(ctx, c)
		}
	}
	for want, wrong := range map[string]func(context.Context, ...client.Option) error{
		`no fuel`: func(context.Context, ...client.Option) error { return errors.New("no fuel") },
		`client "wrong" was lost before it joined: its Run returned`: func(context.Context, ...client.Option) error { return nil },
		`client "wrong" was lost (the connection was closed)`: joined(func(ctx context.Context, c *client.Client) error {
			_, err := c.Step(ctx, 7*metasim.Millisecond)
			return err
		}),
		`it failed: at 3ms: no grip`: joined(func(ctx context.Context, c *client.Client) error {
			c.At(3*metasim.Millisecond, func() error { return errors.New("no grip") })
			return c.Run(ctx)
		}),
		`simulator "wrong": client "wrong" took a promise back at 2ms`: joined(func(ctx context.Context, c *client.Client) error {
			return errors.Join(c.Promise(5*metasim.Millisecond), c.Promise(2*metasim.Millisecond))
		}),
	} {
		_, err := run(t.Context(), t.TempDir(), World{}, []Simulator{{Name: "speaker", Run: speaks}, {Name: "wrong", Run: wrong}})
		require.ErrorContains(t, err, want)
	}
	_, err := run(t.Context(), t.TempDir(), World{}, []Simulator{{Name: "a", With: func() {}}})
	require.ErrorContains(t, err, `the parameters of "a"`)
	_, err = run(t.Context(), t.TempDir(), World{}, nil)
	require.Error(t, err)
}
