package metasim

import "math"

// A crown is what a client, the hub, keeps of its pendants: of the clients that have links to it and from it, and to
// nobody else, as hosts behind a switch or all who share one channel have. A pendant needs no label, as its safe time
// follows from the S of the hub, and it cannot hold back anybody but the hub. Else ten thousand of them would be visited
// whenever the hub's S rises; so it costs a few steps in a heap.
//
// Let "there" be the delay from the hub h to its pendant p, and "back" the one from p to h. By the equations of safe
// times, with E_p = there(S_h), what p may send reaches the hub at
//
//	V_p = back(max(U_p, min(s_p, there(S_h) + r_p))) = max(A_p, min(B_p, C_p(S_h)))
//
//	A_p = back(U_p)                    what it promises, whatever it hears
//	B_p = back(s_p)                    what it sends of itself
//	C_p(x) = back(there(x) + r_p)      the hub's echo
//
// As A_p <= B_p, the least V of all is the lesser of the least B and the least max(A, C). The first is a heap. For the
// second, C_p(x) <= C_q(x) for one x where it is so for all x. So two heaps do: one by A of those whose echo is not known
// to come after A, one by C of the others. S_h only rises, so that once it has come, it has come, until p promises more;
// and who still stands in the first heap below its top does not matter, as its A is a lower bound.
//
// The hub's own S needs B alone: its echo comes after it. And whoever waits for there(S_h) to reach some instant stands
// in a heap by the S_h that it takes.
type crown struct {
	pendants []twig
	own      ranking // by B
	promised ranking // by A
	echoing  ranking // by C(Start)
	waiting  ranking // by the S of the hub that they wait for
}

// A twig is a pendant as its hub sees it.
type twig struct {
	id          ClientID
	there, back carrier // never, where there is none
	reaction    Time
}

// A place says where a pendant is.
type place struct {
	hub  int32 // nobody: it is none
	slot int32 // in the hub's crown
}

// fold finds the pendants, makes the crowns, and returns the links that are left. A client with links that have to be
// asked remains, as nobody can tell at which S of the hub such a link gives what somebody waits for.
func (f *forest) fold(out [][]edge) [][]edge {
	hubs := soleNeighbours(out)
	for i, hub := range hubs {
		f.places[i] = place{hub: nobody}
		if hub == nobody || hubs[hub] == int32(i) && int(hub) < i {
			continue // of two that have each other alone one is the hub
		}
		c := f.crowns[hub]
		if c == nil {
			c = &crown{}
			f.crowns[hub] = c
			f.labels[hub].marks = isCrowned
		}
		f.places[i] = place{hub, int32(len(c.pendants))}
		c.pendants = append(c.pendants, twig{
			id: ClientID(i), reaction: f.bounds[i].reaction, there: never, back: never,
		})
	}
	return f.strip(out)
}

// strip gives the links of pendants to their crowns, the shortest where there are several, and returns the others.
func (f *forest) strip(out [][]edge) [][]edge {
	rest := make([][]edge, len(out))
	for i := range out {
		if c := f.crowns[i]; c != nil {
			n := len(c.pendants)
			c.own, c.promised, c.echoing, c.waiting = newRanking(n), newRanking(n), newRanking(n), newRanking(n)
		}
		for _, e := range out[i] {
			from, to := f.places[i], f.places[e.to]
			switch {
			case from.hub != nobody:
				f.crowns[from.hub].pendants[from.slot].back.shorten(e)
			case to.hub != nobody:
				f.crowns[to.hub].pendants[to.slot].there.shorten(e)
			default:
				rest[i] = append(rest[i], e)
			}
		}
	}
	return rest
}

// soleNeighbours returns of each client the only one that it has links to and from, none of which has to be asked; or
// nobody.
func soleNeighbours(out [][]edge) []int32 {
	const none, several = int32(-4), nobody
	sole := make([]int32, len(out))
	for i := range sole {
		sole[i] = none
	}
	meet := func(a, b int, e edge) {
		if a == b || e.carrier().link != nil || sole[a] != none && sole[a] != int32(b) {
			sole[a] = several
		} else {
			sole[a] = int32(b)
		}
	}
	for i := range out {
		for _, e := range out[i] {
			meet(i, int(e.to), e)
			meet(int(e.to), i, e)
		}
	}
	for i := range sole {
		if sole[i] == none {
			sole[i] = nobody
		}
	}
	return sole
}

// shorten exchanges a carrier for that of an edge, if it is faster.
func (c *carrier) shorten(e edge) {
	if d := e.carrier(); d.earliest(Start).Before(c.earliest(Start)) {
		*c = d
	}
}

// plant computes everything anew.
func (c *crown) plant(bounds []bound) {
	c.own.clear()
	c.promised.clear()
	c.echoing.clear()
	for slot := range c.pendants {
		c.heed(int32(slot), &bounds[c.pendants[slot].id], Start)
	}
}

// heed takes in the bound of a pendant, while the hub's S is at send.
func (c *crown) heed(slot int32, b *bound, send Instant) {
	t := &c.pendants[slot]
	c.own.set(slot, t.back.earliest(b.known))
	c.promise(slot, t.back.earliest(b.floor), send)
}

// promise puts a pendant with that A into one of two heaps, while the hub's S is at send.
func (c *crown) promise(slot int32, a, send Instant) {
	if c.echo(slot, send).Before(a) {
		c.echoing.remove(slot)
		c.promised.set(slot, a)
		return
	}
	c.promised.remove(slot)
	c.echoing.set(slot, c.echo(slot, Start))
}

// echo is C of a pendant.
func (c *crown) echo(slot int32, x Instant) Instant {
	t := &c.pendants[slot]
	return t.back.earliest(t.there.earliest(x).React(t.reaction))
}

// spontaneous is the least B.
func (c *crown) spontaneous() Instant { return c.own.least().key }

// caused is the least max(A, C), while the hub's S is at send.
func (c *crown) caused(send Instant) Instant {
	// After the last step of a time comes the next time: there C_p <= C_q need not hold for all x if it does for one. The
	// S of one or two steps before is sound, and close enough: nobody gets there.
	if send != Infinity {
		send.Step = min(send.Step, math.MaxUint32-3)
	}
	for {
		p := c.promised.least()
		if p.who == nobody || c.echo(p.who, send).Before(p.key) {
			break
		}
		c.promise(p.who, p.key, send)
	}
	if e := c.echoing.least(); e.who != nobody {
		return Earlier(c.promised.least().key, c.echo(e.who, send))
	}
	return c.promised.least().key
}

// reach is E of a pendant, while the hub's S is at send.
func (c *crown) reach(slot int32, send Instant) Instant { return c.pendants[slot].there.earliest(send) }

// watch notes that a pendant waits for an E of alarm or later, while the hub's S is at send.
func (c *crown) watch(slot int32, alarm, send Instant) {
	if c.reach(slot, send).Before(alarm) {
		c.waiting.set(slot, c.pendants[slot].there.before(alarm))
	} else {
		c.waiting.remove(slot)
	}
}

// wake appends to rose the pendants that have what they wait for when the hub's S is at send.
func (c *crown) wake(send Instant, rose []ClientID) []ClientID {
	for {
		w := c.waiting.least()
		if w.who == nobody || send.Before(w.key) {
			return rose
		}
		c.waiting.remove(w.who)
		rose = append(rose, c.pendants[w.who].id)
	}
}

// before is the inverse of earliest: the least x with earliest(x) at due or later.
func (c *carrier) before(due Instant) Instant {
	switch {
	case c.timeless || due == Start:
		return due
	case c.delay > 0 && due == Infinity:
		return Instant{Time: Forever - c.delay}
	case c.delay > 0 && due.Step > 0: // arrivals are at a first step
		return Instant{Time: max(0, due.Time+1-c.delay)}
	case c.delay > 0:
		return Instant{Time: max(0, due.Time-c.delay)}
	case due.Step == 0 || due == Infinity:
		return Instant{Time: due.Time - 1, Step: math.MaxUint32}
	}
	return Instant{Time: due.Time, Step: due.Step - 1}
}

// heedPendant takes in that the bound of a pendant has changed. It returns false when that lets the hub's E fall.
func (f *forest) heedPendant(id ClientID, p place) bool {
	c, l := f.crowns[p.hub], &f.labels[p.hub]
	c.heed(p.slot, &f.bounds[id], l.send)
	least := Earlier(c.spontaneous(), c.caused(l.send))
	if l.parent == pendant && l.marks&isOpen == 0 && l.safe.Before(least) {
		f.adopt(ClientID(p.hub))
	}
	return !least.Before(l.safe)
}

// echo lets a hub whose S is final hear from its pendants what they may send in answer.
func (f *forest) echo(id ClientID) {
	if l := &f.labels[id]; l.marks&isOpen != 0 {
		f.hear(l, f.crowns[id].caused(l.send))
	}
}

// hear lowers E of a hub to what its pendants offer.
func (f *forest) hear(l *label, due Instant) {
	if due.Before(l.safe) {
		l.safe, l.parent = due, pendant
	}
}
