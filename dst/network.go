package dst

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"metasim/metasim"
	"metasim/record/past"
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
		scenario: s, r: r, config: config, lazy: pick(r, 0, 50, 90, 97), permitted: metasim.Infinity, clients: make([]*client, len(s.clients)),
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
	if len(c.members) > 0 { // else it is that of a gateway
		n.occurs(c, p)
	}
	ev, refusal := n.server.Receive(c.session, p)
	if refusal != nil {
		n.complain(refused(refusal))
	}
	if id, saved := n.server.Saved(); saved != nil && saved.Failed == "" {
		n.count[countSaved]++
		account := n.ledger.Account(id)
		n.complain(n.disk.keep(id, &session.Saved{Checkpoint: *saved, Sent: account.Sent, Sends: n.ledger.SendsOf(id)}))
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

// lose ends a connection on which somebody takes part: a part of what was written on it still arrives at the server.
func (n *network) lose() {
	reads := n.cut.after != unread
	n.cut = n.again(n.cut)
	for _, k := range n.r.Perm(len(n.conns)) {
		c := n.conns[k]
		if n.victim != nil {
			c = n.victim
		}
		if len(n.server.Disconnect(c.session)) == 0 {
			continue
		}
		if reads {
			n.read(c, n.r.IntN(len(c.up)+1))
		}
		lost := n.server.Disconnect(c.session)
		*c = conn{session: c.session, members: c.members, closed: true}
		for _, m := range c.members {
			m.phase = over
		}
		if n.restart {
			n.startAgain(c)
			return
		}
		n.count[countLost] = 1
		n.feeds = slices.DeleteFunc(n.feeds, func(f feed) bool { return f.conn == c })
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
		n.count[countDetached]++
		ev := n.server.Cut(id, n.dispatcher.Status(id).Clock)
		n.observe(ev, n.dispatcher.Step(ev))
		return
	}
	n.count[countFailed] = 1
	n.finished, n.failed = true, fmt.Errorf("lost client %d", id)
	n.server.Farewell(n.failed)
}

// startAgain starts again who was on a connection that has ended, each on a connection of its own. Another one may end later.
func (n *network) startAgain(ended *conn) {
	for i, c := range n.clients {
		id := metasim.ClientID(i)
		if c.conn != ended || n.server.Presence(id) == session.Left {
			continue
		}
		n.count[countRestarted]++
		n.server.Vacate(id)
		n.feeds = slices.DeleteFunc(n.feeds, func(f feed) bool { return f.client == id })
		own := n.connect()
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
	if n.server.Repeats(join.Client) {
		p, err := n.recall(join.Client)
		if err != nil {
			n.complain(err)
			return
		}
		n.feeds = append(n.feeds, feed{client: join.Client, conn: c, past: p, slow: n.r.IntN(3) == 0})
	}
}

// recall opens what the journal has of a client by now; if it makes checkpoints, of what follows the last one.
func (n *network) recall(id metasim.ClientID) (*past.Reader, error) {
	p, size, err := n.disk.past(id)
	if err == nil && n.server.Saves(id) {
		unfit := func(err error) {
			if !n.disk.damaged {
				n.complain(err)
			}
		}
		p.From(func() []*past.Kept { return n.disk.kept.Last(id, size, unfit) }, unfit)
	}
	return p, err
}

// remember gives the server a part of the past of a client that has come back, as from a journal.
func (n *network) remember() {
	f := n.feeds[0]
	most := 6
	if f.slow {
		most = 2
	}
	f.past.Parts(n.r.IntN(most))
	part, whole, err := f.past.Next()
	if err != nil {
		n.complain(err)
		return
	}
	if whole {
		n.feeds = n.feeds[1:]
	}
	id, conn := f.client, f.conn
	n.server.Remember(id, part, whole)
	if !whole { // what waited for this part may be from its past, and its next report says it again
		n.clients[id].vowed = metasim.Start
	}
	for _, p := range n.server.Held(id) {
		n.packet(conn, p)
	}
	if c, s := n.clients[id], n.dispatcher.Status(id); whole && c.phase != over && !s.Gone && s.NoSendBefore.Before(c.vowed) {
		n.complain(fmt.Errorf("%s has promised to send nothing before %v, and the dispatcher knows of %v", c.name, c.vowed, s.NoSendBefore))
	}
}

func refused(r *session.Refusal) error {
	if d := r.Difference; d != nil {
		return fmt.Errorf("a client is not what it was: %s: %s, now %s", d.Where, d.Then, d.Now)
	}
	return fmt.Errorf("the server refuses: %s %s", r.Text, r.Cause)
}
