package run

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"metasim/federates/gateway"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/scenarios"
	"metasim/server"
	"metasim/wire"
)

// A nest is an outer run with all that are nested in it.
type nest struct {
	outer *runner
	cells []*cell
	owner map[metasim.ClientID]*cell // of the clients of the outer run that a gateway speaks for

	mu       sync.Mutex
	declared map[string]*metasim.Join // by name: real clients that have joined
	missing  int                      // of them, that have not
	complete chan struct{}            // closed when none is missing
}

// A cell is a run that is nested in another one.
type cell struct {
	*nest
	name     string
	scenario scenarios.Scenario // its clients, and all links
	runner   *runner

	// The turn of the nested run guards these.
	gate      *gateway.Gateway // nil until all clients of all runs have joined
	reactions []metasim.Time   // of its clients to the outside; nil until it has begun
	done      bool             // the nested run is finished

	mu      sync.Mutex
	changed sync.Cond
	heard   []any // of the outer run: effects for the gateway, and how far the run may go
	toOuter []metasim.Event
	begun   int  // clients in the outer run that may speak
	over    bool // the outer run is over
}

func newCell(n *nest, sc *scenarios.Scenario, name string) *cell {
	c := &cell{nest: n, name: name, scenario: *sc}
	c.scenario.Clients = nil
	c.changed.L = &c.mu
	return c
}

// joined notes that a real client has joined.
func (n *nest) joined(name string, ev *metasim.Join) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.declared[name] = &metasim.Join{Publications: slices.Clone(ev.Publications), Subscriptions: slices.Clone(ev.Subscriptions)}
	if n.missing--; n.missing == 0 {
		close(n.complete)
	}
}

// hear takes what the outer run has for a client of the group, or a Permit.
func (c *cell) hear(e any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, e)
	c.changed.Signal()
}

// say has the outer run told of what the gateway has returned. The nested run has its turn.
func (c *cell) say(ev gateway.Events) {
	if len(ev.Outer) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.toOuter = append(c.toOuter, ev.Outer...)
	c.changed.Signal()
}

// An innerWatch is an observer of the nested run.
type innerWatch struct{ *cell }

// Observe implements server.Observer.
func (c innerWatch) Observe(_ int64, ev metasim.Event, effects []metasim.Effect) error {
	if join, ok := ev.(*metasim.Join); ok {
		if name := c.runner.names()[join.Client]; !slices.Contains(c.runner.part.outside, name) {
			c.joined(name, join)
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
}

// pass carries the gateway out: it joins both runs, and then passes on what each has for the other.
func (c *cell) pass(ctx context.Context) {
	select {
	case <-c.complete:
	case <-ctx.Done():
		return
	}
	inner := c.runner.server.Gate("the gateway of "+c.name, func([]wire.Packet) {})
	outer := c.nest.outer.server.Gate("the nested run "+c.name, c.told)
	if err := c.join(inner, outer); err != nil {
		c.nest.outer.server.Fail(err)
		return
	}
	for {
		heard, said, over := c.next()
		if over {
			return
		}
		c.take(inner, heard)
		if len(said) > 0 {
			outer.Round(func(say func(wire.Packet)) { tell(say, said) })
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
					tell(say, ev.Inner)
				}
			}
		}
		if !inner.Round(pass) { // the nested run is over, and what its clients have sent may still wait for the outer one
			pass(func(wire.Packet) {})
		}
	}
}

// next waits for something to pass on.
func (c *cell) next() (heard []any, said []metasim.Event, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.heard) == 0 && (len(c.toOuter) == 0 || c.begun == 0) && !c.over {
		c.changed.Wait()
	}
	heard, c.heard = c.heard, nil
	if c.begun > 0 {
		said, c.toOuter = c.toOuter, nil
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
func (c *cell) join(inner, outer *server.Gate) error {
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
		Inner: c.runner.names(), Outer: c.nest.outer.names(), End: c.runner.end(),
	})
	if err != nil {
		return err
	}
	inner.Round(func(say func(wire.Packet)) {
		c.gate = gate
		for _, p := range outside {
			c.runner.hello(say, p, nil, 0)
		}
		ev := gate.InnerBegan()
		for _, p := range slices.DeleteFunc(slices.Clone(outside), sending) {
			ev.Inner = append(ev.Inner, &metasim.Leave{Client: c.runner.id(p.Name)})
		}
		c.say(ev)
		tell(say, ev.Inner)
	})
	var silence gateway.Events
	for _, p := range slices.DeleteFunc(slices.Clone(inside), sending) {
		silence.Outer = append(silence.Outer, &metasim.Leave{Client: c.nest.outer.id(p.Name)})
	}
	c.say(silence)
	var reactions []metasim.Time
	inner.Round(func(func(wire.Packet)) { reactions = c.reactions })
	outer.Round(func(say func(wire.Packet)) {
		c.nest.outer.hello(say, gateway.Proxy{Name: c.name}, hears, 0)
		for _, p := range inside {
			reaction := metasim.Time(0)
			if len(reactions) > 0 { // else the nested run is over
				reaction = reactions[c.runner.id(p.Name)]
			}
			c.nest.outer.hello(say, p, nil, reaction)
		}
	})
	return nil
}

// hello has a proxy join.
func (r *runner) hello(say func(wire.Packet), p gateway.Proxy, hears []string, reaction metasim.Time) {
	say(wire.Packet{Member: uint32(r.id(p.Name)), Body: wire.Hello{
		Version: wire.Version, Minor: wire.Minor, Name: p.Name, Token: r.listeners.token, Publications: p.Channels, Subscriptions: hears, Reaction: reaction,
	}})
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

// merge makes the outcome of the outer run that of all, as if one dispatcher had carried them out.
func (n *nest) merge(out *Outcome, inner []*Outcome) {
	all := realClients(n.outer)
	results := slices.DeleteFunc(slices.Clone(out.Clients), func(c ClientOutcome) bool { return n.owner[n.outer.id(c.Name)] != nil })
	for i, c := range n.cells {
		all = append(all, realClients(c.runner)...)
		for _, of := range inner[i].Clients {
			if !slices.Contains(c.runner.part.outside, of.Name) {
				results = append(results, of)
			}
		}
		out.Nested = append(out.Nested, inner[i].RunDir)
		out.Deterministic = out.Deterministic && inner[i].Deterministic
		out.EndNS = max(out.EndNS, inner[i].EndNS)
		out.Warnings = append(out.Warnings, inner[i].Warnings...)
	}
	slices.SortFunc(all, func(a, b server.ClientResult) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(results, func(a, b ClientOutcome) int { return cmp.Compare(a.Name, b.Name) })
	out.Clients = results
	shares := func(yield func(metasim.Share) bool) {
		for _, c := range all {
			if !yield(metasim.Share{Name: c.Name, Digest: c.Digest, Sent: c.Sent, Sends: c.Sends}) {
				return
			}
		}
	}
	out.Messages = Messages{}
	var names []string
	var left [][]byte
	for _, c := range all {
		names, left = append(names, c.Name), append(left, c.Result)
		out.Messages.Sent += c.Sent
		out.Messages.Delivered += c.Delivered
		out.Messages.Dropped += c.Lost
		out.Messages.Undelivered += c.Queued - c.Delivered
	}
	out.Digests = journal.Digests{
		Digest: metasim.RunDigest(shares).String(), SendsDigest: metasim.RunSendsDigest(shares).String(), ResultsDigest: journal.ResultsDigest(names, left).String(),
	}
}

// realClients returns the results of the clients of a run that are no proxies.
func realClients(r *runner) []server.ClientResult {
	return slices.DeleteFunc(r.server.Result().Clients, func(c server.ClientResult) bool { return slices.Contains(r.part.proxies, c.Name) })
}

// proxies returns the proxies of some clients, with the channels that any of others subscribes to.
func (n *nest) proxies(names, others []string) (all []gateway.Proxy, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	patterns := map[string]metasim.Pattern{}
	for _, name := range others {
		d := n.declared[name]
		if d == nil {
			continue // a gateway itself
		}
		for _, s := range d.Subscriptions {
			if _, known := patterns[s]; known {
				continue
			}
			if patterns[s], err = metasim.CompilePattern(s); err != nil {
				return nil, err
			}
		}
	}
	heard := map[string]bool{}
	hears := func(channel string) bool {
		is, known := heard[channel]
		if known {
			return is
		}
		_, is = patterns[channel]
		for _, p := range patterns { // any of them: the order is of no interest
			is = is || p.Match(channel)
		}
		heard[channel] = is
		return is
	}
	for _, name := range names {
		p := gateway.Proxy{Name: name}
		if d := n.declared[name]; d != nil {
			for _, channel := range d.Publications {
				if hears(channel) {
					p.Channels = append(p.Channels, channel)
				}
			}
		}
		all = append(all, p)
	}
	return all, nil
}
