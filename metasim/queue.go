package metasim

// A queue holds the messages that wait for one recipient, the next one on top: a binary heap of values ordered by
// Message.Compare, written out so that no message is boxed.
type queue struct{ heap []Message }

func (q *queue) len() int { return len(q.heap) }

// due returns when the next message is due, Infinity for an empty queue.
func (q *queue) due() Instant {
	if len(q.heap) == 0 {
		return Infinity
	}
	return q.heap[0].Due
}

func (q *queue) push(m Message) {
	q.heap = append(q.heap, m)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].Compare(&m) <= 0 {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = m
}

// pop removes and returns the next message; the queue must not be empty.
func (q *queue) pop() Message {
	h := q.heap
	top, last := h[0], h[len(h)-1]
	h[len(h)-1] = Message{} // so that its payload can be freed
	h = h[:len(h)-1]
	q.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].Compare(&h[child]) < 0 {
			child++
		}
		if last.Compare(&h[child]) <= 0 {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return top
}
