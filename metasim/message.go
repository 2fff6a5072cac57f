package metasim

import "cmp"

// A ClientID is the rank of a client's name among all names of the run, in order of bytes, from 0. It depends on the
// scenario alone, never on the order in which clients connect, so it may decide ties.
type ClientID uint32

// A Message is one publish on its way to one recipient.
type Message struct {
	From    ClientID
	Seq     uint64 // counts the sends of From, from 0
	Channel string
	Sent    Instant
	Due     Instant
	Payload []byte // never changed after it was sent
}

// Compare is the total order in which one recipient gets its messages: (Due, Sent, From, Seq). None of these depends on when a
// message reached the dispatcher. Only the copies of a duplicated message compare equal, and they are equal.
func (m *Message) Compare(n *Message) int {
	return cmp.Or(m.Due.Compare(n.Due), m.Sent.Compare(n.Sent), cmp.Compare(m.From, n.From), cmp.Compare(m.Seq, n.Seq))
}

// A queue holds the messages that wait for one recipient, the next one on top, in the order of Message.Compare.
//
// It is a heap of its own with four branches, half as deep as one of two. What is moved are entries of thirty-two bytes, not
// messages of ninety: they stay in their places, and are looked at only where one client sent two at one instant. A
// pq.Queue of messages, to which the benchmark beside the test compares it, takes up to twice as long.
type queue struct {
	heap     []entry
	messages []Message
	free     []uint32 // places in messages where there is none
}

// An entry is what nearly always decides about the order of a message, and the place of the message.
type entry struct {
	due, sent         Time
	dueStep, sentStep uint32
	from              ClientID
	place             uint32
}

func (q *queue) len() int { return len(q.heap) }

// due returns when the next message is due, Infinity for an empty queue.
func (q *queue) due() Instant {
	if len(q.heap) == 0 {
		return Infinity
	}
	return Instant{Time: q.heap[0].due, Step: q.heap[0].dueStep}
}

// before reports whether the message of e comes before that of f.
func (q *queue) before(e, f *entry) bool {
	switch {
	case e.due != f.due:
		return e.due < f.due
	case e.dueStep != f.dueStep:
		return e.dueStep < f.dueStep
	case e.sent != f.sent:
		return e.sent < f.sent
	case e.sentStep != f.sentStep:
		return e.sentStep < f.sentStep
	case e.from != f.from:
		return e.from < f.from
	}
	return q.messages[e.place].Seq < q.messages[f.place].Seq
}

func (q *queue) push(m Message) {
	e := entry{
		due: m.Due.Time, dueStep: m.Due.Step, sent: m.Sent.Time, sentStep: m.Sent.Step, from: m.From, place: q.store(m),
	}
	q.heap = append(q.heap, e)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !q.before(&e, &h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// store stores a message, and returns its place.
func (q *queue) store(m Message) uint32 {
	if n := len(q.free); n > 0 {
		place := q.free[n-1]
		q.free = q.free[:n-1]
		q.messages[place] = m
		return place
	}
	q.messages = append(q.messages, m)
	return uint32(len(q.messages) - 1)
}

// pop removes and returns the next message; the queue must not be empty.
func (q *queue) pop() Message {
	h := q.heap
	place, last := h[0].place, h[len(h)-1]
	h = h[:len(h)-1]
	q.heap = h
	if len(h) > 0 {
		q.sink(last)
	}
	m := q.messages[place]
	q.messages[place].Payload = nil // so that it can be freed
	q.free = append(q.free, place)
	return m
}

// sink puts an entry where the top was, or below.
func (q *queue) sink(e entry) {
	h := q.heap
	i := 0
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, len(h)); k++ {
			if q.before(&h[k], &h[least]) {
				least = k
			}
		}
		if !q.before(&h[least], &e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
