package typed_test

import (
	"context"
	"fmt"
	"time"

	"metasim/client"
	"metasim/client/typed"
	"metasim/metasim"
	"metasim/wire/transport/mem"
)

// A State is what the plant says of itself.
type State struct{ Angle float64 }

// newPlant publishes its state each 5 ms, and moves by the force that came last.
func newPlant() simulator {
	var state *typed.Publication[State]
	var force *typed.Latest[float64]
	return simulator{"plant", func(b *client.Builder) (err error) {
		state = typed.Publish(b, "STATE", typed.JSON[State]())
		force, err = typed.NewLatest(b, "FORCE", typed.JSON[float64]())
		return err
	}, func(ctx context.Context, c *client.Client) error {
		s := State{Angle: 8}
		for range c.Steps(ctx, 5*time.Millisecond) {
			if m, ok := force.Get(); ok {
				s.Angle += m.Value
			}
			if err := state.Publish(s); err != nil {
				return err
			}
		}
		return c.Leave(ctx)
	}}
}

// newController asks for its gain at the start, and then pushes against each state.
func newController() simulator {
	var force *typed.Publication[float64]
	var gain *typed.Caller[string, float64]
	var states *typed.Queue[State]
	return simulator{"controller", func(b *client.Builder) (err error) {
		force = typed.Publish(b, "FORCE", typed.JSON[float64]())
		if gain, err = typed.NewCaller(b, "GAIN", typed.JSON[string](), typed.JSON[float64]()); err != nil {
			return err
		}
		states, err = typed.NewQueue(b, "STATE", typed.JSON[State](), 10, typed.DropOldest)
		return err
	}, func(ctx context.Context, c *client.Client) error {
		k, err := gain.Call(ctx, "pole", 100*time.Millisecond)
		if err != nil {
			return err
		}
		fmt.Println(c.Now(), "gain", k)
		for t := range c.Steps(ctx, time.Millisecond) {
			for m := range states.All() {
				fmt.Println(t, "angle", m.Value.Angle)
				if err := force.Publish(-k * m.Value.Angle); err != nil {
					return err
				}
			}
		}
		return c.Leave(ctx)
	}}
}

// newTuner answers which gain is good.
func newTuner() simulator {
	return simulator{"tuner", func(b *client.Builder) error {
		return typed.Answer(b, "GAIN", typed.JSON[string](), typed.JSON[float64](), func(r *typed.Request[string, float64]) error {
			if r.Value != "pole" {
				return r.Refuse("only a pole has one")
			}
			return r.Reply(0.5)
		})
	}, run}
}

// Typed publications, inputs, and a request: over links of 2 ms.
func Example() {
	_, errs := carry(context.Background(), mem.NewNet(), []simulator{newPlant(), newController(), newTuner()})
	for name, err := range errs {
		if err != nil {
			fmt.Println(name, err)
		}
	}
	// Output:
	// 4ms gain 0.5
	// 4ms angle 8
	// 7ms angle 8
	// 12ms angle 4
	// 17ms angle 2
}

// What a client that Run drives does with a request.
func ExampleCaller_Go() {
	var gain *typed.Caller[string, float64]
	asker := simulator{"asker", func(b *client.Builder) (err error) {
		gain, err = typed.NewCaller(b, "GAIN", typed.JSON[string](), typed.JSON[float64]())
		return err
	}, func(ctx context.Context, c *client.Client) error {
		then := func(k float64, err error) error {
			_, failed := fmt.Println(c.Now(), k, err)
			return failed
		}
		for i, what := range []string{"pole", "bicycle"} {
			c.At(metasim.Time(i)*metasim.Millisecond, func() error { return gain.Go(what, 100*time.Millisecond, then) })
		}
		return c.Run(ctx)
	}}
	carry(context.Background(), mem.NewNet(), []simulator{asker, newTuner()})
	// Output:
	// 4ms 0.5 <nil>
	// 5ms 0 service "GAIN": client "tuner" refused: only a pole has one
}
