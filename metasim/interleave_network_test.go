package metasim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A network runs a world in one order: streams of which any part may be on its way, in both directions, a Settle that
// comes late, clients that are slow. Everything in here may differ between runs, and no client may notice.
type network struct {
	*world
	r        *rand.Rand
	d        *Dispatcher
	ledger   *Ledger
	actors   []*actor
	up       []stream[Event]
	down     []stream[Effect]
	planted  string
	lazy     int  // percent of the Settles that do not happen yet
	asks     bool // for the Blame of all clients, before and after each event
	released int  // how often a safe time rose then
	starved  int  // how often a client waited for memory after a Settle
	config   Config
	journal  []call // what was called, without the Settles that had no effect
	cut      int    // a client is lost after this many steps; 0: never

	safe, granted []Instant
	foreseen      []foreseen
	surprised     bool     // somebody outside has sent since what is foreseen was looked at
	reached       *Reached // not answered yet
	permit        Instant
	finished      bool
	happened      int
}

// A call is one call of Step with its event, or of Settle without one, and the effects that it returned.
type call struct {
	event   Event
	effects string
}

// said returns the effects as a journal would have them.
func said(effects []Effect) string {
	var s strings.Builder
	for _, e := range effects {
		switch e := e.(type) {
		case *Authorize:
			fmt.Fprint(&s, e.To, e.Until)
		case *Deliver:
			fmt.Fprint(&s, e.To, e.Number, e.Message.From, e.Message.Seq, e.Message.Due)
		}
	}
	return s.String()
}

// A stream has an end where things are put in, a buffer that is flushed in parts, and things on their way.
type stream[T any] struct{ buffer, flight []T }

func (s *stream[T]) flush(r *rand.Rand) {
	n := 1 + r.IntN(len(s.buffer))
	s.flight = append(s.flight, s.buffer[:n]...)
	s.buffer = s.buffer[n:]
}

// take removes the next thing; apart says which things travel on another stream than the rest (a planted mistake).
func (s *stream[T]) take(r *rand.Rand, apart func(T) bool) T {
	next := 0
	if apart != nil && r.IntN(2) == 0 {
		for next < len(s.flight)-1 && apart(s.flight[next]) == apart(s.flight[0]) {
			next++
		}
	}
	x := s.flight[next]
	s.flight = append(s.flight[:next:next], s.flight[next+1:]...)
	return x
}

// unbounded is the order whose memory has no bound. In order 1 the bound is one byte.
const unbounded = 5

func newNetwork(w *world, order uint64, planted string) (*network, error) {
	r := rand.New(rand.NewPCG(w.seed, order))
	delays := drawnDelays{seed: w.seed, apart: order%2 == 0}
	if planted == "draws from one random stream in order of arrival" {
		delays.shared = new(uint64)
	}
	memory := []int{0, 1, 1000, 10_000, DefaultMemory}[order%unbounded] // no client may notice
	c := Config{Delays: delays, Until: w.until, Ahead: w.ahead, Memory: memory, Cascade: DefaultCascade}
	for _, i := range r.Perm(len(w.actors)) {
		a := w.actors[i]
		c.Clients = append(c.Clients, a.name)
		if a.outside {
			c.Outside = append(c.Outside, a.name)
		}
		if a.split {
			c.Clients = append(c.Clients, a.name+voice)
			c.Groups = append(c.Groups, []string{a.name + voice, a.name})
		}
	}
	n := len(c.Clients)
	d, err := New(c)
	if err != nil {
		return nil, err
	}
	nw := &network{
		world: w, r: r, d: d, config: c, ledger: NewLedger(d.Names()), planted: planted, lazy: []int{0, 50, 90}[r.IntN(3)],
		up: make([]stream[Event], n), down: make([]stream[Effect], n), actors: make([]*actor, n),
		safe: make([]Instant, n), granted: make([]Instant, n), foreseen: make([]foreseen, n),
	}
	for i := range w.actors {
		spec := w.actors[i] // a copy: actors count their sends in it
		a := newActor(w, i, d)
		a.actorSpec, a.planted = &spec, planted
		nw.actors[a.id] = a
		if a.split {
			a.voice = newVoice(a)
			nw.actors[a.voice.id] = a.voice
		}
	}
	if w.permits {
		nw.permit = At(Time(r.IntN(30)))
		if err := nw.step(&Permit{Until: nw.permit}); err != nil {
			return nil, err
		}
	}
	for _, i := range r.Perm(n) {
		a := nw.actors[i]
		join := &Join{Client: a.id, Publications: a.pubs, Subscriptions: a.subs, Reaction: a.reaction}
		if a.split {
			join.Publications, join.Reaction = nil, 0
		}
		err := nw.step(join)
		if err != nil {
			return nil, err
		}
	}
	return nw, nw.step(&Begin{})
}

func (n *network) step(ev Event) error {
	if err := n.checkForeseen(ev); err != nil {
		return err
	}
	if !n.asks || n.d.phase != running {
		return n.carry(ev, n.d.Step(ev))
	}
	before, chains := n.allBlame()
	if err := n.carry(ev, n.d.Step(ev)); err != nil || n.d.phase != running {
		return err
	}
	return n.checkAllBlame(ev, before, chains)
}

func (n *network) carry(ev Event, effects []Effect) error {
	n.ledger.Observe(ev, effects)
	if ev != nil || len(effects) > 0 {
		n.journal = append(n.journal, call{ev, said(effects)})
	}
	for i, e := range effects {
		switch e := e.(type) {
		case *Deliver:
			n.down[e.To].buffer = append(n.down[e.To].buffer, keep(effects[i:i+1])...)
		case *Authorize:
			n.down[e.To].buffer = append(n.down[e.To].buffer, keep(effects[i:i+1])...)
		case *Evict:
			return e.Err
		case *Finish:
			n.finished = true
			if e.Err != nil {
				return e.Err
			}
		case *Reached:
			n.reached = e
			for _, a := range n.actors {
				if a.need().Before(e.Until) && !a.done && !n.d.clients[a.id].proxy {
					return fmt.Errorf("reached %v, but %s acts at %v", e.Until, a.name, a.need())
				}
			}
		}
	}
	return nil
}

// settle settles, and checks what holds whenever it has.
func (n *network) settle() error {
	before := n.d.Now()
	if err := n.carry(nil, n.d.Settle()); err != nil || n.d.phase != running {
		return err
	}
	if plain, forest := n.d.plainSafeTimes(), n.d.forestSafeTimes(); !slices.Equal(plain, forest) {
		return fmt.Errorf("the forest has the safe times %v, the plain computation %v", forest, plain)
	}
	for i := range n.d.clients {
		if b, known := n.d.clients[i].bounds(), n.d.forest.Bounds(ClientID(i).node()); b != known {
			return fmt.Errorf("the forest was not told that the bounds of %s are %v, not %v", n.d.clients[i].name, b, known)
		}
	}
	if err := n.foresee(); err != nil {
		return err
	}
	n.starved += len(n.d.Short())
	if err := n.checkShort(); err != nil {
		return err
	}
	if n.d.Now().Before(before) {
		return fmt.Errorf("the run went back from %v to %v", before, n.d.Now())
	}
	for i := range n.d.clients {
		if c := &n.d.clients[i]; c.waiting && c.need().Before(n.d.safe(c)) && !c.use.short {
			return fmt.Errorf("%s was overlooked: it waits for %v, and %v is safe", c.name, c.need(), n.d.safe(c))
		}
	}
	stuck := n.reached == nil
	for i := range n.actors {
		s := n.d.Status(ClientID(i))
		switch {
		case s.Gone:
			continue
		case s.Safe.Before(n.safe[i]):
			return fmt.Errorf("the safe time of %s fell from %v to %v", s.Name, n.safe[i], s.Safe)
		case s.Granted.Before(n.granted[i]) || s.Safe.Before(s.Granted):
			return fmt.Errorf("%s was authorized to %v, now %v, safe until %v", s.Name, n.granted[i], s.Granted, s.Safe)
		}
		n.safe[i], n.granted[i] = s.Safe, s.Granted
		stuck = stuck && s.Waiting
	}
	if stuck {
		return fmt.Errorf("all wait, and none was authorized")
	}
	return nil
}

// onward answers a Reached with the next Permit.
func (n *network) onward() error {
	from := n.reached.Until
	if n.r.IntN(2) == 0 {
		from = n.reached.Next
	}
	n.reached = nil
	n.permit = At(from.Time.Add(Time(1 + n.r.IntN(30))))
	if n.r.IntN(10) == 0 {
		n.permit = Infinity
	}
	return n.step(&Permit{Until: n.permit})
}

// run lets things happen, one at a time in random order, until nothing can.
func (n *network) run() error {
	for ; n.happened < 200_000; n.happened++ {
		if n.finished {
			return nil
		}
		if n.cut > 0 && n.happened == n.cut {
			if err := n.lose(); err != nil {
				return err
			}
		}
		could, err := n.one()
		if err != nil {
			return err
		}
		if could {
			continue
		}
		if err := n.settle(); err != nil {
			return err
		}
		if could, err = n.one(); err != nil {
			return err
		}
		if !could && !n.finished {
			return fmt.Errorf("nothing can happen any more, and the run is not over")
		}
	}
	return fmt.Errorf("no end after %d things", n.happened)
}

// one lets one thing happen, and reports whether there was one.
func (n *network) one() (bool, error) {
	var can []func() error
	add := func(f func() error) { can = append(can, f) }
	for i, a := range n.actors {
		up, down := &n.up[i], &n.down[i]
		if !a.idle() {
			add(func() error { return n.act(a) })
		}
		if len(a.out) > 0 {
			add(func() error { up.buffer, a.out = append(up.buffer, a.spoken()...), nil; return nil })
		}
		if len(up.buffer) > 0 {
			add(func() error { up.flush(n.r); return nil })
		}
		if len(up.flight) > 0 {
			add(func() error { return n.step(up.take(n.r, n.upApart())) })
		}
		if len(down.buffer) > 0 {
			add(func() error { down.flush(n.r); return nil })
		}
		if len(down.flight) > 0 {
			add(func() error { return a.receive(down.take(n.r, n.downApart())) })
		}
	}
	if n.reached != nil {
		add(n.onward)
	}
	if len(can) == 0 {
		return false, nil
	}
	if n.r.IntN(4) == 0 && n.r.IntN(100) >= n.lazy {
		return true, n.settle()
	}
	if a := n.actors[n.r.IntN(len(n.actors))]; a.idle() && n.r.IntN(30) == 0 {
		a.act(n.r) // it may ask again
	}
	return true, can[n.r.IntN(len(can))]()
}

func (n *network) act(a *actor) error {
	before := a.now
	a.act(n.r)
	if a.now != before && a.now.Before(n.d.Now()) && !n.d.clients[a.id].proxy { // what it does beside sending is no part of the run
		return fmt.Errorf("%s acts at %v; the run as a whole had come to %v", a.name, a.now, n.d.Now())
	}
	return nil
}

// lose cuts off a client that still takes part.
func (n *network) lose() error {
	for _, i := range n.r.Perm(len(n.actors)) {
		if a := n.actors[i]; !a.done {
			a.done, a.out = true, nil
			n.up[i], n.down[i] = stream[Event]{}, stream[Effect]{}
			if a.voice != nil {
				if err := n.step(&Leave{Client: a.voice.id, Cut: true}); err != nil {
					return err
				}
			}
			return n.step(&Leave{Client: a.id, Cut: true})
		}
	}
	return nil
}

func (n *network) upApart() func(Event) bool {
	if n.planted != "promises travel on another stream than sends" {
		return nil
	}
	return func(ev Event) bool { _, isSend := ev.(*Send); return isSend }
}

func (n *network) downApart() func(Effect) bool {
	if n.planted != "grants travel on another stream than deliveries" {
		return nil
	}
	return func(e Effect) bool { _, isDelivery := e.(*Deliver); return isDelivery }
}
