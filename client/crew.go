package client

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Crew runs many clients of one process without a change of goroutine each time that one of them waits and another
// may go on: each client is a coroutine, and the workers of the crew resume one after the other. A client is written as
// everywhere: it calls Step, Next or Run, and where it would wait its worker turns to the next one.
//
//	crew := client.NewCrew()
//	for _, m := range models {
//		crew.Go(func(aboard client.Option) { ... b.Complete(ctx, client.WithHost(host), aboard) ... })
//	}
//	crew.Wait()
//
// Clients that compute for long get a worker each, so as many compute at once as there are processors; those that only
// answer share one, as handing them to another costs more than the answer. What they say before they wait, over a
// connection that they share, is written when none of them can go on.
//
// A client in a crew may be resumed by one goroutine now and by another later. What blocks beside the client's own
// calls blocks its worker.
type Crew struct {
	all  sync.WaitGroup // who is aboard
	news atomic.Int32   // 1 where somebody who assists may find something to do

	mu      sync.Mutex
	call    sync.Cond
	ready   []*seat       // may go on, in order
	head    int           // of ready, how many have gone on
	backlog time.Duration // what those who may go on will cost, where it is worth sharing
	unsent  []*Host       // have something to write
	aboard  int
	workers int
	idle    int  // workers that wait for a call
	deep    int  // workers with a client that computes for long
	turns   int  // that have begun
	watched bool // somebody looks after the turns
	served  bool // somebody calls assist after what comes from inside the process
}

// A seat is a client's place in a crew.
type seat struct {
	crew  *Crew
	next  func() (struct{}, bool) // resumes it; false when it has ended
	pause func(struct{}) bool
	state seatState
	began time.Time     // the present turn, or the last
	took  time.Duration // of it, as of the client's last report; 0 where nobody has looked
	cost  time.Duration // of a turn: it remembers the long ones for a while
}

type seatState uint8

const (
	paused  seatState = iota // waits for news
	queued                   // may go on
	running                  // has a worker
	called                   // has a worker, and news
)

const (
	// dear is the cost of a turn, or of several, that is worth one more worker: some times the price of waking one.
	dear = 20 * time.Microsecond
	// slight is the cost of a turn that is not worth being shared, however many there are: workers get into each other's
	// way.
	slight = 2 * time.Microsecond
	// watchEvery is how often somebody looks whether a client computes for longer than it used to.
	watchEvery = 5 * time.Millisecond
)

// NewCrew returns a crew without anybody aboard.
func NewCrew() *Crew {
	w := &Crew{}
	w.call.L = &w.mu
	return w
}

// Go runs f as a coroutine of the crew. It is given an option for Complete; f makes at most one client with it, and ends
// when that has ended.
func (w *Crew) Go(f func(aboard Option)) {
	s := &seat{crew: w, state: queued}
	s.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		s.pause = yield
		f(func(o *options) { o.seat = s })
	})
	w.all.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aboard++
	w.queue(s, false)
}

// queue lets a client go on when a worker is free, and gets one where that would take too long; assisted says that
// somebody assists soon. The caller has the lock.
func (w *Crew) queue(s *seat, assisted bool) {
	s.state = queued
	w.ready = append(w.ready, s)
	if s.cost >= slight {
		w.backlog += s.cost
	}
	awake := w.workers - w.idle
	if assisted && s.cost < dear {
		w.news.Store(1) // under the lock: who assists takes it back with a look at who is ready
		awake++
	}
	if awake <= w.deep || w.backlog >= dear && awake < w.deep+runtime.GOMAXPROCS(0) {
		w.help()
	}
}

// Served tells the crew that it is served inside the process. The function that it returns is to be called, as
// server.Config.After, whenever the clients may have been brought news. If no worker sees to them, it lets them go on
// itself, where it may, so that none need be woken; those who compute for long it leaves to the workers. Call Served
// before Go.
func (w *Crew) Served() (after func(here bool)) {
	w.served = true
	return w.assist
}

func (w *Crew) assist(here bool) {
	if w.news.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.news.Store(0)
	if awake := w.workers - w.idle; awake > 0 {
		if awake <= w.deep && w.waiting() {
			w.help()
		}
		return // they see to it; and one of them may be the caller
	}
	if !here {
		if w.waiting() {
			w.help()
		}
		return
	}
	w.workers++
	for range maxAssist {
		if !w.waiting() || w.head < len(w.ready) && w.ready[w.head].cost >= dear {
			break
		}
		w.next()
	}
	w.workers--
	if w.waiting() && w.workers-w.idle <= w.deep {
		w.help()
	}
}

// maxAssist is how many turns an assistant takes before it goes back to its own work.
const maxAssist = 1 << 12

// Wait waits until all aboard have ended.
func (w *Crew) Wait() { w.all.Wait() }

// wait lets the others go on until there is news for the client. Its coroutine calls it.
func (s *seat) wait() { s.pause(struct{}{}) }

// notify says that there is news for the client. assisted says that somebody assists soon.
func (s *seat) notify(assisted bool) {
	w := s.crew
	w.mu.Lock()
	defer w.mu.Unlock()
	switch s.state {
	case paused:
		w.queue(s, assisted)
	case running:
		s.state = called
	}
}

// send has a host written when nobody can go on any more.
func (w *Crew) send(h *Host) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsent = append(w.unsent, h)
	if w.workers == w.idle {
		w.help()
	}
}

// help gets one more worker. The caller has the lock.
func (w *Crew) help() {
	if w.idle > 0 {
		w.call.Signal()
		return
	}
	w.workers++
	go w.labor()
}

// labor is the life of a worker: until nobody is aboard.
func (w *Crew) labor() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.aboard > 0 {
		if w.waiting() {
			w.next()
			continue
		}
		w.idle++
		w.call.Wait()
		w.idle--
	}
	w.workers--
}

// next does one thing that waits: a client goes on, or, where none may, a host is written. The caller has the lock.
func (w *Crew) next() {
	if w.head < len(w.ready) {
		w.turn(w.pop())
		return
	}
	h := w.unsent[len(w.unsent)-1]
	w.unsent = w.unsent[:len(w.unsent)-1]
	w.mu.Unlock()
	_ = h.writeOut() // the host keeps the error for who writes next
	w.mu.Lock()
}

// pop takes the next client that may go on. The caller has the lock, and there is one.
func (w *Crew) pop() *seat {
	s := w.ready[w.head]
	w.ready[w.head] = nil
	if w.head++; w.head == len(w.ready) {
		w.ready, w.head = w.ready[:0], 0
	}
	if s.cost >= slight {
		w.backlog -= s.cost
	}
	return s
}

// waiting reports whether somebody, or something, waits for a worker. The caller has the lock.
func (w *Crew) waiting() bool { return w.head < len(w.ready) || len(w.unsent) > 0 }

// turn lets a client go on until it waits. The caller has the lock, and has it again at the end.
func (w *Crew) turn(s *seat) {
	s.state = running
	w.turns++
	long := s.cost >= dear
	if long {
		w.deep++
		if w.waiting() && w.workers-w.idle <= w.deep {
			w.help()
		}
	}
	if !w.watched {
		w.watched = true
		time.AfterFunc(watchEvery, func() { w.watch(0) })
	}
	w.mu.Unlock()
	s.began, s.took = time.Now(), 0
	_, more := s.next()
	if s.took == 0 {
		s.took = time.Since(s.began)
	}
	w.mu.Lock()
	if long {
		w.deep--
	}
	s.cost = max(s.took, s.cost-s.cost/8)
	switch {
	case !more:
		if w.aboard--; w.aboard == 0 {
			w.call.Broadcast() // workers that sleep; whoever assists is none of them
		}
		w.all.Done()
	case s.state == called:
		w.queue(s, true) // this worker goes on
	default:
		s.state = paused
	}
}

// watch gets help where a client computes for longer than it used to, and others wait behind it. before is how many
// turns had begun when it last looked.
func (w *Crew) watch(before int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.turns == before && w.workers == w.idle || w.aboard == 0:
		w.watched = false // nobody does anything
		return
	case w.turns == before && w.waiting():
		w.help()
	}
	now := w.turns
	time.AfterFunc(watchEvery, func() { w.watch(now) })
}
