package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/scenarios"
)

// A scenario inside of another one may have a dispatcher of its own (Options.Nested): it is a run for itself, which is one client of the outer run, behind
// a gateway. Its clients are those of the flat run, and are given the same at the same instants: see docs/adr/0038-nesting.md. Each run has a
// directory, the nested ones in that of the outer one.
//
// Every client of one run is a proxy in the other, so that both know the same names; a proxy that sends nothing there leaves at once.

// Scenario carries out a scenario. The error says why there was no run at all; how a run failed is in its outcome.
func Scenario(ctx context.Context, sc *scenarios.Scenario, o Options) (*Outcome, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := cmp.Or(o.checkInside(sc), o.checkRestarts(sc)); err != nil {
		return nil, err
	}
	if o.Nested && len(sc.Nested) > 0 {
		return nested(ctx, sc, o)
	}
	r, err := prepare(ctx, sc, &o, nil)
	if err != nil {
		return nil, err
	}
	return r.carryOut(ctx)
}

// nested carries out a scenario whose scenarios inside have dispatchers of their own.
func nested(ctx context.Context, sc *scenarios.Scenario, o Options) (*Outcome, error) {
	if err := o.checkNested(sc); err != nil {
		return nil, err
	}
	n := &nest{declared: map[string]*metasim.Join{}, owner: map[metasim.ClientID]*cell{}, missing: len(sc.Clients), complete: make(chan struct{})}
	outer := *sc
	outer.Clients = nil
	of := map[string]*cell{}
	for i := range sc.Nested {
		if name := sc.Nested[i].Name; !strings.Contains(name, "/") {
			c := newCell(n, sc, name)
			of[name] = c
			n.cells = append(n.cells, c)
		}
	}
	for i := range sc.Clients {
		root, _, _ := strings.Cut(sc.Clients[i].Name, "/")
		if c := of[root]; c != nil {
			c.scenario.Clients = append(c.scenario.Clients, sc.Clients[i])
		} else {
			outer.Clients = append(outer.Clients, sc.Clients[i])
		}
	}
	if err := n.prepare(ctx, &outer, &o); err != nil {
		return nil, err
	}
	return n.carryOut(ctx)
}

// checkNested says what a run with several dispatchers cannot do.
func (o *Options) checkNested(sc *scenarios.Scenario) error {
	external := slices.IndexFunc(sc.Clients, func(c scenarios.Client) bool { return c.External && strings.Contains(c.Name, "/") })
	for _, cannot := range []struct {
		is   bool
		what string
	}{
		{o.Serve, "be served for clients that are all started elsewhere"},
		{o.far(), "be launched on other hosts"},
		{sc.PublicLCM != "" && !o.Private, "be shown on a public LCM network"},
		{external >= 0, "have a client from outside in a scenario inside"},
	} {
		if cannot.is {
			return fmt.Errorf("a run whose scenarios inside have dispatchers of their own cannot %s; leave --nested out: the results are the same", cannot.what)
		}
	}
	return nil
}

// prepare makes the runners. If it fails, nothing is left open.
func (n *nest) prepare(ctx context.Context, outer *scenarios.Scenario, o *Options) (err error) {
	var runners []*runner
	defer func() {
		for _, r := range runners {
			if err != nil {
				err = errors.Join(err, r.abandon(ctx))
			}
		}
	}()
	p := &part{watch: outerWatch{n}}
	for _, c := range n.cells {
		group := append([]string{c.name}, sortedNames(&c.scenario)...)
		p.groups = append(p.groups, group)
		p.proxies = append(p.proxies, group...)
	}
	if n.outer, err = prepare(ctx, outer, o, p); err != nil {
		return err
	}
	runners = append(runners, n.outer)
	for id, name := range n.outer.names() {
		root, _, _ := strings.Cut(name, "/")
		if i := slices.IndexFunc(n.cells, func(c *cell) bool { return c.name == root }); i >= 0 {
			n.owner[metasim.ClientID(id)] = n.cells[i]
		}
	}
	for _, c := range n.cells {
		inner := *o
		inner.Out = n.outer.dir.File("nested-" + c.name)
		inner.Live, inner.Ready, inner.Watch, inner.Warn, inner.Strict = nil, nil, nil, nil, false
		inner.Listen, inner.Tokens = "", ""
		p := &part{watch: innerWatch{c}, settled: c.settled, scopes: scope.Set{}}
		for name, of := range c.scenario.Scopes {
			if name == c.name || strings.HasPrefix(name, c.name+"/") {
				p.scopes[name] = of
			}
		}
		for _, name := range n.outer.names() {
			if n.owner[n.outer.id(name)] != c {
				p.proxies = append(p.proxies, name)
			}
		}
		p.outside = p.proxies
		if c.runner, err = prepare(ctx, &c.scenario, &inner, p); err != nil {
			return fmt.Errorf("the scenario inside %q: %w", c.name, err)
		}
		runners = append(runners, c.runner)
	}
	return nil
}

// carryOut carries out all runs at once, and returns what came of them together.
func (n *nest) carryOut(ctx context.Context) (*Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	outcomes, errs := make([]*Outcome, len(n.cells)), make([]error, len(n.cells))
	for i, c := range n.cells {
		work.Go(func() {
			outcomes[i], errs[i] = c.runner.carryOut(ctx)
			if out := outcomes[i]; errs[i] != nil || !out.OK {
				cancel(c.failed(errs[i], out))
			}
		})
		work.Go(func() { c.pass(ctx) })
	}
	out, err := n.outer.carryOut(ctx)
	if err != nil {
		cancel(err)
	} else if !out.OK {
		cancel(out.Err)
	}
	n.end()
	work.Wait()
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	n.merge(out, outcomes)
	return out, nil
}

// end has the gateways end.
func (n *nest) end() {
	for _, c := range n.cells {
		c.mu.Lock()
		c.over = true
		c.mu.Unlock()
		c.changed.Signal()
	}
}

// failed says why a nested run has failed.
func (c *cell) failed(err error, out *Outcome) error {
	if err == nil {
		err = out.Err
	}
	return fmt.Errorf("the scenario inside %q: %w", c.name, err)
}

// An outerWatch is an observer of the outer run: it hears who joins, and what is for the clients behind a gateway.
type outerWatch struct{ *nest }

// Observe implements server.Observer.
func (n outerWatch) Observe(_ int64, ev metasim.Event, effects []metasim.Effect) error {
	if join, ok := ev.(*metasim.Join); ok && n.owner[join.Client] == nil {
		n.joined(n.outer.names()[join.Client], join)
	}
	if permit, ok := ev.(*metasim.Permit); ok {
		for _, c := range n.cells {
			c.hear(new(*permit))
		}
	}
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			if c := n.owner[e.To]; c != nil {
				c.hear(new(*e))
			}
		case *metasim.Authorize:
			if c := n.owner[e.To]; c != nil {
				c.hear(new(*e))
			}
		}
	}
	return nil
}
