// Package gateway is what stands between two dispatchers when a run is nested in another: pure, events and effects in, events out.
//
// Each dispatcher owns the links into its own clients. A client of one run whose sends matter in the other has a proxy there, an ordinary
// client of the same name that only sends. The gateway does the client's sends again through the proxy, at the same instants. So delays,
// draws, order and digests are those of the flat run.
//
//	outer run                  gateway                      nested run
//	cell     hears ----------- Deliver, Authorize --------> outside clients: Send, Promise, Leave
//	cell/a   proxy <---------- Send, reports, Leave ------- client cell/a, and Dispatcher.EarliestSend
//	cell/a   proxy ----------- Authorize -----------------> client cell/a: Credit
//
// In the outer run the client that hears and the proxies are a group (metasim.Config.Groups). In the nested run the proxies of outer
// clients are outside (metasim.Config.Outside).
//
// Neither run is far ahead of the other. A client inside goes no further than the outer run authorizes its proxy, which is as far as the
// memory of that run allows. And while much is held inside, the gateway takes from outside only what is needed.
//
// # The caller's duties
//
//  1. The nested run begins first: Join and Begin its dispatcher, then step what InnerBegan returns.
//  2. Join the group in the outer run: the client that hears with its subscriptions, each proxy with its publications and with the
//     reaction time that Dispatcher.OutsideReaction of the nested run says. One ordered stream carries all clients of the group, and
//     carries nothing that the gateway says before the outer run has begun.
//  3. Tell the gateway of each event that the inner dispatcher has stepped (InnerStepped), of each Settle of it, with or without effects
//     (InnerSettled), and of each Deliver and Authorize to a client of the group (OuterSaid), each in order.
//  4. Carry out what is returned, in order, before the next call: Events.Inner are stepped in the inner dispatcher, and InnerStepped is
//     called for them, too; Settle follows. Events.Outer go to the outer dispatcher over the stream of the group; they
//     may wait, but the next call uses the slice again.
//  5. When the nested run is finished, InnerFinished.
//
// A violation of these duties is found as a broken rule of a proxy in one of the dispatchers, and never passes in silence.
package gateway

import (
	"fmt"
	"math"
	"slices"

	"metasim/metasim"
)

// A Proxy is a client of one run that sends in the other, too.
type Proxy struct {
	Name     string       // the same in both runs
	Channels []string     // on which it sends there; sends on others stay at home
	Reaction metasim.Time // of one inside: with which it joined the outer run; 0 is always right
}

// A Config says who is who.
type Config struct {
	Name         string          // of the client of the outer run that hears for the nested one
	Inside       []Proxy         // the clients of the nested run whose sends matter outside
	Outside      []Proxy         // the clients of the outer run whose sends matter inside
	Inner, Outer []string        // the names of all clients of each run, in order: Dispatcher.Names
	End          metasim.Instant // of both runs: Dispatcher.End
}

// Inner is what a gateway asks of the dispatcher of the nested run.
type Inner interface {
	EarliestSend(metasim.ClientID) (whatever, alone metasim.Instant)
	Foreseen() []metasim.ClientID
	Waits(metasim.ClientID) (need metasim.Instant, waits bool)
	OutsideNeed() metasim.Instant
	Crowded() (slowest metasim.Instant, much bool)
}

// Events are what is to be stepped in each run, in order.
type Events struct{ Inner, Outer []metasim.Event }

// A Gateway stands between the dispatchers of two runs. It is not safe for concurrent use.
type Gateway struct {
	ear     ear
	members []*member // by their number in the nested run, nil where a client sends nothing outside
	proxies []*member // the same, by their number in the outer run
	sending []*member // the same, in order
	outside []*remote // by their number in the outer run, nil where a client sends nothing inside
	remotes []*remote // the same, in order
	end     metasim.Instant
	out     Events
	reports reports
}

// An ear is the client of the outer run that hears.
type ear struct {
	id      metasim.ClientID
	granted metasim.Instant
	told    metasim.Instant // up to where it has said that it was authorized: what it promises
	want    metasim.Instant // what it waits for
	waits   bool
	any     bool // any message ends its wait
	polled  bool
	given   uint64          // the last delivery, which the inner dispatcher has been told of
	acked   uint64          // the last one that was acknowledged
	due     metasim.Instant // of the last delivery
	left    bool
}

// A remote is a client of the outer run, as the nested run has it.
type remote struct {
	inner    metasim.ClientID
	channels []string
	clock    metasim.Instant // of its last send there
	promise  metasim.Promise // the last one
}

// A member is a client of the nested run, as the outer run has it.
type member struct {
	inner    metasim.ClientID
	outer    metasim.ClientID
	channels []string
	reaction metasim.Time
	granted  metasim.Instant // by the outer run: its credit inside
	clock    metasim.Instant // of its last send there
	whatever metasim.Instant // what the inner dispatcher says of it
	alone    metasim.Instant
	floor    metasim.Instant // what the outer dispatcher was told
	next     metasim.Instant
	polled   bool
	need     metasim.Instant // what it waits for inside, where it waits
	waits    bool
	want     metasim.Instant // what it waits for in the outer run, where it asks
	asks     bool
	left     bool
}

// reports are made many at a time, as most of what a gateway says are reports. Nothing large lives as long as they do.
type reports struct {
	advances []metasim.Advance
	polls    []metasim.PollWait
}

const reportsAtOnce = 64

func (r *reports) advance(a metasim.Advance) *metasim.Advance {
	if len(r.advances) == 0 {
		r.advances = make([]metasim.Advance, reportsAtOnce)
	}
	made := &r.advances[0]
	*made, r.advances = a, r.advances[1:]
	return made
}

func (r *reports) poll(p metasim.PollWait) *metasim.PollWait {
	if len(r.polls) == 0 {
		r.polls = make([]metasim.PollWait, reportsAtOnce)
	}
	made := &r.polls[0]
	*made, r.polls = p, r.polls[1:]
	return made
}

// New returns a gateway, or what is wrong with the names.
func New(c Config) (*Gateway, error) {
	g := &Gateway{end: c.End}
	g.members, g.proxies, g.outside = make([]*member, len(c.Inner)), make([]*member, len(c.Outer)), make([]*remote, len(c.Outer))
	if g.end == metasim.Start {
		g.end = metasim.Infinity
	}
	find := func(names []string, run, name string) (metasim.ClientID, error) {
		i, ok := slices.BinarySearch(names, name)
		if !ok {
			return 0, fmt.Errorf("the %s run has no client %q; give the gateway its names, in order", run, name)
		}
		return metasim.ClientID(i), nil
	}
	var err error
	if g.ear.id, err = find(c.Outer, "outer", c.Name); err != nil {
		return nil, err
	}
	for _, p := range c.Inside {
		inner, err := find(c.Inner, "nested", p.Name)
		if err != nil {
			return nil, err
		}
		outer, err := find(c.Outer, "outer", p.Name)
		if err != nil {
			return nil, err
		}
		m := &member{inner: inner, outer: outer, channels: p.Channels, reaction: p.Reaction}
		g.members[inner], g.proxies[outer] = m, m
		g.sending = append(g.sending, m)
	}
	for _, p := range c.Outside {
		inner, err := find(c.Inner, "nested", p.Name)
		if err != nil {
			return nil, err
		}
		outer, err := find(c.Outer, "outer", p.Name)
		if err != nil {
			return nil, err
		}
		r := &remote{inner: inner, channels: p.Channels}
		g.outside[outer] = r
		g.remotes = append(g.remotes, r)
	}
	return g, nil
}

// InnerBegan ends the initialization of the outside clients in the nested run: they may send at the start, and nobody waits there for the
// outer run to begin, but those that are heard there.
func (g *Gateway) InnerBegan() Events {
	g.begin()
	for _, m := range g.sending {
		g.out.Inner = append(g.out.Inner, &metasim.Credit{Client: m.inner})
	}
	for _, r := range g.remotes {
		g.out.Inner = append(g.out.Inner, &metasim.PollWait{Client: r.inner})
	}
	return g.out
}

// begin begins a call. What InnerStepped returns for an event of Events.Inner leaves the others there.
func (g *Gateway) begin() {
	clear(g.out.Outer) // a payload is not kept
	g.out = Events{Outer: g.out.Outer[:0]}
}

// InnerStepped takes an event that the inner dispatcher has stepped.
func (g *Gateway) InnerStepped(ev metasim.Event) Events {
	g.begin()
	switch ev := ev.(type) {
	case *metasim.Send:
		m := g.members[ev.Client]
		if m == nil || !slices.Contains(m.channels, ev.Channel) {
			break
		}
		m.clock = ev.Sent
		m.floor = metasim.Later(m.floor, m.clock)
		g.out.Outer = append(g.out.Outer, &metasim.Send{Client: m.outer, Channel: ev.Channel, Sent: ev.Sent, Payload: ev.Payload})
	case *metasim.Leave:
		if m := g.members[ev.Client]; m != nil {
			g.leave(m)
		}
	}
	return g.out
}

// InnerSettled takes that the inner dispatcher has settled after all events so far: what each client may still send is promised in the
// outer run, then what came from there is acknowledged. The other way round the outer dispatcher would believe for a moment that
// nothing that came from outside can be answered any more.
func (g *Gateway) InnerSettled(inner Inner) Events {
	g.begin()
	changed := inner.Foreseen()
	if len(changed) == 0 && !g.ear.polled {
		return g.out // no client of the nested run is authorized yet
	}
	for _, id := range changed {
		if m := g.members[id]; m != nil && !m.left {
			m.whatever, m.alone = inner.EarliestSend(id)
			m.need, m.waits = inner.Waits(id)
			g.report(m)
		}
	}
	g.listen(inner)
	return g.out
}

// InnerFinished takes that the nested run is over: the client that hears leaves last.
func (g *Gateway) InnerFinished() Events {
	g.begin()
	for _, m := range g.sending {
		g.leave(m)
	}
	g.ear.left = true
	g.out.Outer = append(g.out.Outer, &metasim.Leave{Client: g.ear.id, Now: g.ear.due, Acked: g.ear.given})
	return g.out
}

// OuterSaid takes a Deliver or an Authorize to a client of the group.
func (g *Gateway) OuterSaid(e metasim.Effect) Events {
	g.begin()
	switch e := e.(type) {
	case *metasim.Deliver:
		g.ear.given, g.ear.due = e.Number, e.Message.Due
		r := g.outside[e.Message.From]
		if r == nil || !slices.Contains(r.channels, e.Message.Channel) {
			break
		}
		r.clock = e.Message.Sent
		g.out.Inner = append(g.out.Inner, &metasim.Send{
			Client: r.inner, Channel: e.Message.Channel, Sent: e.Message.Sent, Payload: e.Message.Payload,
		})
	case *metasim.Authorize:
		if e.To == g.ear.id {
			g.authorized(e.Until)
			break
		}
		if m := g.proxies[e.To]; m != nil {
			m.asks = false
			if m.granted.Before(e.Until) {
				m.granted = e.Until
				g.out.Inner = append(g.out.Inner, &metasim.Credit{Client: m.inner, Until: e.Until})
			}
			g.report(m)
		}
	}
	return g.out
}

// authorized passes on that everything is known that was sent outside so that it arrives here before an instant.
func (g *Gateway) authorized(until metasim.Instant) {
	g.ear.waits = false
	if !g.ear.granted.Before(until) {
		return
	}
	g.ear.granted = until
	for _, r := range g.remotes {
		if until == g.end {
			g.out.Inner = append(g.out.Inner, &metasim.Leave{Client: r.inner, Now: r.clock})
			continue
		}
		r.promise = metasim.Promise{Client: r.inner, NoSendBefore: oneStepBefore(until)}
		g.out.Inner = append(g.out.Inner, &r.promise)
	}
	if until == g.end {
		g.remotes = nil
	}
}

// oneStepBefore returns the least instant at which something is sent that arrives over a link of one step at an instant or later.
func oneStepBefore(i metasim.Instant) metasim.Instant {
	switch {
	case i == metasim.Start:
		return i
	case i.Step > 0:
		return metasim.Instant{Time: i.Time, Step: i.Step - 1}
	}
	return metasim.Instant{Time: i.Time - 1, Step: math.MaxUint32}
}

// leave ends the part of a member in the outer run.
func (g *Gateway) leave(m *member) {
	if !m.left {
		m.left = true
		g.out.Outer = append(g.out.Outer, &metasim.Leave{Client: m.outer, Now: m.clock})
	}
}

// report promises in the outer run what the inner dispatcher has said of a member. A member that has no more credit waits in the outer run, too:
// for the earlier of what it is to do, and of what it may send if nobody outside sends again, as to wait is a promise.
func (g *Gateway) report(m *member) {
	if m.left {
		return
	}
	floor, next := m.whatever, m.alone
	want := metasim.Earlier(m.need, next)
	asks := m.waits && m.need.Before(g.end) && !want.Before(m.granted)
	if !m.polled && !asks { // its initialization ends
		want, asks = next, true
	}
	if m.polled && next == m.next && (!asks || m.asks && want == m.want) && !g.ear.granted.React(m.reaction).Before(floor) {
		return // the outer dispatcher knows as much
	}
	m.floor, m.next = metasim.Later(m.floor, floor), next
	m.polled, m.asks, m.want = true, asks, want
	r := metasim.Report{Now: m.clock, NoSendBefore: m.floor, NextEvent: m.next}
	if asks {
		g.out.Outer = append(g.out.Outer, g.reports.poll(metasim.PollWait{Client: m.outer, Report: r, Want: want, Messages: true}))
	} else {
		g.out.Outer = append(g.out.Outer, g.reports.advance(metasim.Advance{Client: m.outer, Report: r}))
	}
}

// listen acknowledges what came from outside, and asks for more: for any message, and where a client of the nested run waits for the outside.
// While much is held inside it asks for no message before one is needed: by a client that waits for the outside, or by the slowest.
func (g *Gateway) listen(inner Inner) {
	e := &g.ear
	if e.left {
		return
	}
	need := inner.OutsideNeed()
	slowest, much := inner.Crowded()
	much = much && e.polled
	if much && !slowest.Before(e.granted) {
		need = metasim.Earlier(need, slowest)
	}
	holds := much && need == metasim.Infinity
	need = metasim.Later(need, e.granted)
	acked := e.acked == e.given
	r := metasim.Report{Now: e.due, NoSendBefore: e.granted, NextEvent: metasim.Infinity, Acked: e.given}
	told := e.told == e.granted
	e.acked, e.told = e.given, e.granted
	switch {
	case holds || e.polled && e.granted == g.end: // nothing more is to come, or will
		if !acked || !told || holds && e.waits {
			e.waits = false
			g.out.Outer = append(g.out.Outer, g.reports.advance(metasim.Advance{Client: e.id, Report: r}))
		}
	case !acked || !e.waits || need.Before(e.want) || e.any == much:
		e.polled, e.waits, e.want, e.any = true, true, need, !much
		g.out.Outer = append(g.out.Outer, g.reports.poll(metasim.PollWait{Client: e.id, Report: r, Want: need, Messages: !much}))
	}
}
