package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"metasim/client"
	"metasim/delay"
	"metasim/federates"
	"metasim/lcm/mirror"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/scenarios"
	"metasim/server"
)

// A conductor carries out one scenario.
type conductor struct {
	scenario  *scenarios.Scenario
	options   Options
	dir       journal.Dir
	entrance  *entrance
	server    *server.Server
	public    *mirror.Mirror // nil where the run is not shown
	live      []string       // clients that take part in real time
	work      sync.WaitGroup
	crew      *client.Crew // of the built-in models in this process
	processes []*process   // in order of the scenario

	mu     sync.Mutex
	fates  map[string]*fate    // of the clients in this process, by name
	homes  map[string]*process // of the others that were started here
	guests map[string]bool     // who are started by somebody else
}

// A fate is how a client in this process ended.
type fate struct {
	done chan struct{}
	err  error
}

// Scenario carries out a scenario. The error says why there was no run at all; how a run failed is in its outcome.
func Scenario(ctx context.Context, sc *scenarios.Scenario, o Options) (*Outcome, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	table, err := delay.NewTable(sc.Seed, sc.Rules)
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(sc.Name, o.Out)
	if err != nil {
		return nil, err
	}
	c := &conductor{scenario: sc, options: o, dir: dir, live: sc.Live(), crew: client.NewCrew(), fates: map[string]*fate{}, homes: map[string]*process{}, guests: map[string]bool{}}
	record, err := newRecord(dir, sc, o)
	if err != nil {
		return nil, err
	}
	if c.entrance, err = open(o, slices.ContainsFunc(sc.Clients, o.inside), o.Outside(sc)); err != nil {
		return nil, errors.Join(err, record.abandon(err))
	}
	c.public = c.openPublic()
	if c.server, err = server.New(c.config(table, record)); err != nil {
		c.closePublic()
		return nil, errors.Join(err, c.entrance.close(), record.abandon(err))
	}
	window, err := c.openWindow()
	if err != nil {
		c.closePublic()
		return nil, errors.Join(err, c.entrance.close(), record.abandon(err))
	}
	out := c.serve(ctx, window)
	out.LCM = c.closePublic()
	if err := errors.Join(window.close(), c.entrance.close(), record.finish(out)); err != nil && out.OK {
		out.OK, out.Err, out.Error = false, err, Sentence(err)
	}
	return out, nil
}

func (c *conductor) config(table *delay.Table, record *record) server.Config {
	sc := c.scenario
	config := server.Config{
		Core:     metasim.Config{Delays: table, Until: sc.Until, MaxSteps: sc.MaxSteps},
		Scenario: sc.Name, Seed: sc.Seed, Token: c.entrance.token, Detach: map[string]bool{}, Driven: sc.Rate > 0,
		Timed:        !c.options.NoTrace && !c.options.NoJournal, // a report reads it in the journal
		Live:         len(c.live) > 0,
		StartTimeout: sc.StartTimeout, Observers: c.observers(record), After: c.crew.Served(), Obituary: c.obituary, Log: c.options.Log,
	}
	for _, cl := range sc.Clients {
		config.Core.Clients = append(config.Core.Clients, cl.Name)
		if cl.Detach {
			config.Detach[cl.Name] = true
		}
	}
	return config
}

// serve runs the server with all that belongs to it, and waits until nothing of it is left.
func (c *conductor) serve(ctx context.Context, w *window) *Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.open(ctx, &c.work)
	if c.entrance.inside != nil {
		c.work.Go(func() { c.accept(c.server.Accept(c.entrance.inside)) })
	}
	if c.entrance.outside != nil {
		c.work.Go(func() { c.accept(c.server.Accept(c.entrance.outside)) })
	}
	if c.scenario.Rate > 0 {
		// How the run failed is known from Serve.
		c.work.Go(func() { _ = server.Pace(ctx, c.server, c.scenario.Rate) })
	}
	c.work.Go(func() { c.startClients(ctx) })
	if c.options.Watch != nil {
		c.options.Watch(c.server)
	}
	err := c.server.Serve(ctx)
	cancel()
	c.work.Wait()
	c.endProcesses(err == nil)
	out := outcome(c.scenario.Name, c.scenario.Seed, c.dir.Path(), c.server.Result())
	out.Live = c.live
	return out
}

func (c *conductor) accept(err error) {
	if err != nil {
		c.server.Fail(fmt.Errorf("no more clients can come in: %w", err))
	}
}

// startClients starts all that are not to be started by somebody else. It stops when the run ends.
func (c *conductor) startClients(ctx context.Context) {
	if c.entrance.outside != nil && c.options.Ready != nil {
		if err := c.options.Ready(c.entrance.outside.URL(), c.entrance.token); err != nil {
			c.server.Fail(err)
			return
		}
	}
	for _, p := range parties(c.scenario.Clients, c.options.Pack) {
		switch {
		case ctx.Err() != nil:
			return
		case p[0].External || c.options.Serve:
			c.expect(p)
		case c.options.inside(p[0]):
			c.startInside(ctx, p)
		default:
			if err := c.startProcess(p); err != nil {
				c.server.Fail(err)
				return
			}
		}
	}
}

// expect notes that somebody else starts a party.
func (c *conductor) expect(p party) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cl := range p {
		c.guests[cl.Name] = true
	}
}

// startInside starts a party of built-in models, which the crew carries out.
func (c *conductor) startInside(ctx context.Context, p party) {
	f := &fate{done: make(chan struct{})}
	c.mu.Lock()
	for _, cl := range p {
		c.fates[cl.Name] = f
	}
	c.mu.Unlock()
	c.work.Go(func() {
		defer close(f.done)
		f.err = c.takePart(ctx, p)
		if f.err == nil {
			return
		}
		for _, cl := range p {
			c.server.Exited(cl.Name, f.err.Error())
		}
	})
}

func (c *conductor) takePart(ctx context.Context, p party) error {
	var parts []Part
	for _, cl := range p {
		m, err := federates.New(cl.Model, cl.With, c.scenario.Env(&cl))
		if err != nil {
			return err
		}
		parts = append(parts, Part{cl.Name, m})
	}
	conn, err := c.entrance.inside.Dial(ctx, c.entrance.inside.URL())
	if err != nil {
		return err
	}
	host, err := client.Connect(ctx, client.WithConn(conn))
	if err != nil {
		return err
	}
	return errors.Join(man(c.crew, parts, func(p Part, aboard client.Option) error {
		return Model(ctx, p.Model, p.Name, client.WithHost(host), client.WithToken(c.entrance.token), aboard)
	}), host.Close())
}

// obituary says what became of a client that the server lost.
func (c *conductor) obituary(name string) server.Obituary {
	c.mu.Lock()
	f, p := c.fates[name], c.homes[name]
	c.mu.Unlock()
	switch {
	case p != nil:
		return p.obituary()
	case f != nil:
		select {
		case <-f.done:
			if f.err != nil {
				return server.Obituary{Exit: "error: " + f.err.Error()}
			}
		case <-time.After(deathTime):
		}
	}
	return server.Obituary{}
}

// makeDir makes the run directory.
func makeDir(name, out string) (journal.Dir, error) {
	if out == "" {
		return journal.NextDir("runs", name)
	}
	return journal.Create(out)
}
