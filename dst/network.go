package dst

import (
	"errors"
	"math/rand/v2"
	"slices"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// newNetwork begins a run of a scenario: schedule keys all that may differ between runs.
func newNetwork(s *scenario, schedule uint64) (*network, error) {
	n := drawNetwork(s, rand.New(rand.NewPCG(s.seed, schedule)))
	n.draw(schedule)
	return n, n.begin(func(int) bool { return true })
}

// drawNetwork draws what the clients of a run may not notice.
func drawNetwork(s *scenario, r *rand.Rand) *network {
	memory := s.memory
	if memory == 0 {
		memory = pick(r, 0, 1, 1000, 10_000, metasim.DefaultMemory) // no client may notice
	}
	config := metasim.Config{Delays: s.delays, Until: s.until, Memory: memory, Cascade: metasim.DefaultCascade, Ahead: pick(r, 0, 0, 1, 300)}
	for _, i := range r.Perm(len(s.clients)) {
		config.Clients = append(config.Clients, s.clients[i].name)
	}
	return &network{
		scenario: s, r: r, relayed: s.seed%3 == 0, config: config, lazy: pick(r, 0, 50, 90, 97), permitted: metasim.Infinity, clients: make([]*client, len(s.clients)),
	}
}

// begin has the clients join that take part in this run.
func (n *network) begin(takesPart func(i int) bool) error {
	if err := n.serve(); err != nil {
		return err
	}
	r := n.r
	switch {
	case n.permits && n.led:
		n.permit(metasim.Start)
	case n.permits:
		n.permit(metasim.At(metasim.Time(r.IntN(30))))
	}
	hosts := 1 + r.IntN(len(n.clients))
	for range hosts {
		n.conns = append(n.conns, n.connect())
	}
	for _, i := range r.Perm(len(n.clients)) {
		if !takesPart(i) {
			continue
		}
		if err := n.join(i, n.conns[r.IntN(hosts)]); err != nil {
			return err
		}
	}
	return nil
}

// serve begins with a dispatcher and the server's end of sessions that know nothing.
func (n *network) serve() (err error) {
	if n.dispatcher, err = metasim.New(n.config); err != nil {
		return err
	}
	names := n.dispatcher.Names()
	config := session.ServerConfig{Scenario: "dst", Seed: n.seed, Names: names, Until: n.dispatcher.End(), Checkpoints: n.every}
	if n.resumes {
		config.Patience = make(map[string]int64, len(names))
		for _, name := range names {
			config.Patience[name] = 1
		}
	}
	n.server, err = session.NewServer(config)
	n.ledger = metasim.NewLedger(names)
	n.books = books{accounts: make([]account, len(names))}
	return err
}

// connect makes a connection.
func (n *network) connect() *conn {
	c := &conn{slow: n.r.IntN(4) == 0}
	if c.slow {
		n.count[countSlow]++
	}
	c.session = n.server.Connect(&output{n, c})
	return c
}

func (n *network) join(i int, conn *conn) error {
	// What a client that was cut off had said, or that it was, may be lost with the server. Who outlives the server has seen it, and would be refused.
	survives := n.resumes && (!n.detach || n.disk.durable) && n.r.IntN(6) > 0
	c := &client{network: n, conn: conn, member: uint32(len(conn.members)), survives: survives, life: uint64(len(n.lives))}
	n.lives = append(n.lives, c)
	c.simulator = newSimulator(n.scenario, i, c)
	c.transcript = make([]seen, 0, n.sees[i])
	if before := n.clients[i]; before != nil {
		if c.old = before.transcript; len(c.old) < len(before.old) { // it had not come as far as the one before it
			c.old = before.old
		}
	}
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
	if c.survives {
		errs = append(errs, d.Survive())
	}
	if n.every[c.name] > 0 {
		errs = append(errs, d.Save())
	}
	if c.only > 0 {
		errs = append(errs, d.SendOnlyEvery(c.only))
	}
	var err error
	c.Client, err = d.Join(c.name, "", &c.out)
	n.clients[i] = c
	conn.members = append(conn.members, c)
	return errors.Join(append(errs, err)...)
}

// Put takes a packet of the server.
func (o *output) Put(p wire.Packet) {
	o.c.batch = append(o.c.batch, p.Keep())
	if o.n.disk != nil {
		o.c.mark = o.n.disk.entries
	}
}

// held reports whether what the server has for a connection waits for the disk.
func (n *network) held(c *conn) bool {
	return n.disk != nil && n.disk.durable && c.mark > n.disk.synced
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
	n.count[countDriven]++
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
	if n.disk != nil {
		n.complain(n.disk.observe(n.happened, ev, effects))
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
	if n.tap != nil {
		n.tap(ev, effects)
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

// use adds a connection, if it is not there yet.
func (n *network) use(c *conn) {
	if !slices.Contains(n.conns, c) {
		n.conns = append(n.conns, c)
		return
	}
	n.count[countShared]++
}

// shared draws one of these connections, as that of a relay which brings several clients, or makes one.
func (n *network) shared(conns []*conn) *conn {
	if len(conns) == 0 || !n.relayed || n.r.IntN(2) == 0 {
		return n.connect()
	}
	return conns[n.r.IntN(len(conns))]
}
