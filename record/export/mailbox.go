package export

import "metasim/metasim"

// A mailbox holds what is queued for one client and not yet handled, the next message on top: a binary heap of values.
// A client handles its messages in their order, so what it acknowledges is always the top.
type mailbox []metasim.Message

// due returns when the next message is due, Infinity for an empty mailbox.
func (b mailbox) due() metasim.Instant {
	if len(b) == 0 {
		return metasim.Infinity
	}
	return b[0].Due
}

func (b *mailbox) push(m *metasim.Message) {
	*b = append(*b, *m)
	h := *b
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].Compare(m) <= 0 {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = *m
}

// pop removes the next message; there must be one.
func (b *mailbox) pop() metasim.Message {
	h := *b
	top, last := h[0], h[len(h)-1]
	h[len(h)-1] = metasim.Message{} // so that its payload can be freed
	h = h[:len(h)-1]
	*b = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for child := 1; child < len(h); child = 2*i + 1 {
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
