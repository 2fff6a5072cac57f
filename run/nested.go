package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"metasim/internal/problem"
	"metasim/metasim"
	"metasim/record"
	"metasim/scenarios"
	"metasim/scenarios/flow"
	"metasim/server"
	"metasim/wire"
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
	if err := cmp.Or(o.checkInside(sc), o.checkRestarts(sc), o.CheckNested(sc)); err != nil {
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
	if err := n.prepare(ctx, sc, &outer, &o, apart); err != nil {
		return nil, err
	}
	return n.carryOut(ctx, sc, apart)
}

// CheckNested says what keeps a scenario from being carried out by several dispatchers, where the options ask for that: each is a problem of the scenario, or
// a flag. It says nothing of other options.
func (o *Options) CheckNested(sc *scenarios.Scenario) error {
	if !o.Nested && !o.Apart || len(sc.Nested) == 0 {
		return nil
	}
	if o.Serve {
		return errors.New("a run whose scenarios inside have dispatchers of their own cannot be served for clients that are all started elsewhere; leave --nested out: the results are the same")
	}
	var all []problem.Problem
	if sc.PublicLCM != "" && !o.Private {
		all = append(all, sc.Problem("", []string{"public_lcm"}, "a run whose scenarios inside have dispatchers of their own is not shown on a public LCM network; leave --nested out: "+
			"the results are the same; or give --lcm off"))
	}
	entry := -1
	for i := range sc.Clients {
		c := &sc.Clients[i]
		if c.Index == 0 {
			entry++
		}
		if c.External && c.Scope != nil && (o.Apart || o.far()) && c.Index == 0 {
			all = append(all, sc.Problem("", []string{"clients", strconv.Itoa(entry)}, fmt.Sprintf("client %q joins from outside, and the process in which the scenario around it is carried out lets in nobody; "+
				"give --nested alone, or leave it out: the results are the same", c.Name)))
		}
	}
	if all == nil {
		return nil
	}
	return &problem.Invalid{Problems: all}
}

// prepare makes the runners. If it fails, nothing is left open.
func (n *nest) prepare(ctx context.Context, sc, outer *scenarios.Scenario, o *Options, apart []*farCell) (err error) {
	var runners []*runner
	defer func() {
		for _, r := range runners {
			if err != nil {
				err = errors.Join(err, r.abandon(ctx))
			}
		}
	}()
	p := &part{watch: outerWatch{n}, declared: func() []flow.Declaration { return n.declarations(sc) }}
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
		inner.Out = n.outer.dir.File(record.NestedDir + c.name)
		inner.Live, inner.Ready, inner.Watch, inner.Warn, inner.Strict = nil, nil, nil, nil, false
		inner.Tokens = ""
		if inner.Listen = ""; slices.ContainsFunc(c.scenario.Clients, func(cl scenarios.Client) bool { return cl.External }) {
			inner.Listen = besides(o.Listen, c.name)
			inner.Ready = func(url, token, tokens string) error {
				if o.ReadyInside == nil {
					return nil
				}
				return o.ReadyInside(c.name, url, token, tokens)
			}
		}
		c.around = &nearRun{n.outer, n.outer.server.Gate("the nested run "+c.name, c.told)}
		if err := c.prepare(ctx, &inner); err != nil {
			return err
		}
		runners = append(runners, c.runner)
	}
	return nil
}

// A nearRun is an outer run in this process.
type nearRun struct {
	*runner
	gate *server.Gate
}

func (r *nearRun) token() string                       { return r.listeners.proxies }
func (r *nearRun) round(f func(say func(wire.Packet))) { r.gate.Round(f) }
func (r *nearRun) fail(err error)                      { r.server.Fail(err) }

// declarations are what the real clients of a scenario that have joined have declared.
func (n *nest) declarations(sc *scenarios.Scenario) []flow.Declaration {
	n.mu.Lock()
	defer n.mu.Unlock()
	bridges := sc.RealTime()
	var all []flow.Declaration
	for _, name := range sortedNames(sc) {
		if d := n.declared[name]; d != nil {
			all = append(all, flow.Declaration{Client: name, Publications: d.Publications, Subscriptions: d.Subscriptions,
				Together: sc.Scopes.Of(name).Together(d.Subscriptions), Bridge: slices.Contains(bridges, name)})
		}
	}
	return all
}

// besides is where a nested run listens for clients from outside, if the outer one listens at an address: on the same host at a free port, or at a path beside it.
func besides(listen, name string) string {
	if host, _, err := net.SplitHostPort(listen); err == nil {
		return net.JoinHostPort(host, "0")
	}
	if listen == "" {
		return ""
	}
	return listen + "." + name
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
