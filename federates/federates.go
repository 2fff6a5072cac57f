// Package federates holds the clients that come with metasim: small models to build scenarios from, and one subfolder for
// each larger system.
//
// A model is known by its name. Package federates/catalog describes all models as data; [New] makes one of them run.
//
// To add a model, write what it does as one function in one file here, or in a subfolder, and list that function in one line
// of the table in federates.go. Its name, its parameters and its channels are an element of the table in
// federates/catalog/models.go; a test fails while one of the two is missing. Scenarios, `metasim schema` and `metasim client`
// then know it. Package federates/loop has what most models do alike.
//
// A model never looks at the wall clock to decide what it does: what it publishes follows from its parameters, its
// [catalog.Env] and what it receives. (The grain of phold takes real time and changes nothing else. The bridge is the one
// exception: what it publishes comes from outside of the run in real time, and RealTime in its element says so.)
//
// The caller's duties:
//
//  1. Declare is called once, on the builder, before Complete; Run once, right after it.
//  2. Where Run returns nil the client has left; where it returns an error it has not: call its Fail, or the others wait.
//  3. Env.Open decides what a file parameter may reach.
package federates

import (
	"context"
	"errors"
	"fmt"

	"metasim/client"
	"metasim/federates/authority"
	"metasim/federates/cartpole"
	"metasim/federates/catalog"
	"metasim/federates/follower"
	"metasim/federates/lockstep"
	"metasim/federates/phold"
)

// A Model is a client of a run.
type Model struct {
	run run
	in  *catalog.Instance
	out []*client.Publication // those of in.Ports, in their order; none before Declare

	saver client.Saver // nil: it makes no checkpoints
}

// A run takes part in a run as one model, and leaves; where it returns an error it has not left.
type run func(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error

// Declare adds the publications and subscriptions that the catalog says to a client that has not joined yet.
func (m *Model) Declare(b *client.Builder) error {
	for _, channel := range m.in.Ports.Publications {
		m.out = append(m.out, b.Publication(channel))
	}
	for _, pattern := range m.in.Ports.Subscriptions {
		if err := m.subscribe(b, pattern); err != nil {
			return err
		}
	}
	if m.saver != nil {
		return b.Checkpoints(m.saver)
	}
	return nil
}

// subscribe subscribes to a channel: some models take its messages as they come.
func (m *Model) subscribe(b *client.Builder, pattern string) error {
	taker, takes := m.saver.(interface {
		Input(in *catalog.Instance, pattern string) client.Input
	})
	if takes {
		if in := taker.Input(m.in, pattern); in != nil {
			return b.Input(pattern, in)
		}
	}
	return b.Subscribe(pattern, nil)
}

// Run takes part in the run and leaves. Where it returns an error it has not left: the caller closes the client.
func (m *Model) Run(ctx context.Context, c *client.Client) error { return m.run(ctx, c, m.in, m.out) }

// A Participant is what takes part in a run as one client: a model, or a client of a benchmark.
type Participant interface {
	// Declare adds publications and subscriptions to a client that has not joined yet.
	Declare(b *client.Builder) error
	// Run takes part in the run. Where it returns an error the client has not left.
	Run(ctx context.Context, c *client.Client) error
}

// TakePart takes part in a run, from joining to leaving. It joins as name, unless the options say another.
func TakePart(ctx context.Context, m Participant, name string, opts ...client.Option) error {
	b := client.NewBuilder(name)
	if err := m.Declare(b); err != nil {
		return fmt.Errorf("client %s: %w", name, err)
	}
	c, err := b.Complete(ctx, opts...)
	if err != nil {
		return err
	}
	if err := m.Run(ctx, c); err != nil {
		return errors.Join(err, c.Fail(err))
	}
	return c.Leave(ctx)
}

// models says what each model of the catalog does. A model in a subfolder is listed here like the others.
var models = map[string]run{
	"bridge":              bridge,
	"cartpole-controller": cartpole.Controller,
	"cartpole-estimator":  cartpole.Estimator,
	"cartpole-plant":      cartpole.Plant,
	"director":            follower.Director,
	"echo":                echo,
	"lcmlog":              lcmlog,
	"lockstep-runtime":    lockstep.Runtime,
	"phold":               phold.Run,
	"ping":                ping,
	"render-node":         follower.RenderNode,
	"ring":                ring,
	"sink":                sink,
	"source":              source,
	"store":               authority.Store,
	"world":               lockstep.World,
	"world-meter":         lockstep.Meter,
}

// savers make the models that have checkpoints, each anew for a client.
var savers = map[string]func() saver{
	"homeserver":      func() saver { return authority.Homeserver() },
	"simserver":       func() saver { return authority.Simserver() },
	"world-secondary": func() saver { return &lockstep.Secondary{} },
}

// A saver is a model whose state can be written down.
type saver interface {
	client.Saver
	Run(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error
}

// New makes a model for one client. Its errors are those of [catalog.Make].
func New(model string, with map[string]any, env catalog.Env) (*Model, error) {
	in, err := catalog.Make(model, with, env)
	if err != nil {
		return nil, err
	}
	if made, saves := savers[model]; saves {
		s := made()
		return &Model{run: s.Run, in: in, saver: s}, nil
	}
	run, ok := models[model]
	if !ok {
		return nil, fmt.Errorf("model %s is in the catalog, but nothing makes it: a mistake of metasim; list it in package federates", model)
	}
	return &Model{run: run, in: in}, nil
}
