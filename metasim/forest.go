package metasim

// A forest keeps the safe times of all clients as their bounds change, at a cost that follows what changes instead of
// how many clients there are.
//
// Each client's earliest send S is its own (what it promised, or its next event), or comes from what it may yet hear,
// over the link from which its safe time E comes: its parent. So the clients form a forest. Its roots depend on nobody;
// whoever hangs below a root waits, in the end, for that root, along the path. As each link takes at least one step S
// rises along every path, and there are no circles.
//
// What clients say only ever makes bounds rise: a message that is queued for somebody lowers what is known of him alone,
// but never below the S that held before it was known. So when some bounds have risen, only clients below them can be
// affected, and of those only as far as S really came from there: a client that stands on its own is a cut, and nothing
// below it is touched. The affected ones forget what they had, take the best that the unaffected offer, and settle the
// rest among themselves as Dijkstra would. The more roots, that is, the more can be computed at once, the smaller are
// the trees and the cheaper is a report.
//
// Clients with one neighbour alone are left out of all this: see crown. And nobody is told of a safe time that rose
// before it has come to where somebody waits for it: see watch.
//
// The plain safeTimes is its oracle, and its way out should a bound ever fall.
type forest struct {
	graph
	bounds []bound
	labels []label
	crowns []*crown // of clients that have pendants; nil for others
	places []place  // of clients that are pendants

	// Scratch of one update.
	risen []ClientID // clients whose S may rise; empty between two
	open  []opening  // clients whose E may rise; kept until the next, for who asks what has happened
	heap  candidates
	rose  []ClientID // the answer
}

// A label is what is known of a client that is no pendant.
type label struct {
	safe   Instant // E
	send   Instant // S; during an update the least of a risen one so far
	alarm  Instant // the E that is worth telling
	parent int32   // whose link E comes from, or one of those below
	turn   uint16  // which source it was adopted by last, modulo 2^16: where the search goes on
	marks  marks
}

const (
	nobody  int32 = -1 // E is Infinity
	pendant int32 = -2 // one of the client's own pendants, whichever
)

type marks uint8

const (
	isRisen marks = 1 << iota
	isOpen
	isFinal
	isCrowned // it has pendants; not scratch
)

// An opening is a client whose E may rise.
type opening struct {
	id     ClientID
	was    int32   // its parent, before the update
	before Instant // E, before the update
	offer          // the best, when it was opened
}

// An offer is an E, and whose link it comes from.
type offer struct {
	due  Instant
	from int32
}

func newForest(bounds []bound, out [][]edge) *forest {
	n := len(bounds)
	f := &forest{
		bounds: bounds, labels: make([]label, n), crowns: make([]*crown, n), places: make([]place, n),
	}
	f.graph = newGraph(f.fold(out))
	f.rebuild()
	return f
}

// rebuild computes everything anew.
func (f *forest) rebuild() {
	f.risen, f.open = f.risen[:0], f.open[:0]
	for i := range f.labels {
		l := &f.labels[i]
		l.safe, l.send, l.parent, l.marks = Infinity, Infinity, nobody, l.marks&isCrowned
	}
	for i := range f.labels {
		id := ClientID(i)
		if f.places[i].hub == nobody {
			f.raise(id)
			f.reopen(id, offer{Infinity, nobody})
		}
		if c := f.crowns[i]; c != nil {
			c.plant(f.bounds)
		}
	}
	f.settle()
	f.rose = f.rose[:0]
	for i := range f.bounds {
		f.rose = append(f.rose, ClientID(i)) // whatever moved
	}
}

// update takes in that the bounds of some clients have changed, and that the links to others have risen: it returns those
// whose safe time rose to where somebody waits for it, in no particular order, until the next call. Clients may be named
// more than once.
func (f *forest) update(changed, relinked []ClientID) []ClientID {
	f.rose, f.open = f.rose[:0], f.open[:0]
	for _, id := range changed {
		if !f.heed(id) {
			f.rebuild()
			return f.rose
		}
	}
	for _, id := range relinked {
		if f.labels[id].marks&isOpen == 0 {
			f.adopt(id)
		}
	}
	f.settle()
	return f.rose
}

// heed takes in that the bound of a client has changed. It returns false when it fell.
func (f *forest) heed(id ClientID) bool {
	if p := f.places[id]; p.hub != nobody {
		return f.heedPendant(id, p)
	}
	s := f.own(id)
	if s.Before(f.labels[id].send) {
		return false
	}
	if f.labels[id].send.Before(s) {
		f.raise(id)
	}
	return true
}

// watch says from which safe time on a client is to be named by update when its safe time rises.
func (f *forest) watch(id ClientID, alarm Instant) {
	if p := f.places[id]; p.hub != nobody {
		f.crowns[p.hub].watch(p.slot, alarm, f.labels[p.hub].send)
		return
	}
	f.labels[id].alarm = alarm
}

// safeTime returns E of a client, as of the last update.
func (f *forest) safeTime(id ClientID) Instant {
	if p := f.places[id]; p.hub != nobody {
		return f.crowns[p.hub].reach(p.slot, f.labels[p.hub].send)
	}
	return f.labels[id].safe
}

// mayRise reports whether a link that gives later dues than before can matter to whom it leads to.
func (f *forest) mayRise(from, to ClientID, link Link) bool {
	l := &f.labels[to]
	return l.parent == int32(from) && l.safe.Before(link.Earliest(f.labels[from].send))
}

// own is the S of a client by its bound and its present safe time.
func (f *forest) own(id ClientID) Instant {
	return f.bounds[id].send(f.labels[id].safe)
}

// raise marks a client whose S may rise.
func (f *forest) raise(id ClientID) {
	if l := &f.labels[id]; l.marks&isRisen == 0 {
		l.marks |= isRisen
		f.risen = append(f.risen, id)
	}
}

// reopen marks a client whose E may rise, and so its S, unless that is its own.
func (f *forest) reopen(id ClientID, best offer) {
	l := &f.labels[id]
	l.marks |= isOpen
	f.open = append(f.open, opening{id, l.parent, l.safe, best})
	if l.send.Before(f.bounds[id].known) {
		f.raise(id)
	}
}

// adopt finds another parent who offers a client the E that it has, so that nothing changes for it or below; or else it
// reopens the client. In a lock step many offer the same, and the search goes on where the last one ended. Nobody who
// hangs below the client can offer that, as S rises along every path; and if the one that is found rises later in this
// update, the client is found again below him.
func (f *forest) adopt(id ClientID) {
	l := &f.labels[id]
	if l.marks&isCrowned != 0 && f.crowns[id].spontaneous() == l.safe {
		l.parent = pendant
		return
	}
	best := offer{Infinity, nobody}
	sources := f.sources(id)
	k := int(l.turn)
	for range sources {
		if k++; k >= len(sources) {
			k = 0
		}
		w := sources[k]
		s := &f.labels[w.end]
		if s.marks&isRisen != 0 {
			continue
		}
		switch due := f.carriers[w.carrier].earliest(s.send); {
		case due == l.safe:
			l.turn, l.parent = uint16(k), int32(w.end)
			return
		case due.Before(best.due):
			best = offer{due, int32(w.end)}
		}
	}
	f.reopen(id, best)
}

// settle finds the new E of all that are open and the new S of all that have risen.
func (f *forest) settle() {
	f.spread()
	f.offer()
	for rest := len(f.risen); rest > 0; { // what is in the heap then is out of date
		id := f.heap.pop()
		l := &f.labels[id]
		if l.marks&isFinal != 0 {
			continue
		}
		l.marks |= isFinal
		rest--
		if l.marks&isCrowned != 0 {
			f.echo(id)
			f.rose = f.crowns[id].wake(l.send, f.rose)
		}
		if l.send == Infinity {
			continue
		}
		targets := f.targets(id)
		for k := range targets {
			w := targets[k]
			to := &f.labels[w.end]
			if to.marks&isOpen == 0 {
				continue // what it has is no worse: it came from one who has not risen
			}
			if due := f.carriers[w.carrier].earliest(l.send); due.Before(to.safe) {
				to.safe, to.parent = due, int32(id)
				if to.marks&(isRisen|isFinal) == isRisen {
					f.improve(w.end, to)
				}
			}
		}
	}
	f.clean()
}

// spread finds all that hang below who has risen.
func (f *forest) spread() {
	for i := 0; i < len(f.risen); i++ {
		id := f.risen[i]
		if l := &f.labels[id]; l.parent == pendant && l.marks&isOpen == 0 {
			f.adopt(id) // its E may be its own echo
		}
		targets := f.targets(id)
		for k := range targets {
			to := targets[k].end
			if l := &f.labels[to]; l.parent == int32(id) && l.marks&isOpen == 0 {
				f.adopt(to)
			}
		}
	}
}

// offer gives to all that are open the best that those who have not risen offer.
func (f *forest) offer() {
	for i := range f.open {
		o := &f.open[i]
		l := &f.labels[o.id]
		if o.from != nobody && f.labels[o.from].marks&isRisen != 0 {
			o.offer = f.best(o.id) // who offered it has risen since
		}
		l.safe, l.parent = o.due, o.from
		if l.marks&isCrowned != 0 {
			f.hear(l, f.crowns[o.id].spontaneous())
			if l.marks&isRisen == 0 {
				f.echo(o.id)
			}
		}
	}
	for _, id := range f.risen {
		l := &f.labels[id]
		l.send = f.own(id)
		f.heap.push(newCandidate(l.send, id))
	}
}

// best is the best that those who have not risen offer to a client, its pendants left out.
func (f *forest) best(id ClientID) offer {
	best := offer{Infinity, nobody}
	sources := f.sources(id)
	for k := range sources {
		w := sources[k]
		s := &f.labels[w.end]
		if s.marks&isRisen != 0 {
			continue
		}
		if due := f.carriers[w.carrier].earliest(s.send); due.Before(best.due) {
			best = offer{due, int32(w.end)}
		}
	}
	return best
}

// improve lowers the S of one that has risen, where its E now allows that.
func (f *forest) improve(id ClientID, l *label) {
	if s := f.own(id); s.Before(l.send) {
		l.send = s
		f.heap.push(newCandidate(s, id))
	}
}

// clean removes the marks, and names those whose E rose to where somebody waits for it.
func (f *forest) clean() {
	for _, id := range f.risen {
		f.labels[id].marks &= isCrowned
	}
	for i := range f.open {
		o := &f.open[i]
		l := &f.labels[o.id]
		l.marks &= isCrowned
		if o.before != l.safe && !l.safe.Before(l.alarm) {
			f.rose = append(f.rose, o.id)
		}
	}
	f.risen, f.heap = f.risen[:0], f.heap[:0]
}
