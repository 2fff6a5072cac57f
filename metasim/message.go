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

// A store holds each message once for all its recipients. A message keeps its place until its last recipient has handled it.
type store struct {
	messages []stored
	free     []uint32 // places where there is none
}

// leastKept is for how many messages the store and each queue always keep memory.
const leastKept = 1 << 10

// A stored is what all recipients of a message share. Who sent it, and when, is in the entries of their queues.
type stored struct {
	payload []byte
	channel string
	seq     uint64
	users   uint32 // copies that wait for a recipient, or that it was given and has not acknowledged
}

// add stores a message that nobody waits for yet, and returns its place.
func (s *store) add(m *Message) uint32 {
	v := stored{payload: m.Payload, channel: m.Channel, seq: m.Seq}
	if n := len(s.free); n > 0 {
		place := s.free[n-1]
		s.free = s.free[:n-1]
		s.messages[place] = v
		return place
	}
	s.messages = append(s.messages, v)
	return uint32(len(s.messages) - 1)
}

// remove frees a place.
func (s *store) remove(place uint32) {
	s.messages[place] = stored{}
	s.free = append(s.free, place)
}

// sparse reports whether a burst is over: few of the places are taken.
func (s *store) sparse() bool {
	return len(s.messages) > leastKept && 8*(len(s.messages)-len(s.free)) < len(s.messages)
}

// A queue holds the messages that wait for one recipient, the next one on top, in the order of Message.Compare.
//
// It is a heap of its own with four branches, half as deep as one of two. What is moved are entries of thirty-two bytes, not
// messages of ninety: those stay in the store, and are looked at only where one client sent two at one instant. A
// pq.Queue of messages, to which the benchmark beside the test compares it, takes up to twice as long.
type queue struct {
	heap  []entry
	store *store
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
	return q.store.messages[e.place].seq < q.store.messages[f.place].seq
}

// push adds a message that has a place in the store.
func (q *queue) push(m *Message, place uint32) {
	e := entry{
		due: m.Due.Time, dueStep: m.Due.Step, sent: m.Sent.Time, sentStep: m.Sent.Step, from: m.From, place: place,
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

// pop removes the next message, and returns it and its place, where it stays; the queue must not be empty.
func (q *queue) pop() (Message, uint32) {
	h := q.heap
	e, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	if 8*len(h) < cap(h) && cap(h) > leastKept { // a burst is over
		h = append(make([]entry, 0, cap(h)/2), h...)
	}
	q.heap = h
	if len(h) > 0 {
		q.sink(last)
	}
	m := &q.store.messages[e.place]
	return Message{
		From: e.from, Seq: m.seq, Channel: m.channel, Sent: Instant{Time: e.sent, Step: e.sentStep},
		Due: Instant{Time: e.due, Step: e.dueStep}, Payload: m.payload,
	}, e.place
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
