// Package federates holds the clients that come with metasim: small models to build scenarios from, and one subfolder for
// each larger system.
//
// A model is known by its name. Package federates/catalog describes all models as data; [New] makes one of them run.
//
// To add a model, write what it does in one file here, or in a subfolder, with a function that makes it of a
// [catalog.Instance], and list that function in one line of the table in federates.go. Its name, its parameters and its
// channels are an element of the table in federates/catalog/models.go; a test fails while one of the two is missing.
// Scenarios, `metasim schema` and `metasim client` then know it. Package federates/loop has what most models do alike.
//
// A model never looks at the wall clock to decide what it does: what it publishes follows from its parameters, its
// [catalog.Env] and what it receives. (The grain of phold takes real time and changes nothing else. The bridge is the one
// exception: what it publishes comes from outside of the run in real time, and RealTime in its element says so.)
//
// The caller's duties:
//
//  1. Declare is called once, on the builder, before Complete; Run once, right after it.
//  2. Where Run returns nil the client has left; where it returns an error it has not: close it, or the others wait.
//  3. Env.Open decides what a file parameter may reach.
package federates

import (
	"context"
	"errors"
	"fmt"

	"metasim/client"
	"metasim/federates/cartpole"
	"metasim/federates/catalog"
	"metasim/federates/phold"
)

// A Model is a client of a run. Declare adds publications and subscriptions to a client that has not joined yet; Run
// takes part in the run and leaves. A Run that returns an error has not left: the caller closes the client.
type Model interface {
	Declare(b *client.Builder) error
	Run(ctx context.Context, c *client.Client) error
}

// TakePart takes part in a run with a model, from joining to leaving. It joins as name, unless the options say another.
func TakePart(ctx context.Context, m Model, name string, opts ...client.Option) error {
	b := client.NewBuilder(name)
	if err := m.Declare(b); err != nil {
		return fmt.Errorf("client %s: %w", name, err)
	}
	c, err := b.Complete(ctx, opts...)
	if err != nil {
		return err
	}
	if err := m.Run(ctx, c); err != nil {
		return errors.Join(err, c.Close())
	}
	return c.Leave(ctx)
}

// models says how each model of the catalog is made. A model in a subfolder is listed here like the others.
var models = []struct {
	name string
	make func(*catalog.Instance) Model
}{
	{"bridge", of(newBridge)},
	{"cartpole-controller", of(cartpole.NewController)},
	{"cartpole-estimator", of(cartpole.NewEstimator)},
	{"cartpole-plant", of(cartpole.NewPlant)},
	{"echo", of(newEcho)},
	{"lcmlog", of(newLog)},
	{"phold", of(phold.New)},
	{"ping", of(newPing)},
	{"ring", of(newRing)},
	{"sink", of(newSink)},
	{"source", of(newSource)},
}

// of makes a function that returns a model of a function that returns a type of its own.
func of[M Model](make func(*catalog.Instance) M) func(*catalog.Instance) Model {
	return func(in *catalog.Instance) Model { return make(in) }
}

// New makes a model for one client. Its errors are those of [catalog.Make].
func New(model string, with map[string]any, env catalog.Env) (Model, error) {
	in, err := catalog.Make(model, with, env)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		if m.name == model {
			return m.make(in), nil
		}
	}
	return nil, fmt.Errorf("model %s is in the catalog, but nothing makes it: a mistake of metasim; list it in package federates", model)
}
