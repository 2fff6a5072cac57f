package analysis

import (
	"reflect"

	"metasim/metasim"
	"metasim/record/journal"
)

// A tracer does the work of a run's dispatcher again, and notes what came of it.
type tracer struct {
	d        *metasim.Dispatcher
	tl       *Timeline
	src      Source
	clients  []trace
	nodes    []node
	profile  *profile
	log      *worklog
	blame    *blame
	channels map[string]uint32 // looked up, never iterated
	inFlight map[flight]int32  // likewise: messages that are kept and were not delivered yet
	began    bool
	wall     int64 // of the entry at hand
	entries  uint64
	diverged error

	spoke []metasim.ClientID // since the last Settle
	pass  uint32             // counts them
	asked []metasim.ClientID // began to wait since then
}

// A trace is what a tracer knows of one client.
type trace struct {
	clock
	letters fifo[letter] // messages that it was given and has not handled, in order
	permits fifo[permit] // what it was authorized ahead of need, in order
	sends   []stamp      // of its messages, by sequence number
	wait    wait

	running bool
	waiting bool
	polled  bool
	gone    bool
	spoke   uint32 // the pass in which it spoke last
	watch
	granted metasim.Instant // exclusive
	now     metasim.Instant // the last at which it did something
	heard   metasim.Instant // when the last message that it handled was due
	hears   bool            // there was one
	last    flight          // which
	worked  int64           // what led to its last event
	grant   int32           // the present one in Timeline.Grants; -1 where it is not kept
	claims  claims
}

// A flight names a message on its way to one recipient.
type flight struct {
	from, to metasim.ClientID
	seq      uint64
}

func newTracer(src Source) (*tracer, error) {
	d, err := metasim.New(src.Config)
	if err != nil {
		return nil, err
	}
	if src.MaxGrants == 0 {
		src.MaxGrants = DefaultMax
	}
	if src.MaxMessages == 0 {
		src.MaxMessages = DefaultMax
	}
	n := len(d.Names())
	t := &tracer{
		d: d, src: src, tl: &Timeline{Names: d.Names(), Cores: src.Cores}, clients: make([]trace, n), profile: newProfile(n, src.Cores),
		channels: map[string]uint32{}, inFlight: map[flight]int32{}, pass: 1,
	}
	t.blame = newBlame(t)
	t.log = newWorklog(src.Config, n, src.MaxGrants/2)
	t.log.live(src, t.tl.Names)
	t.tl.log = t.log
	t.tl.stats = newStats(n)
	for i := range t.clients {
		t.clients[i].node, t.clients[i].grant = noNode, -1
	}
	return t, nil
}

// take takes the entries of one pass of the server.
func (t *tracer) take(pass []journal.Entry) error {
	for i := range pass {
		if err := t.lap(pass[i].Event); err != nil {
			return err
		}
	}
	for i := range pass {
		if t.diverged != nil {
			return t.diverged
		}
		if err := t.entry(&pass[i]); err != nil {
			return err
		}
	}
	return nil
}

// entry takes one entry of the journal.
func (t *tracer) entry(e *journal.Entry) error {
	t.entries++
	if t.began && e.Wall != t.wall {
		t.endPass()
		t.profile.pass(e.Wall, t.simulated)
	}
	t.wall = e.Wall
	var effects []metasim.Effect
	if e.Event == nil {
		effects = t.d.Settle()
	} else {
		if id, ok := journal.ClientOf(e.Event); ok {
			t.speaks(id)
		}
		t.event(e.Event)
		effects = t.d.Step(e.Event)
	}
	if !same(effects, e.Effects) {
		t.diverged = &DivergedError{Entry: t.entries}
	}
	for _, effect := range e.Effects {
		if err := t.effect(effect); err != nil {
			return err
		}
	}
	if e.Event == nil {
		t.endPass()
	}
	return nil
}

// same compares as much of effects as decides what a timeline shows.
func same(a, b []metasim.Effect) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		switch x := a[i].(type) {
		case *metasim.Authorize:
			if y, ok := b[i].(*metasim.Authorize); !ok || x.To != y.To || x.Until != y.Until {
				return false
			}
		case *metasim.Deliver:
			if y, ok := b[i].(*metasim.Deliver); !ok || x.To != y.To || x.Number != y.Number {
				return false
			}
		default:
			if reflect.TypeOf(x) != reflect.TypeOf(b[i]) {
				return false
			}
		}
	}
	return true
}

func (t *tracer) speaks(id metasim.ClientID) {
	if c := &t.clients[id]; c.spoke != t.pass {
		c.spoke = t.pass
		t.spoke = append(t.spoke, id)
	}
}

// endPass looks anew for whoever waits for those who have spoken, and for those who wait since.
func (t *tracer) endPass() {
	if t.blame.initializing == 0 {
		t.blame.refresh(t.spoke, t.asked)
		t.asked = t.asked[:0]
	}
	t.spoke = t.spoke[:0]
	t.pass++
}

// event notes what a client says, before it is stepped.
func (t *tracer) event(ev metasim.Event) {
	switch ev := ev.(type) {
	case *metasim.Join:
		t.tl.stats.join(ev)
		t.log.note(t, ev, ev.Client, 0)
	case *metasim.Begin:
		t.begin()
	case *metasim.Permit:
		t.spoke = append(t.spoke, metasim.ClientID(len(t.clients))) // for who is paused
	case *metasim.Send:
		t.work(ev.Client, ev.Sent)
		t.log.note(t, ev, ev.Client, t.clients[ev.Client].worked)
		t.send(ev)
	case *metasim.Promise:
		c := &t.clients[ev.Client]
		t.work(ev.Client, c.now)
		c.claims.raise(ev.NoSendBefore.Time)
		t.tl.stats.clients[ev.Client].reports++
	case *metasim.Advance:
		t.report(ev.Client, &ev.Report)
		t.log.note(t, ev, ev.Client, t.clients[ev.Client].worked)
	case *metasim.PollWait:
		t.report(ev.Client, &ev.Report)
		t.log.note(t, ev, ev.Client, t.clients[ev.Client].worked)
		t.poll(ev)
	case *metasim.Leave:
		t.leave(ev)
	}
}

// effect notes what the dispatcher decided.
func (t *tracer) effect(e metasim.Effect) error {
	n := metasim.ClientID(len(t.clients))
	switch e := e.(type) {
	case *metasim.Queue:
		if e.To >= n || e.Message.From >= n {
			return ErrForeign
		}
		t.queue(e.To, &e.Message, false)
	case *metasim.Lose:
		if e.To >= n || e.Message.From >= n {
			return ErrForeign
		}
		t.queue(e.To, &e.Message, true)
	case *metasim.Deliver:
		if e.To >= n || e.Message.From >= n {
			return ErrForeign
		}
		t.deliver(e)
	case *metasim.Authorize:
		if e.To >= n {
			return ErrForeign
		}
		t.authorize(e)
	}
	return nil
}

// simulated is how far the run as a whole has come.
func (t *tracer) simulated() metasim.Time { return t.d.Now().Time }
