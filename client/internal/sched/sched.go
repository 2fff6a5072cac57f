// Package sched runs many clients of one process as coroutines on few workers. Each client is a [Task]: where it would
// wait, it pauses, and its worker resumes the next task.
//
// A worker resumes one task after the other. A task that computes for long has a worker to itself, so as many tasks
// compute at once as there are processors. Tasks that only answer share one worker, because a change of goroutine costs
// more than the answer. What tasks have to write is written when no task can go on.
package sched

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"metasim/internal/fifo"
)

// A Scheduler resumes tasks. Make one with New.
type Scheduler struct {
	// Assisted says that a server in this process calls Assist whenever it has notified tasks. It is set before Go.
	Assisted bool

	all    sync.WaitGroup // tasks
	queued atomic.Bool    // a task was queued for the next Assist

	mu      sync.Mutex
	work    sync.Cond
	ready   fifo.Queue[*Task]
	backlog time.Duration  // what the tasks that are ready will cost, where it is worth sharing
	unsent  []func() error // writes that wait
	tasks   int            // that have not ended
	workers int
	idle    int  // workers that wait for work
	long    int  // workers with a task that computes for long
	turns   int  // that have begun
	watched bool // a timer looks after the turns
}

// A Task is one coroutine.
type Task struct {
	Scheduler *Scheduler // runs the task
	Began     time.Time  // of the present turn, or the last; for the task alone

	next  func() (struct{}, bool) // resumes it; false when it has ended
	yield func(struct{}) bool
	state state
	took  time.Duration // by the turn, as Took told; 0 where Took was not called
	cost  time.Duration // of a turn: it remembers the long ones for a while
}

type state uint8

const (
	paused   state = iota // waits for a Notify
	ready                 // may go on
	running               // has a worker
	notified              // has a worker, and may go on after it pauses
)

const (
	// wakeThreshold: queued work above this justifies waking another worker; several times the cost of a wake-up.
	wakeThreshold = 20 * time.Microsecond
	// shareThreshold: a cheaper turn is not worth sharing, however many there are, as workers get into each other's way.
	shareThreshold = 2 * time.Microsecond
	// watchPeriod is how often a timer looks whether a task computes for longer than it used to.
	watchPeriod = 5 * time.Millisecond
	// maxAssist is how many turns an Assist takes before its caller goes back to its own work.
	maxAssist = 1 << 12
)

// New returns a scheduler without tasks.
func New() *Scheduler {
	s := &Scheduler{}
	s.work.L = &s.mu
	return s
}

// Go runs f as a task, which ends with it.
func (s *Scheduler) Go(f func(*Task)) {
	t := &Task{Scheduler: s}
	t.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		f(t)
	})
	s.all.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks++
	s.queue(t, false)
}

// Wait waits until all tasks have ended.
func (s *Scheduler) Wait() { s.all.Wait() }

// Assist resumes tasks on the caller's goroutine if no worker is awake, so that none need be woken. It leaves tasks that
// compute for long to the workers. If canRun is false, it leaves all tasks to them.
func (s *Scheduler) Assist(canRun bool) {
	if !s.queued.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queued.Store(false)
	if awake := s.workers - s.idle; awake > 0 {
		if awake <= s.long && s.waiting() {
			s.wake()
		}
		return // the workers see to it; and one of them may be the caller
	}
	if !canRun {
		if s.waiting() {
			s.wake()
		}
		return
	}
	s.workers++
	for range maxAssist {
		if !s.waiting() || s.ready.Len() > 0 && (*s.ready.First()).cost >= wakeThreshold {
			break
		}
		s.step()
	}
	s.workers--
	if s.waiting() && s.workers-s.idle <= s.long {
		s.wake()
	}
}

// WriteLater calls write when no task can go on any more. It drops the error of write.
func (s *Scheduler) WriteLater(write func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsent = append(s.unsent, write)
	if s.workers == s.idle {
		s.wake()
	}
}

// Pause lets other tasks go on until there is a Notify; one that came since the turn began counts. The task calls it.
func (t *Task) Pause() { t.yield(struct{}{}) }

// Notify lets the task go on. assisted says that the caller's goroutine calls Assist soon.
func (t *Task) Notify(assisted bool) {
	s := t.Scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t.state {
	case paused:
		s.queue(t, assisted)
	case running:
		t.state = notified
	}
}

// Took tells how long the present turn has taken so far, so that the scheduler need not look at the clock at its end. The
// task calls it, as late as it can.
func (t *Task) Took(d time.Duration) { t.took = d }

// run is the life of a worker: until no task is left.
func (s *Scheduler) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.tasks > 0 {
		if s.waiting() {
			s.step()
			continue
		}
		s.idle++
		s.work.Wait()
		s.idle--
	}
	s.workers--
}

// The methods below are called with the lock, and return with it.

// step does one thing that waits: a task goes on, or, where none may, something is written.
func (s *Scheduler) step() {
	if s.ready.Len() > 0 {
		t := s.ready.Pop()
		if t.cost >= shareThreshold {
			s.backlog -= t.cost
		}
		s.turn(t)
		return
	}
	last := len(s.unsent) - 1
	write := s.unsent[last]
	s.unsent = s.unsent[:last]
	s.mu.Unlock()
	_ = write() // the host keeps the error for the next write
	s.mu.Lock()
}

// turn resumes a task until it pauses.
func (s *Scheduler) turn(t *Task) {
	t.state = running
	s.turns++
	long := t.cost >= wakeThreshold
	if long {
		s.long++
		if s.waiting() && s.workers-s.idle <= s.long {
			s.wake()
		}
	}
	if !s.watched {
		s.watched = true
		time.AfterFunc(watchPeriod, func() { s.watch(0) })
	}
	s.mu.Unlock()
	t.Began, t.took = time.Now(), 0
	_, more := t.next()
	if t.took == 0 {
		t.took = time.Since(t.Began)
	}
	s.mu.Lock()
	if long {
		s.long--
	}
	t.cost = max(t.took, t.cost-t.cost/8)
	switch {
	case !more:
		if s.tasks--; s.tasks == 0 {
			s.work.Broadcast() // to workers that sleep; a caller of Assist is none of them
		}
		s.all.Done()
	case t.state == notified:
		s.queue(t, true) // this worker goes on
	default:
		t.state = paused
	}
}

// queue lets a task go on when a worker is free, and gets one where that would take too long. assisted says that
// Assist is called soon.
func (s *Scheduler) queue(t *Task, assisted bool) {
	t.state = ready
	s.ready.Push(t)
	if t.cost >= shareThreshold {
		s.backlog += t.cost
	}
	awake := s.workers - s.idle
	if assisted && t.cost < wakeThreshold {
		s.queued.Store(true) // under the lock: Assist takes it back, then looks at what is ready
		awake++
	}
	if awake <= s.long || s.backlog >= wakeThreshold && awake < s.long+runtime.GOMAXPROCS(0) {
		s.wake()
	}
}

// waiting reports whether a task or a write waits for a worker.
func (s *Scheduler) waiting() bool { return s.ready.Len() > 0 || len(s.unsent) > 0 }

// wake gets one more worker.
func (s *Scheduler) wake() {
	if s.idle > 0 {
		s.work.Signal()
		return
	}
	s.workers++
	go s.run()
}

// watch gets one more worker where a task computes for longer than it used to, and others wait behind it. before is how
// many turns had begun when it last looked. A timer calls it, without the lock.
func (s *Scheduler) watch(before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turns == before && s.workers == s.idle || s.tasks == 0:
		s.watched = false // nothing goes on
		return
	case s.turns == before && s.waiting():
		s.wake()
	}
	now := s.turns
	time.AfterFunc(watchPeriod, func() { s.watch(now) })
}
