package analysis

// An agenda holds what is to happen to ghosts, the first on top: a heap, in the order in which it was put in where it happens at
// the same time.
type agenda struct {
	heap  []appointment
	count uint64
}

type appointment struct {
	wall  int64
	order uint64
	ghost *ghost
	stage stage
}

// A stage is what somebody has come to.
type stage uint8

const (
	reached     stage = iota // word has reached a ghost that waited
	computed                 // it has done what it does
	wrote                    // and has written what it has to say
	spun                     // a process has looked for more to do
	deskReached              // word of mail has reached the dispatcher
	adjourned                // it has ended a round
)

func (a *appointment) before(b *appointment) bool {
	return a.wall < b.wall || a.wall == b.wall && a.order < b.order
}

func (q *agenda) empty() bool { return len(q.heap) == 0 }

// first returns the next; there must be one.
func (q *agenda) first() *appointment { return &q.heap[0] }

func (q *agenda) push(a appointment) {
	q.count++
	a.order = q.count
	q.heap = append(q.heap, a)
	h := q.heap
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// pop removes and returns the next; there must be one.
func (q *agenda) pop() appointment {
	h := q.heap
	top := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&h[i]) {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	q.heap = h
	return top
}
