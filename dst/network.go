package dst

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// newNetwork begins a run of a scenario: schedule keys all that may differ between runs.
func newNetwork(s *scenario, schedule uint64) (*network, error) {
	r := rand.New(rand.NewPCG(s.seed, schedule))
	memory := s.memory
	if memory == 0 {
		memory = pick(r, 0, 1, 1000, 10_000, metasim.DefaultMemory) // no client may notice
	}
	config := metasim.Config{Delays: s.delays, Until: s.until, Memory: memory, Cascade: metasim.DefaultCascade, Ahead: pick(r, 0, 0, 1, 300)}
	for _, i := range r.Perm(len(s.clients)) {
		config.Clients = append(config.Clients, s.clients[i].name)
	}
	d, err := metasim.New(config)
	if err != nil {
		return nil, err
	}
	server, err := session.NewServer(session.ServerConfig{Scenario: "dst", Seed: s.seed, Names: d.Names(), Until: d.End()})
	if err != nil {
		return nil, err
	}
	n := &network{
		scenario: s, r: r, dispatcher: d, server: server, ledger: metasim.NewLedger(d.Names()),
		lazy: pick(r, 0, 50, 90, 97), permitted: metasim.Infinity, clients: make([]*client, len(s.clients)),
	}
	n.books.accounts = make([]account, len(s.clients))
	if s.permits {
		n.permit(metasim.At(metasim.Time(r.IntN(30))))
	}
	hosts := 1 + r.IntN(len(s.clients))
	for range hosts {
		c := &conn{slow: r.IntN(4) == 0}
		c.session = server.Connect(&output{n, c})
		n.conns = append(n.conns, c)
	}
	for _, i := range r.Perm(len(s.clients)) {
		if err := n.join(i, n.conns[r.IntN(hosts)]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *network) join(i int, conn *conn) error {
	c := &client{network: n, conn: conn, member: uint32(len(conn.members))}
	c.simulator = newSimulator(n.scenario, i, c)
	c.out.Member = c.member
	var d session.Declaration
	var errs []error
	for _, channel := range c.pubs {
		errs = append(errs, d.Publish(channel))
	}
	for _, pattern := range c.subs {
		errs = append(errs, d.Subscribe(pattern))
	}
	errs = append(errs, d.React(c.reaction))
	var err error
	c.Client, err = d.Join(c.name, "", &c.out)
	n.clients[i] = c
	conn.members = append(conn.members, c)
	return errors.Join(append(errs, err)...)
}

// Put takes a packet of the server.
func (o *output) Put(p wire.Packet) { o.c.batch = append(o.c.batch, p.Keep()) }

// read lets the server read some packets of a connection.
func (n *network) read(c *conn, packets int) {
	for _, p := range c.up[:packets] {
		if n.failed == nil {
			n.packet(c, p)
		}
	}
	c.up = append(c.up[:0], c.up[packets:]...)
}

// packet takes one packet to the server's end, and what follows from it to the dispatcher.
func (n *network) packet(c *conn, p wire.Packet) {
	ev, refusal := n.server.Receive(c.session, p)
	if refusal != nil {
		n.complain(refused(refusal))
	}
	if join, ok := ev.(*metasim.Join); ok && n.server.Presence(join.Client) == session.Away {
		n.comeBack(c, join)
		return
	}
	for ev != nil && n.err == nil {
		n.observe(ev, n.dispatcher.Step(ev))
		n.dirty = true
		if n.failed != nil {
			n.complain(n.failed)
			return
		}
		ev = n.server.Answer(ev)
	}
}

func (n *network) complain(err error) {
	if err != nil && n.err == nil {
		n.err = err
	}
}

// settle settles, and checks what holds after it.
func (n *network) settle() {
	n.dirty = false
	n.observe(nil, n.dispatcher.Settle())
	n.complain(n.books.compare(n.dispatcher))
}

// permit lets the run go on to an instant.
func (n *network) permit(until metasim.Instant) {
	n.reached, n.permitted, n.dirty = nil, until, true
	n.stretches++
	ev := &metasim.Permit{Until: until}
	n.observe(ev, n.dispatcher.Step(ev))
}

// onward answers a Reached: a stretch further, from where the last one ended or from where something happens next.
func (n *network) onward() {
	from := n.reached.Until
	if n.r.IntN(2) == 0 {
		from = n.reached.Next
	}
	if n.r.IntN(10) == 0 {
		n.permit(metasim.Infinity)
		return
	}
	n.permit(metasim.At(from.Time.Add(metasim.Time(1 + n.r.IntN(30)))))
}

// observe notes an event and its effects, and carries these out.
func (n *network) observe(ev metasim.Event, effects []metasim.Effect) {
	n.ledger.Observe(ev, effects)
	if n.restart {
		n.record(ev, effects)
	}
	n.books.observe(ev, effects, n.dispatcher.End())
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			n.server.Deliver(e)
		case *metasim.Authorize:
			n.server.Authorize(e)
		case *metasim.Evict:
			n.server.Evict(e)
		case *metasim.Reached:
			n.reached, n.past = new(*e), e.Until
		case *metasim.Finish:
			n.finished, n.failed = true, e.Err
		}
	}
}

// arrive lets some packets of a connection arrive at its clients.
func (n *network) arrive(c *conn, packets int) {
	for _, p := range c.down[:packets] {
		if _, ok := p.Body.(wire.Introduce); ok {
			n.complain(new(session.Inbound).Add([]wire.Packet{p}, &c.names))
		} else {
			c.members[p.Member].arrive(p)
		}
	}
	c.down = append(c.down[:0], c.down[packets:]...)
}

// lose ends a connection on which somebody takes part: a part of what was written on it still arrives at the server.
func (n *network) lose() {
	for _, k := range n.r.Perm(len(n.conns)) {
		c := n.conns[k]
		if len(n.server.Disconnect(c.session)) == 0 {
			continue
		}
		n.disturbed = !n.restart
		n.read(c, n.r.IntN(len(c.up)+1))
		lost := n.server.Disconnect(c.session)
		*c = conn{session: c.session, members: c.members, closed: true}
		for _, m := range c.members {
			m.phase = over
		}
		if n.restart {
			n.again(c)
			return
		}
		for _, id := range lost {
			n.lost(id)
		}
		return
	}
}

// lost goes on without a client, or ends the run.
func (n *network) lost(id metasim.ClientID) {
	if n.finished || !n.server.Lose(id) {
		return
	}
	if n.detach && n.server.Started() {
		n.dirty = true
		ev := n.server.Cut(id, n.dispatcher.Status(id).Clock)
		n.observe(ev, n.dispatcher.Step(ev))
		return
	}
	n.finished, n.failed = true, fmt.Errorf("lost client %d", id)
	n.server.Farewell(n.failed)
}

// record keeps a call of the dispatcher, as a journal does.
func (n *network) record(ev metasim.Event, effects []metasim.Effect) {
	c := call{event: ev}
	for _, e := range effects {
		switch e := e.(type) {
		case *metasim.Deliver:
			c.effects = append(c.effects, new(*e))
		case *metasim.Authorize:
			c.effects = append(c.effects, new(*e))
		}
	}
	n.history = append(n.history, c)
}

// again starts again who was on a connection that has ended, each on a connection of its own. Another one may end later.
func (n *network) again(ended *conn) {
	if n.r.IntN(2) == 0 {
		n.cut = n.happened + 1 + n.r.IntN(200)
	}
	for i, c := range n.clients {
		id := metasim.ClientID(i)
		if c.conn != ended || n.server.Presence(id) == session.Left {
			continue
		}
		n.restarted++
		n.server.Vacate(id)
		n.feeds = slices.DeleteFunc(n.feeds, func(f feed) bool { return f.client == id })
		own := &conn{slow: n.r.IntN(4) == 0}
		own.session = n.server.Connect(&output{n, own})
		n.conns = append(n.conns, own)
		n.complain(n.join(i, own))
		n.clients[i].repeats = true
	}
}

// comeBack lets a client in again. What it was given before the run had started is nothing.
func (n *network) comeBack(c *conn, join *metasim.Join) {
	if refusal := n.server.Return(join); refusal != nil {
		n.complain(refused(refusal))
		return
	}
	if n.server.Started() {
		n.feeds = append(n.feeds, feed{client: join.Client, conn: c, to: len(n.history)})
	}
}

// remember gives the server a part of the past of a client that has come back, as from a journal.
func (n *network) remember() {
	f := &n.feeds[0]
	part := session.Past{Client: f.client}
	next := f.from + n.r.IntN(f.to-f.from+1)
	for _, c := range n.history[f.from:next] {
		part.Observe(c.event, c.effects)
	}
	f.from = next
	id, conn, whole := f.client, f.conn, next == f.to
	if whole {
		n.feeds = n.feeds[1:]
	}
	n.server.Remember(id, &part, whole)
	for _, p := range n.server.Held(id) {
		n.packet(conn, p)
	}
}

func refused(r *session.Refusal) error {
	if d := r.Difference; d != nil {
		return fmt.Errorf("a client is not what it was: %s: %s, now %s", d.Where, d.Then, d.Now)
	}
	return fmt.Errorf("the server refuses: %s %s", r.Text, r.Cause)
}
