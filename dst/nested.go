package dst

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"metasim/federates/gateway"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// ear is the name of the client that hears for the nested run. It comes after all others, so that these have the same numbers in both runs.
const ear = "gateway"

// newNest draws which clients are in the nested run, and begins both.
func newNest(s *scenario) (*nest, error) {
	r := rand.New(rand.NewPCG(s.seed, Schedules+1))
	n := &nest{scenario: s, r: r, inside: make([]bool, len(s.clients))}
	for i := range n.inside {
		n.inside[i] = r.IntN(2) == 0
	}
	some := r.Perm(len(n.inside)) // there is a client in each
	n.inside[some[0]], n.inside[some[1]] = true, false
	n.outer, n.inner = drawNetwork(s, r), drawNetwork(s, r)
	group := []string{ear}
	for i := range s.clients {
		if name := s.clients[i].name; n.inside[i] {
			group = append(group, name)
		} else {
			n.inner.config.Outside = append(n.inner.config.Outside, name)
		}
	}
	if r.IntN(2) == 0 {
		n.outer.clientsDie()
		n.inner.clientsDie()
	}
	n.outer.config.Clients = append(n.outer.config.Clients, ear)
	n.outer.config.Groups = [][]string{group}
	n.inner.led = true
	n.outer.tap, n.inner.tap = n.outerSays, n.innerSays
	n.outer.number = func(from string, seq uint64) uint64 { return n.number(false, from, seq) }
	n.inner.number = func(from string, seq uint64) uint64 { return n.number(true, from, seq) }
	n.channels, n.numbers = make([][]string, len(s.clients)), make([][]uint64, len(s.clients))
	for i := range s.clients {
		n.channels[i] = n.crossing(i)
	}
	if err := n.outer.begin(func(i int) bool { return !n.inside[i] }); err != nil {
		return nil, err
	}
	if err := n.inner.begin(func(i int) bool { return n.inside[i] }); err != nil {
		return nil, err
	}
	n.inOuter = &conn{session: n.outer.server.Connect(gateOutput{func() { n.begun = true }})}
	n.inInner = &conn{session: n.inner.server.Connect(gateOutput{func() {}})}
	n.outer.conns = append(n.outer.conns, n.inOuter)
	return n, nil
}

// clientsDie has clients die, which are started again. Nothing else of nested runs survives a death.
func (n *network) clientsDie() {
	n.cut, n.restart = n.moment(0), true
	n.keepJournal()
}

// of returns the run that a client takes part in.
func (n *nest) of(i int) *network {
	if n.inside[i] {
		return n.inner
	}
	return n.outer
}

// A gateOutput takes the packets that a run sends to the clients of a gateway. The gateway learns all but the start of the run from its effects, so
// gateOutput reports the start and drops the rest.
type gateOutput struct{ started func() }

// Put takes a packet of the server.
func (o gateOutput) Put(p wire.Packet) {
	if _, starts := p.Body.(wire.Start); starts {
		o.started()
	}
}

// run lets things happen, one at a time, until nothing can.
func (n *nest) run() error {
	for range tooMuch {
		if err := errors.Join(n.outer.err, n.inner.err); err != nil {
			return err
		}
		for _, part := range [...]*network{n.outer, n.inner} {
			if part.happened++; part.ripe(part.cut) {
				part.lose()
			}
		}
		if !n.one(true) && !n.one(false) {
			return n.end()
		}
	}
	return fmt.Errorf("no end after %d things", tooMuch)
}

// one lets one of the things happen that can, in one of the runs or between them, and reports whether there was one.
func (n *nest) one(patient bool) bool {
	can := [...]func(bool) bool{n.outer.one, n.inner.one, n.pass}
	first := n.r.IntN(len(can))
	for k := range can {
		if can[(first+k)%len(can)](patient) {
			return true
		}
	}
	return false
}

// pass lets the gateway do something, if it can: join, take what the outer run has for it, or write what it has for that.
func (n *nest) pass(patient bool) bool {
	hears := len(n.heard) > 0 && (n.gate != nil || isPermit(n.heard[0]))
	writes := n.begun && len(n.said) > 0
	switch {
	case n.gate == nil && n.allInside():
		n.joinInner()
	case n.gate != nil && !n.asked:
		n.joinOuter()
	case patient && n.r.IntN(3) == 0:
		return false
	case hears && (!writes || n.r.IntN(2) == 0):
		n.take()
	case writes:
		k := 1 + n.r.IntN(len(n.said))
		for _, ev := range n.said[:k] {
			n.inOuter.up = append(n.inOuter.up, saying(ev))
		}
		n.said = n.said[k:]
	default:
		return false
	}
	return true
}

func isPermit(e any) bool {
	_, is := e.(*metasim.Permit)
	return is
}

// allInside reports whether all clients of the nested run have joined it.
func (n *nest) allInside() bool {
	for i, in := range n.inside {
		if in && n.inner.server.Presence(metasim.ClientID(i)) != session.Present {
			return false
		}
	}
	return true
}

// joinInner has the proxies of the clients outside join the nested run, which begins with that.
func (n *nest) joinInner() {
	sends := func(p gateway.Proxy) bool { return len(p.Channels) > 0 }
	inside, outside := n.proxies(true), n.proxies(false)
	silent := slices.DeleteFunc(slices.Clone(outside), sends)
	for _, p := range outside {
		n.inner.packet(n.inInner, n.hello(p, nil, 0))
	}
	keep := func(proxies []gateway.Proxy) []gateway.Proxy {
		return slices.DeleteFunc(proxies, func(p gateway.Proxy) bool { return !sends(p) })
	}
	var err error
	n.gate, err = gateway.New(gateway.Config{
		Name: ear, Inside: keep(inside), Outside: keep(outside), Inner: n.inner.dispatcher.Names(), Outer: n.outer.dispatcher.Names(), End: n.inner.dispatcher.End(),
	})
	if err != nil {
		n.inner.complain(err)
		return
	}
	n.reactions = n.inner.dispatcher.OutsideReaction()
	began := n.gate.InnerBegan()
	for _, p := range silent {
		began.Inner = append(began.Inner, &metasim.Leave{Client: n.id(p.Name)})
	}
	n.carryOut(began)
}

// joinOuter has the group join the outer run. Who sends nothing there leaves at once.
func (n *nest) joinOuter() {
	n.asked = true
	var hears []string
	for _, p := range n.proxies(false) {
		hears = append(hears, p.Channels...)
	}
	slices.Sort(hears)
	n.inOuter.up = append(n.inOuter.up, n.hello(gateway.Proxy{Name: ear}, slices.Compact(hears), 0))
	var silent []metasim.Event
	for _, p := range n.proxies(true) {
		n.inOuter.up = append(n.inOuter.up, n.hello(p, nil, n.reactions[n.id(p.Name)]))
		if len(p.Channels) == 0 {
			silent = append(silent, &metasim.Leave{Client: n.id(p.Name)})
		}
	}
	n.said = append(silent, n.said...)
}

// id returns the number of a client, which is the same in both runs.
func (n *nest) id(name string) metasim.ClientID {
	return metasim.ClientID(slices.Index(n.outer.dispatcher.Names(), name))
}

// proxies returns the clients of one run as they take part in the other, with the channels that somebody hears there.
func (n *nest) proxies(inside bool) (all []gateway.Proxy) {
	for i := range n.clients {
		if n.inside[i] == inside {
			all = append(all, gateway.Proxy{Name: n.clients[i].name, Channels: n.channels[i]})
		}
	}
	return all
}

// crossing returns the channels of a client that somebody hears in the other run.
func (n *nest) crossing(i int) (channels []string) {
	for _, channel := range n.clients[i].pubs {
		for k := range n.clients {
			heard := slices.ContainsFunc(n.clients[k].patterns, func(p metasim.Pattern) bool { return p.Match(channel) })
			if heard && n.inside[k] != n.inside[i] && !slices.Contains(channels, channel) {
				channels = append(channels, channel)
			}
		}
	}
	return channels
}

// counts notes the number of a send, if it matters in the other run.
func (n *nest) counts(from metasim.ClientID, channel string, seq uint64) {
	if slices.Contains(n.channels[from], channel) {
		n.numbers[from] = append(n.numbers[from], seq)
	}
}

// number returns the number of a message of a client, as that counts, from what it is in one of the runs.
func (n *nest) number(inside bool, from string, seq uint64) uint64 {
	if id := n.id(from); n.inside[id] != inside {
		return n.numbers[id][seq]
	}
	return seq
}

func (n *nest) hello(p gateway.Proxy, hears []string, reaction metasim.Time) wire.Packet {
	return wire.Packet{Member: uint32(n.id(p.Name)), Body: wire.Hello{
		Version: wire.Version, Minor: wire.Minor, Name: p.Name, Publications: p.Channels, Subscriptions: hears, Reaction: reaction,
	}}
}

// saying is an event as its client would say it.
func saying(ev metasim.Event) wire.Packet {
	id, _ := metasim.ClientOf(ev)
	return wire.Packet{Member: uint32(id), Body: ev}
}

// outerSays takes what the outer run observes.
func (n *nest) outerSays(ev metasim.Event, effects []metasim.Effect) {
	if p, ok := ev.(*metasim.Permit); ok {
		n.heard = append(n.heard, new(*p))
	}
	behind := func(id metasim.ClientID) bool { return int(id) == len(n.inside) || n.inside[id] }
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			if behind(e.To) {
				n.heard = append(n.heard, new(*e))
			}
		case *metasim.Authorize:
			if behind(e.To) {
				n.heard = append(n.heard, new(*e))
			}
		}
	}
}

// innerSays takes what the nested run observes.
func (n *nest) innerSays(ev metasim.Event, effects []metasim.Effect) {
	if n.gate == nil || n.over {
		return
	}
	if ev == nil {
		n.carryOut(n.gate.InnerSettled(n.inner.dispatcher))
		return
	}
	if send, ok := ev.(*metasim.Send); ok && n.inside[send.Client] {
		n.counts(send.Client, send.Channel, n.inner.ledger.Account(send.Client).Sent-1)
	}
	n.carryOut(n.gate.InnerStepped(ev))
	if n.inner.finished {
		n.over = true
		n.carryOut(n.gate.InnerFinished())
	}
}

// take takes some of what the outer run has for the gateway. A Permit holds for the nested run too, before anything that it allows is sent there.
func (n *nest) take() {
	k := 1 + n.r.IntN(len(n.heard))
	heard := n.heard[:k]
	n.heard = n.heard[k:]
	for i, e := range heard {
		switch e := e.(type) {
		case *metasim.Permit:
			if !n.over {
				n.inner.permit(e.Until)
				n.inner.settle() // the proxies are authorized as far, before they send
			}
		case metasim.Effect:
			if n.gate == nil {
				n.heard = append(heard[i:], n.heard...)
				return
			}
			if d, ok := e.(*metasim.Deliver); ok {
				n.counts(d.Message.From, d.Message.Channel, d.Message.Seq)
			}
			n.carryOut(n.gate.OuterSaid(e))
		}
	}
}

// carryOut does what the gateway has returned.
func (n *nest) carryOut(ev gateway.Events) {
	for _, o := range ev.Outer {
		n.crosses(o)
		n.said = append(n.said, o)
	}
	for _, i := range ev.Inner {
		if n.over {
			return
		}
		n.crosses(i)
		if credit, is := i.(*metasim.Credit); is {
			n.inner.observe(credit, n.inner.dispatcher.Step(credit))
			n.inner.dirty = true
			continue
		}
		n.inner.packet(n.inInner, saying(i))
	}
}

func (n *nest) crosses(ev metasim.Event) {
	if _, sends := ev.(*metasim.Send); sends {
		n.inner.count[countCrossed]++
	}
}

// end checks two runs in which nothing can happen any more.
func (n *nest) end() error {
	if err := errors.Join(n.outer.end(), n.inner.end()); err != nil {
		return err
	}
	acts := 0
	for i := range n.inside {
		c := n.of(i).clients[i]
		acts += max(len(c.transcript), len(c.old))
	}
	n.inner.count[countNestedAgain] = n.outer.count[countRestarted] + n.inner.count[countRestarted]
	// What crosses is given twice, so there are twice as many authorizations as in one run, at most.
	if grants := n.outer.books.grants + n.inner.books.grants; grants > 2*creep*(acts+len(n.inside)) {
		return fmt.Errorf("%d authorizations in both runs for %d things that clients saw or did: they creep", grants, acts)
	}
	return nil
}
