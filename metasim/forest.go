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
// affected, and of those only as far as S really came from there: a client that stands on a promise of its own is a cut,
// and nothing below it is touched. The affected ones forget what they had, take the best that the unaffected offer, and
// settle the rest among themselves as Dijkstra would. The more roots, that is, the more can be computed at once, the
// smaller are the trees and the cheaper is a report.
//
// The plain safeTimes is its oracle, and its way out should a bound ever fall.
type forest struct {
	bounds []bound
	out    [][]edge
	in     [][]source
	safe   []Instant // E
	send   []Instant // S
	parent []int32   // whose link E comes from; -1 for nobody's
	turn   []int32   // which source a client was adopted by last

	// Scratch of one update, empty between two.
	marks  []mark
	risen  []ClientID // clients whose S may rise
	open   []ClientID // clients whose E may rise; after an update, those whose E did
	before []Instant  // the E that the open ones had
	heap   []candidate
}

// A source is an edge seen from its end.
type source struct {
	from ClientID
	edge
}

type mark uint8

const (
	isRisen mark = 1 << iota
	isOpen
	isFinal
)

// A candidate is a client with the S that it has if nobody offers less.
type candidate struct {
	send Instant
	id   ClientID
}

const nobody = -1

func newForest(bounds []bound, out [][]edge) *forest {
	n := len(bounds)
	f := &forest{
		bounds: bounds, out: out, in: make([][]source, n), safe: make([]Instant, n), send: make([]Instant, n),
		parent: make([]int32, n), turn: make([]int32, n), marks: make([]mark, n),
	}
	for i := range out {
		for _, e := range out[i] {
			f.in[e.to] = append(f.in[e.to], source{ClientID(i), e})
		}
	}
	f.rebuild()
	return f
}

// rebuild computes everything anew.
func (f *forest) rebuild() {
	f.open = f.open[:0]
	for i := range f.bounds {
		f.safe[i], f.send[i], f.parent[i] = Infinity, Infinity, nobody
		f.raise(ClientID(i))
		f.reopen(ClientID(i))
	}
	f.settle()
	f.open = f.open[:0]
	for i := range f.bounds {
		f.open = append(f.open, ClientID(i)) // whatever moved
	}
}

// update takes in that the bounds of some clients have changed, and that the links to others have risen: it returns those
// whose safe time rose, in no particular order, until the next call. Clients may be named more than once.
func (f *forest) update(changed, relinked []ClientID) []ClientID {
	f.open = f.open[:0]
	for _, id := range changed {
		switch s := f.own(id); {
		case s.Before(f.send[id]):
			f.abandon()
			f.rebuild()
			return f.open
		case f.send[id].Before(s):
			f.raise(id)
		}
	}
	for _, id := range relinked {
		f.reopen(id)
	}
	f.settle()
	return f.open
}

// own is the S of a client by its bound and its present safe time.
func (f *forest) own(id ClientID) Instant {
	b := &f.bounds[id]
	return Later(b.floor, Earlier(b.known, f.safe[id].React(b.reaction)))
}

// raise marks a client whose S may rise.
func (f *forest) raise(id ClientID) {
	if f.marks[id]&isRisen == 0 {
		f.marks[id] |= isRisen
		f.risen = append(f.risen, id)
	}
}

// reopen marks a client whose E may rise, and so its S, unless that is its own.
func (f *forest) reopen(id ClientID) {
	if f.marks[id]&isOpen != 0 {
		return
	}
	f.marks[id] |= isOpen
	f.open = append(f.open, id)
	if b := &f.bounds[id]; f.send[id].Before(Later(b.floor, b.known)) {
		f.raise(id)
	}
}

// abandon forgets the marks of an update that was begun.
func (f *forest) abandon() {
	clear(f.marks)
	f.risen, f.open = f.risen[:0], f.open[:0]
}

// settle finds the new E of all that are open and the new S of all that have risen, and leaves in open those whose E rose.
func (f *forest) settle() {
	f.spread()
	f.offer()
	for len(f.heap) > 0 {
		c := f.pop()
		if f.marks[c.id]&isFinal != 0 {
			continue
		}
		f.marks[c.id] |= isFinal
		f.send[c.id] = c.send
		if c.send == Infinity {
			continue
		}
		for _, e := range f.out[c.id] {
			if f.marks[e.to]&isOpen == 0 {
				continue // what it has is no worse: it came from one who has not risen
			}
			if due := e.earliest(c.send); due.Before(f.safe[e.to]) {
				f.safe[e.to], f.parent[e.to] = due, int32(c.id)
				if f.marks[e.to]&(isRisen|isFinal) == isRisen {
					f.push(candidate{f.own(e.to), e.to})
				}
			}
		}
	}
	f.clean()
}

// spread marks all that hang below who has risen.
func (f *forest) spread() {
	for i := 0; i < len(f.risen); i++ {
		for _, e := range f.out[f.risen[i]] {
			if f.parent[e.to] == int32(f.risen[i]) && !f.adopt(e.to) {
				f.reopen(e.to)
			}
		}
	}
}

// adopt finds another parent who offers a client the E that it has, so that nothing changes for it or below. In a lock
// step that is the rule: many offer the same, and the search goes on where the last one ended. Nobody who hangs below the
// client can offer that, as S rises along every path; and if the one that is found rises later in this update, the client
// is found again below him.
func (f *forest) adopt(id ClientID) bool {
	if f.marks[id]&isOpen != 0 {
		return false
	}
	sources := f.in[id]
	for range sources {
		f.turn[id]++
		if int(f.turn[id]) >= len(sources) {
			f.turn[id] = 0
		}
		s := sources[f.turn[id]]
		if f.marks[s.from]&isRisen == 0 && s.earliest(f.send[s.from]) == f.safe[id] {
			f.parent[id] = int32(s.from)
			return true
		}
	}
	return false
}

// offer gives to all that are open the best that those who have not risen offer.
func (f *forest) offer() {
	f.before = f.before[:0]
	for _, id := range f.open {
		f.before = append(f.before, f.safe[id])
		f.safe[id], f.parent[id] = Infinity, nobody
		for _, s := range f.in[id] {
			if f.marks[s.from]&isRisen != 0 {
				continue
			}
			if due := s.earliest(f.send[s.from]); due.Before(f.safe[id]) {
				f.safe[id], f.parent[id] = due, int32(s.from)
			}
		}
	}
	for _, id := range f.risen {
		f.push(candidate{f.own(id), id})
	}
}

// clean removes the marks, and from open those whose E did not rise.
func (f *forest) clean() {
	for _, id := range f.risen {
		f.marks[id] = 0
	}
	rose := f.open[:0]
	for k, id := range f.open {
		f.marks[id] = 0
		if f.before[k] != f.safe[id] {
			rose = append(rose, id)
		}
	}
	f.risen, f.open = f.risen[:0], rose
}

func (f *forest) push(c candidate) {
	f.heap = append(f.heap, c)
	i := len(f.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !c.send.Before(f.heap[parent].send) {
			break
		}
		f.heap[i] = f.heap[parent]
		i = parent
	}
	f.heap[i] = c
}

func (f *forest) pop() candidate {
	h := f.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	f.heap = h
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].send.Before(h[child].send) {
			child++
		}
		if !h[child].send.Before(last.send) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = last
	}
	return top
}
