package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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
	if (o.Nested || o.Apart) && len(sc.Nested) > 0 {
		return o.onThisHost(sc)(nested(ctx, sc, o))
	}
	r, err := prepare(ctx, sc, &o, nil)
	if err != nil {
		return nil, err
	}
	return o.onThisHost(sc)(r.carryOut(ctx))
}

// nested carries out a scenario whose scenarios inside have dispatchers of their own.
func nested(ctx context.Context, sc *scenarios.Scenario, o Options) (*Outcome, error) {
	o.Apart = o.Apart || o.far()
	if err := o.checkNested(sc); err != nil {
		return nil, err
	}
	n := newNest(len(sc.Clients))
	var apart []*farCell
	outer := *sc
	outer.Clients = slices.DeleteFunc(slices.Clone(sc.Clients), func(c scenarios.Client) bool { return strings.Contains(c.Name, "/") })
	for i := range sc.Nested {
		switch name := sc.Nested[i].Name; {
		case strings.Contains(name, "/"): // it shares the dispatcher of the one around it
		case o.Apart:
			apart = append(apart, newFarCell(n, sc, name))
		default:
			n.cells = append(n.cells, newCell(n, sc, name))
		}
	}
	if err := n.prepare(ctx, &outer, &o, apart); err != nil {
		return nil, err
	}
	return n.carryOut(ctx, sc, apart)
}

// checkNested says what a run with several dispatchers cannot do.
func (o *Options) checkNested(sc *scenarios.Scenario) error {
	external := slices.IndexFunc(sc.Clients, func(c scenarios.Client) bool { return c.External && strings.Contains(c.Name, "/") })
	for _, cannot := range []struct {
		is   bool
		what string
	}{
		{o.Serve, "be served for clients that are all started elsewhere"},
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
func (n *nest) prepare(ctx context.Context, outer *scenarios.Scenario, o *Options, apart []*farCell) (err error) {
	var runners []*runner
	defer func() {
		for _, r := range runners {
			if err != nil {
				err = errors.Join(err, r.abandon(ctx))
			}
		}
	}()
	p := &part{watch: outerWatch{n}}
	of := map[string]hearer{}
	add := func(name string, own []string, h hearer) {
		group := append([]string{name}, own...)
		p.groups = append(p.groups, group)
		p.proxies = append(p.proxies, group...)
		n.hearers = append(n.hearers, h)
		for _, client := range group {
			of[client] = h
		}
	}
	for _, c := range n.cells {
		add(c.name, sortedNames(&c.scenario), c)
	}
	for _, f := range apart {
		add(f.name, f.own, f)
		if p.cells == nil {
			p.cells = new(hostedCells)
		}
		p.cells.all = append(p.cells.all, f.hostedCell)
	}
	if n.outer, err = prepare(ctx, outer, o, p); err != nil {
		return err
	}
	runners = append(runners, n.outer)
	for id, name := range n.outer.names() {
		if h := of[name]; h != nil {
			n.owner[metasim.ClientID(id)] = h
		}
	}
	for _, c := range n.cells {
		inner := *o
		inner.Out = n.outer.dir.File(nestedDir + c.name)
		inner.Live, inner.Ready, inner.Watch, inner.Warn, inner.Strict = nil, nil, nil, nil, false
		inner.Listen, inner.Tokens = "", ""
		c.around = &nearRun{n.outer, n.outer.server.Gate("the nested run "+c.name, c.told)}
		if err := c.prepare(ctx, &inner); err != nil {
			return err
		}
		runners = append(runners, c.runner)
	}
	return nil
}

// carryOut carries out all runs at once, and returns what came of them together.
func (n *nest) carryOut(ctx context.Context, sc *scenarios.Scenario, apart []*farCell) (*Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	results, errs := make([]*cellResult, len(n.cells)), make([]error, len(n.cells))
	for i, c := range n.cells {
		work.Go(func() {
			var out *Outcome
			out, errs[i] = c.runner.carryOut(ctx)
			if results[i] = c.result(out, errs[i]); results[i].Error != "" {
				cancel(failedInside(c.name, results[i].Error))
			}
		})
		work.Go(func() { c.pass(ctx) })
	}
	var far *farCells
	if len(apart) > 0 {
		var err error
		if far, err = listenFar(n.outer, sc, apart, cancel); err != nil {
			return nil, errors.Join(err, n.outer.abandon(ctx))
		}
	}
	out, err := n.outer.carryOut(ctx)
	if err != nil {
		cancel(err)
	} else if !out.OK {
		cancel(out.Err)
	}
	n.end()
	work.Wait()
	if far != nil {
		results = append(results, far.end()...)
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	n.merge(out, results)
	return out, nil
}

// end has the gateways end.
func (n *nest) end() {
	for _, c := range n.cells {
		c.end()
	}
}

// An outerWatch is an observer of the outer run: it hears who joins, and what is for the clients behind a gateway.
type outerWatch struct{ *nest }

// Observe implements server.Observer.
func (n outerWatch) Observe(_ int64, ev metasim.Event, effects []metasim.Effect) error {
	if join, ok := ev.(*metasim.Join); ok && n.owner[join.Client] == nil {
		n.joined(n.outer.names()[join.Client], join)
	}
	if permit, ok := ev.(*metasim.Permit); ok {
		for _, h := range n.hearers {
			h.hear(new(*permit))
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
