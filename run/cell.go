package run

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"metasim/federates/gateway"
	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/scenarios"
	"metasim/server"
	"metasim/wire"
)

// A nest is an outer run with all that are nested in it; in the process of a nested run that has one, what this process knows of them.
type nest struct {
	outer   *runner                     // nil in the process of a nested run
	cells   []*cell                     // in this process
	hearers []hearer                    // all of them, in whatever process
	owner   map[metasim.ClientID]hearer // of the clients of the outer run that a gateway speaks for
	tell    func(name string, ev *metasim.Join)

	mu       sync.Mutex
	declared map[string]*metasim.Join // by name: real clients that have joined
	missing  int                      // of them, that have not
	complete chan struct{}            // closed when none is missing
}

// A hearer is told what the outer run has for a gateway: effects for its clients, and how far the run may go.
type hearer interface{ hear(e ...any) }

// An outerRun is the outer run as a gateway reaches it: in this process, or over a connection.
type outerRun interface {
	names() []string // of its clients, in order
	token() string   // with which they join
	// round has the outer run take what clients of the gateway say.
	round(f func(say func(wire.Packet)))
	fail(err error)
}

// A cell is a run that is nested in another one.
type cell struct {
	*nest
	around   outerRun
	name     string
	scenario scenarios.Scenario // its clients, and all links
	runner   *runner

	// The turn of the nested run guards these.
	gate      *gateway.Gateway // nil until all clients of all runs have joined
	reactions []metasim.Time   // of its clients to the outside; nil until it has begun
	done      bool             // the nested run is finished
	saying    []metasim.Event  // for the outer run, in this round

	mu      sync.Mutex
	changed sync.Cond
	heard   []any // of the outer run: effects for the gateway, and how far the run may go
	toOuter []metasim.Event
	passed  passed
	begun   int  // clients in the outer run that may speak
	over    bool // the outer run is over
}

// passed is what was passed on last: its memory is used again.
type passed struct {
	heard []any
	said  []metasim.Event
}

// newCell makes the run that is nested under a name. Its clients are those of the scenario that are inside of that.
func newCell(n *nest, sc *scenarios.Scenario, name string) *cell {
	c := &cell{nest: n, name: name, scenario: *sc}
	c.scenario.Clients = slices.DeleteFunc(slices.Clone(sc.Clients), func(cl scenarios.Client) bool { return !strings.HasPrefix(cl.Name, name+"/") })
	c.changed.L = &c.mu
	return c
}

// prepare makes the runner. The clients of the outer run that it does not speak for are outside.
func (c *cell) prepare(ctx context.Context, o *Options) (err error) {
	p := &part{watch: innerWatch{c}, settled: c.settled, scopes: scope.Set{}}
	for name, of := range c.scenario.Scopes {
		if name == c.name || strings.HasPrefix(name, c.name+"/") {
			p.scopes[name] = of
		}
	}
	for _, name := range c.around.names() {
		if name != c.name && !strings.HasPrefix(name, c.name+"/") {
			p.proxies = append(p.proxies, name)
		}
	}
	p.outside = p.proxies
	if c.runner, err = prepare(ctx, &c.scenario, o, p); err != nil {
		return fmt.Errorf("the scenario inside %q: %w", c.name, err)
	}
	return nil
}

// newNest makes a nest whose runs have so many real clients.
func newNest(clients int) *nest {
	return &nest{declared: map[string]*metasim.Join{}, owner: map[metasim.ClientID]hearer{}, missing: clients, complete: make(chan struct{})}
}

// joined notes that a real client has joined.
func (n *nest) joined(name string, ev *metasim.Join) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.declared[name] != nil {
		return
	}
	n.declared[name] = &metasim.Join{Publications: slices.Clone(ev.Publications), Subscriptions: slices.Clone(ev.Subscriptions)}
	if n.missing--; n.missing == 0 {
		close(n.complete)
	}
}

// end has the gateway end: the outer run is over.
func (c *cell) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.changed.Signal()
}

// hear takes what the outer run has for a client of the group, or a Permit.
func (c *cell) hear(e ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, e...)
	c.changed.Signal()
}

// say keeps what the gateway says to the outer run until this round of the nested run ends: see handOver. The caller has the turn of the nested run.
func (c *cell) say(ev gateway.Events) {
	c.saying = append(c.saying, ev.Outer...)
}

// handOver gives what was said in a round to the goroutine that passes it on.
func (c *cell) handOver() {
	if len(c.saying) > 0 {
		c.sayOutside(c.saying)
		c.saying = emptied(c.saying)
	}
}

// sayOutside has events passed on to the outer run.
func (c *cell) sayOutside(events []metasim.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.toOuter = append(c.toOuter, events...)
	c.changed.Signal()
}

// emptied is a slice whose memory is used again, unless a burst has made it large. What it had is not kept.
func emptied[T any](s []T) []T {
	const keep = 1 << 12
	if cap(s) > keep {
		return nil
	}
	clear(s)
	return s[:0]
}

// An innerWatch is an observer of the nested run.
type innerWatch struct{ *cell }

// Observe implements server.Observer.
func (c innerWatch) Observe(_ int64, ev metasim.Event, effects []metasim.Effect) error {
	if join, ok := ev.(*metasim.Join); ok {
		if name := c.runner.names()[join.Client]; !slices.Contains(c.runner.part.outside, name) {
			c.joined(name, join)
			if c.tell != nil {
				c.tell(name, join)
			}
		}
	}
	if c.gate == nil {
		return nil
	}
	if ev != nil {
		c.cell.say(c.gate.InnerStepped(ev))
	}
	for _, e := range effects {
		if f, ok := e.(*metasim.Finish); ok && f.Err == nil && !c.done {
			c.done = true
			c.cell.say(c.gate.InnerFinished())
			c.handOver()
		}
	}
	return nil
}

// settled takes that the dispatcher of the nested run has decided who may go on.
func (c *cell) settled(d *metasim.Dispatcher) {
	if c.gate == nil || c.done {
		return
	}
	if c.reactions == nil {
		c.reactions = d.OutsideReaction()
	}
	c.say(c.gate.InnerSettled(d))
	c.handOver()
}

// pass carries the gateway out: it joins both runs, and then passes on what each has for the other.
func (c *cell) pass(ctx context.Context) {
	select {
	case <-c.complete:
	case <-ctx.Done():
		return
	}
	inner := c.runner.server.Gate("the gateway of "+c.name, func([]wire.Packet) {})
	if err := c.join(inner); err != nil {
		c.around.fail(err)
		return
	}
	for {
		runtime.Gosched() // clients that can go on do so first: what they say is passed on together
		heard, said, over := c.next()
		if over {
			return
		}
		c.take(inner, heard)
		if len(said) > 0 {
			c.around.round(func(say func(wire.Packet)) { tell(say, said) })
		}
	}
}

// take takes what the outer run has for the nested one. A Permit has a round of its own: what comes after it may be sent only once it holds.
func (c *cell) take(inner *server.Gate, heard []any) {
	for len(heard) > 0 {
		if permit, ok := heard[0].(*metasim.Permit); ok {
			inner.Round(func(func(wire.Packet)) { inner.Permit(permit.Until) })
			heard = heard[1:]
			continue
		}
		n := slices.IndexFunc(heard, func(e any) bool { _, is := e.(*metasim.Permit); return is })
		if n < 0 {
			n = len(heard)
		}
		effects := heard[:n]
		heard = heard[n:]
		pass := func(say func(wire.Packet)) {
			for _, e := range effects {
				if e, ok := e.(metasim.Effect); ok {
					ev := c.gate.OuterSaid(e)
					c.say(ev)
					carry(inner, say, ev.Inner)
				}
			}
		}
		if !inner.Round(pass) { // the nested run is over, and what its clients have sent may still wait for the outer one
			pass(func(wire.Packet) {})
			c.handOver()
		}
	}
}

// next waits for something to pass on.
func (c *cell) next() (heard []any, said []metasim.Event, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed = passed{emptied(c.passed.heard), emptied(c.passed.said)}
	for len(c.heard) == 0 && (len(c.toOuter) == 0 || c.begun == 0) && !c.over {
		c.changed.Wait()
	}
	heard, c.heard, c.passed.heard = c.heard, c.passed.heard, c.heard
	if c.begun > 0 {
		said, c.toOuter, c.passed.said = c.toOuter, c.passed.said, c.toOuter
	}
	return heard, said, c.over
}

// told takes what the outer run says to the clients of the gateway: that it begins.
func (c *cell) told(packets []wire.Packet) {
	for _, p := range packets {
		if _, starts := p.Body.(wire.Start); starts {
			c.mu.Lock()
			c.begun++
			c.mu.Unlock()
			c.changed.Signal()
		}
	}
}

// join has all proxies join: first in the nested run, which begins then.
func (c *cell) join(inner *server.Gate) error {
	inside, err := c.proxies(sortedNames(&c.scenario), c.runner.part.outside)
	if err != nil {
		return err
	}
	outside, err := c.proxies(c.runner.part.outside, sortedNames(&c.scenario))
	if err != nil {
		return err
	}
	var hears []string // of all that is sent outside
	for _, p := range outside {
		hears = append(hears, p.Channels...)
	}
	slices.Sort(hears)
	hears = slices.Compact(hears)
	sending := func(p gateway.Proxy) bool { return len(p.Channels) > 0 }
	silent := func(p gateway.Proxy) bool { return len(p.Channels) == 0 }
	gate, err := gateway.New(gateway.Config{
		Name: c.name, Inside: slices.DeleteFunc(slices.Clone(inside), silent), Outside: slices.DeleteFunc(slices.Clone(outside), silent),
		Inner: c.runner.names(), Outer: c.around.names(), End: c.runner.end(),
	})
	if err != nil {
		return err
	}
	inner.Round(func(say func(wire.Packet)) {
		c.gate = gate
		for _, p := range outside {
			say(hello(c.runner.names(), c.runner.listeners.proxies, p, nil, 0))
		}
		ev := gate.InnerBegan()
		for _, p := range slices.DeleteFunc(slices.Clone(outside), sending) {
			ev.Inner = append(ev.Inner, &metasim.Leave{Client: c.runner.id(p.Name)})
		}
		c.say(ev)
		carry(inner, say, ev.Inner)
	})
	var silence []metasim.Event
	for _, p := range slices.DeleteFunc(slices.Clone(inside), sending) {
		silence = append(silence, &metasim.Leave{Client: number(c.around.names(), p.Name)})
	}
	c.sayOutside(silence)
	var reactions []metasim.Time
	inner.Round(func(func(wire.Packet)) { reactions = c.reactions })
	c.around.round(func(say func(wire.Packet)) {
		names, token := c.around.names(), c.around.token()
		say(hello(names, token, gateway.Proxy{Name: c.name}, hears, 0))
		for _, p := range inside {
			reaction := metasim.Time(0)
			if len(reactions) > 0 { // else the nested run is over
				reaction = reactions[c.runner.id(p.Name)]
			}
			say(hello(names, token, p, nil, reaction))
		}
	})
	return nil
}

// hello has a proxy join a run whose clients have these names.
func hello(names []string, token string, p gateway.Proxy, hears []string, reaction metasim.Time) wire.Packet {
	return wire.Packet{Member: uint32(number(names, p.Name)), Body: wire.Hello{
		Version: wire.Version, Minor: wire.Minor, Name: p.Name, Token: token, Publications: p.Channels, Subscriptions: hears, Reaction: reaction,
	}}
}

// end returns the end of a run, as its dispatcher has it.
func (r *runner) end() metasim.Instant {
	if r.scenario.Until > 0 {
		return metasim.At(r.scenario.Until)
	}
	return metasim.Infinity
}

// tell says events as their clients would.
func tell(say func(wire.Packet), events []metasim.Event) {
	for _, ev := range events {
		if id, ok := metasim.ClientOf(ev); ok {
			say(wire.Packet{Member: uint32(id), Body: ev})
		}
	}
}

// carry has the nested run take events, in a round of it.
func carry(inner *server.Gate, say func(wire.Packet), events []metasim.Event) {
	for _, ev := range events {
		if credit, is := ev.(*metasim.Credit); is {
			inner.Credit(credit)
		}
	}
	tell(say, events)
}

// proxies returns the proxies of some clients, with the channels that any of others subscribes to. All have joined.
func (n *nest) proxies(names, others []string) ([]gateway.Proxy, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return proxiesOf(n.declared, names, others)
}
