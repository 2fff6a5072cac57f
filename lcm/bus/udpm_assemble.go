package bus

import (
	"bytes"
	"container/list"
	"net/netip"
	"slices"

	"metasim/lcm"
)

// What of incomplete messages is kept at most: the bounds of liblcm. Beyond them the one that waits longest for a fragment
// goes, so that nobody can fill the memory by beginning messages.
const (
	maxWaiting      = 1000
	maxWaitingBytes = 16 << 20
	fragmentCost    = 64 // bytes that a waiting fragment costs beside its payload, about
)

// An assembler puts messages together from their fragments, in whatever order they come. It takes memory only for what
// came, whatever size a header claims; so a message above the bound can be put together, while no other one waits.
type assembler struct {
	waiting map[origin]*list.Element // of *partial
	order   list.List                // the one that waits longest in front
	bytes   int
	lost    uint64 // messages that were given up
	refused uint64 // fragments that contradict what came before of their message
}

// An origin tells one message from all others that are under way.
type origin struct {
	from netip.AddrPort
	seq  uint32
}

// A partial is a message of which fragments are missing.
type partial struct {
	origin  origin
	size    int    // of the payload
	missing int    // bytes of it
	count   int    // of fragments in all
	came    []byte // a bit for each fragment
	parts   []part
	name    string // of the channel; fragment 0 has it
	bytes   int    // that it costs
}

type part struct {
	number, offset int
	payload        []byte
}

func newAssembler() *assembler { return &assembler{waiting: map[origin]*list.Element{}} }

// add takes a fragment, whose payload it copies, and returns the message once it is whole.
func (a *assembler) add(from netip.AddrPort, p *packet) (m Message, whole bool) {
	key := origin{from, p.seq}
	e := a.waiting[key]
	if e != nil {
		if w := e.Value.(*partial); w.size != p.size || w.count != p.count {
			a.give(e) // a sender that began anew with its counting
			e = nil
		}
	}
	if e == nil {
		if p.size > lcm.MaxPayload || p.count > p.size+1 {
			a.refused++
			return m, false
		}
		w := &partial{origin: key, size: p.size, missing: p.size, count: p.count, came: make([]byte, p.count/8+1)}
		w.bytes = len(w.came)
		a.bytes += w.bytes
		e = a.order.PushBack(w)
		a.waiting[key] = e
	}
	a.order.MoveToBack(e)
	w := e.Value.(*partial)
	a.bytes += w.take(p)
	if w.missing < 0 || len(w.parts) == w.count {
		a.drop(e)
		if m, whole = w.join(); !whole {
			a.refused++
			a.lost++
		}
		return m, whole
	}
	for len(a.waiting) > 1 && (len(a.waiting) > maxWaiting || a.bytes > maxWaitingBytes) {
		a.give(a.order.Front())
	}
	return m, false
}

// take keeps a fragment, unless it is there, and returns how many bytes that cost.
func (w *partial) take(p *packet) int {
	bit := byte(1) << (p.number % 8)
	if w.came[p.number/8]&bit != 0 {
		return 0
	}
	w.came[p.number/8] |= bit
	if p.number == 0 {
		w.name = p.channel
	}
	w.parts = append(w.parts, part{p.number, p.offset, bytes.Clone(p.payload)})
	cost := fragmentCost + len(p.payload)
	w.bytes += cost
	w.missing -= len(p.payload)
	return cost
}

// join makes the message. The fragments must be the payload, without a gap and in order.
func (w *partial) join() (Message, bool) {
	slices.SortFunc(w.parts, func(a, b part) int { return a.number - b.number })
	end := 0
	for _, p := range w.parts {
		if p.offset != end {
			return Message{}, false
		}
		end += len(p.payload)
	}
	if end != w.size || len(w.parts) != w.count {
		return Message{}, false
	}
	payload := make([]byte, 0, w.size)
	for _, p := range w.parts {
		payload = append(payload, p.payload...)
	}
	return Message{Channel: w.name, Payload: payload}, true
}

// give gives a message up.
func (a *assembler) give(e *list.Element) {
	a.drop(e)
	a.lost++
}

func (a *assembler) drop(e *list.Element) {
	w := a.order.Remove(e).(*partial)
	delete(a.waiting, w.origin)
	a.bytes -= w.bytes
}
