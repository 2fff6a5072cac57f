package bus

import (
	"bytes"
	"container/list"
	"net/netip"

	"metasim/lcm"
)

const (
	maxSenders = 1000    // how many senders' numbers are followed
	maxGap     = 1 << 16 // messages that can be missing; a larger jump is a new sender at the same address
)

// A receiver makes messages of datagrams.
type receiver struct {
	count     *counters
	subs      *subscriptions
	fragments *assembler
	last      map[netip.AddrPort]uint32 // the latest number of each sender
	self      map[netip.AddrPort]bool   // senders to leave out
}

func newReceiver(c *counters, s *subscriptions) *receiver {
	fragments := &assembler{count: c, waiting: map[origin]*list.Element{}}
	return &receiver{count: c, subs: s, fragments: fragments, last: map[netip.AddrPort]uint32{}}
}

// datagram processes a datagram of a sender. It keeps no reference to b.
func (r *receiver) datagram(from netip.AddrPort, b []byte) {
	if from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port()); r.self[from] {
		return
	}
	p, ok := parsePacket(b)
	if !ok {
		r.count.refused.Add(1)
		return
	}
	r.follow(from, p.seq)
	if p.count == 0 {
		r.message(Message{Channel: p.channel, Payload: p.payload}, false)
		return
	}
	if m, whole := r.fragments.add(from, &p); whole {
		r.message(m, true)
	}
}

// message delivers a message. If owned is false, its payload is copied first.
func (r *receiver) message(m Message, owned bool) {
	if m.Channel == selfTest {
		return
	}
	r.count.received.Add(1)
	if !r.subs.wants(m.Channel) {
		return
	}
	if !owned {
		m.Payload = bytes.Clone(m.Payload)
	}
	r.count.dropped.Add(r.subs.deliver(m))
}

// follow counts the messages that a sender sent and that did not come: gaps in its numbers. A message that comes late is
// subtracted again.
func (r *receiver) follow(from netip.AddrPort, seq uint32) {
	last, known := r.last[from]
	ahead := int32(seq - last)
	switch {
	case !known && len(r.last) >= maxSenders:
		clear(r.last)
	case !known || ahead > maxGap || ahead < -maxGap: // a sender that begins, perhaps again
	case ahead > 0:
		r.count.lost.Add(uint64(ahead - 1))
	default:
		if ahead < 0 && r.count.lost.Load() > 0 {
			r.count.lost.Add(^uint64(0))
		}
		return
	}
	r.last[from] = seq
}

// The bounds of incomplete messages, which are liblcm's. Beyond them the one that has waited longest for a fragment is given
// up, so that a sender cannot fill the memory with beginnings of messages.
const (
	maxWaiting      = 1000
	maxWaitingBytes = 16 << 20
	fragmentCost    = 128 // about what a fragment takes beside its payload, in bytes
)

// An assembler puts messages together from their fragments, in any order. It allocates for what came, not for the size that
// a header claims; so a message above the bound can be put together if it is the only one.
type assembler struct {
	count   *counters
	waiting map[origin]*list.Element // of *partial
	order   list.List                // the one that has waited longest is in front
	bytes   int
}

// An origin identifies a message.
type origin struct {
	from netip.AddrPort
	seq  uint32
}

// A partial is a message of which fragments are missing.
type partial struct {
	origin  origin
	size    int          // of the payload
	missing int          // bytes of the payload
	count   int          // of all fragments
	parts   map[int]part // by number
	channel string       // of fragment 0
	bytes   int          // of memory, about
}

type part struct {
	offset  int
	payload []byte
}

// add copies a fragment, and returns the message when it is whole.
func (a *assembler) add(from netip.AddrPort, p *packet) (m Message, whole bool) {
	key := origin{from, p.seq}
	e := a.waiting[key]
	if e != nil {
		if w := e.Value.(*partial); w.size != p.size || w.count != p.count {
			a.giveUp(e) // the sender has begun to count again
			e = nil
		}
	}
	if e == nil {
		if p.size > lcm.MaxPayload || p.count > p.size+1 {
			a.count.refused.Add(1)
			return m, false
		}
		e = a.order.PushBack(&partial{origin: key, size: p.size, missing: p.size, count: p.count, parts: map[int]part{}})
		a.waiting[key] = e
	}
	a.order.MoveToBack(e)
	w := e.Value.(*partial)
	a.bytes += w.take(p)
	if w.missing < 0 || len(w.parts) == w.count {
		a.drop(e)
		if m, whole = w.join(); !whole {
			a.count.refused.Add(1)
			a.count.lost.Add(1)
		}
		return m, whole
	}
	for len(a.waiting) > 1 && (len(a.waiting) > maxWaiting || a.bytes > maxWaitingBytes) {
		a.giveUp(a.order.Front())
	}
	return m, false
}

// take copies a fragment, unless it has come before, and returns how many bytes that took.
func (w *partial) take(p *packet) int {
	if _, twice := w.parts[p.number]; twice {
		return 0
	}
	if p.number == 0 {
		w.channel = p.channel
	}
	w.parts[p.number] = part{p.offset, bytes.Clone(p.payload)}
	cost := fragmentCost + len(p.payload)
	w.bytes += cost
	w.missing -= len(p.payload)
	return cost
}

// join makes the message. It fails if the fragments have a gap or overlap.
func (w *partial) join() (Message, bool) {
	if w.missing != 0 || len(w.parts) != w.count {
		return Message{}, false
	}
	payload := make([]byte, 0, w.size)
	for number := range w.count {
		p := w.parts[number]
		if p.offset != len(payload) {
			return Message{}, false
		}
		payload = append(payload, p.payload...)
	}
	return Message{Channel: w.channel, Payload: payload}, true
}

// giveUp drops a message and counts it as lost.
func (a *assembler) giveUp(e *list.Element) {
	a.drop(e)
	a.count.lost.Add(1)
}

func (a *assembler) drop(e *list.Element) {
	w := a.order.Remove(e).(*partial)
	delete(a.waiting, w.origin)
	a.bytes -= w.bytes
}
