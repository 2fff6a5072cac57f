package client

import (
	"sync"
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// outgoing is what a client has to say, and has not said yet.
//
// A client that is authorized far ahead reports at each instant at which it acts, and nobody may be waiting for it. So a
// report may wait for more: until the client waits itself, until it has come as far as somebody is known to need, or for
// a moment of real time, whichever is first. That decides when others learn what they would learn anyway: it reaches no
// result.
type outgoing struct {
	host   *Host
	number uint32 // of the member
	seat   *seat  // in a crew; may be nil

	mu      sync.Mutex // the timer flushes too
	packets []wire.Packet
	size    int // of their payloads
	sends   slab[metasim.Send]
	reports slab[metasim.Advance]
	poll    metasim.PollWait
	since   time.Time // when the first of the packets was put, where they may wait
	armed   bool      // the timer is set
	timer   *time.Timer
	err     error // of a write that nobody asked for
	some    bool  // see wrote
}

// How long and how much may wait.
const (
	keepFor     = 100 * time.Microsecond
	keepPackets = 512
	keepBytes   = 32 << 10
)

func (o *outgoing) add(body wire.Body) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.append(body)
}

func (o *outgoing) append(body wire.Body) {
	o.packets = append(o.packets, wire.Packet{Member: o.number, Body: body})
}

func (o *outgoing) send(channel string, sent metasim.Instant, payload []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.sends.lend()
	s.Channel, s.Sent, s.Payload = channel, sent, payload
	o.size += len(payload)
	o.append(s)
}

// advance reports an instant at which the client goes on. Where nothing was said since the last such report it takes its
// place: it says all that the other said, and more.
func (o *outgoing) advance(r metasim.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.packets); n > 0 {
		if last, ok := o.packets[n-1].Body.(*metasim.Advance); ok {
			r.Computed += last.Computed
			r.CPU += last.CPU
			last.Report = r
			return
		}
	}
	a := o.reports.lend()
	a.Report = r
	o.append(a)
}

// ask says that the client waits. The answer comes before the next one, so there is never more than one.
func (o *outgoing) ask(poll metasim.PollWait) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.poll = poll
	o.append(&o.poll)
}

// flush writes what is there, in one write.
func (o *outgoing) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.write(nil)
}

// flushAndWait is flush for a client that then waits: in a crew it may share the write with the others.
func (o *outgoing) flushAndWait() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.write(o.seat)
}

// wrote reports whether anything was written since it was last asked.
func (o *outgoing) wrote() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.some
	o.some = false
	return w
}

// flushLater has what is there written soon, or at once where it is much.
func (o *outgoing) flushLater() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.packets) >= keepPackets || o.size >= keepBytes {
		return o.write(nil)
	}
	if o.since.IsZero() {
		o.since = time.Now()
	}
	if !o.armed {
		o.armed = true
		o.arm(keepFor)
	}
	return o.err
}

func (o *outgoing) arm(d time.Duration) {
	if o.timer == nil {
		o.timer = time.AfterFunc(d, o.ring)
		return
	}
	o.timer.Reset(d)
}

// ring is the timer's: it writes what has waited for long enough. One that was set for packets which have been written
// meanwhile serves those that came after them.
func (o *outgoing) ring() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armed = false
	if o.since.IsZero() {
		return
	}
	if left := keepFor - time.Since(o.since); left > 0 {
		o.armed = true
		o.arm(left)
		return
	}
	_ = o.write(nil) // the next flush returns it
}

func (o *outgoing) write(s *seat) error {
	o.since = time.Time{}
	if len(o.packets) == 0 || o.err != nil {
		return o.err
	}
	o.some = true
	o.err = o.host.write(o.packets, s)
	clear(o.packets)
	o.packets, o.size = o.packets[:0], 0
	o.sends.reclaim()
	o.reports.reclaim()
	return o.err
}

// A slab lends memory for values of one type, and takes all of it back at once.
type slab[T any] struct{ lent []T }

func (s *slab[T]) lend() *T {
	if len(s.lent) == cap(s.lent) {
		s.lent = make([]T, 0, max(1, 2*cap(s.lent))) // what was lent before stays where it is
	}
	s.lent = s.lent[:len(s.lent)+1]
	return &s.lent[len(s.lent)-1]
}

func (s *slab[T]) reclaim() {
	clear(s.lent) // so that payloads can be freed
	s.lent = s.lent[:0]
}
