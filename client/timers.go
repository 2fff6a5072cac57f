package client

import (
	"container/heap"

	"metasim/metasim"
)

// A Timer is a call that is to come.
type Timer struct {
	at     metasim.Instant
	number uint64 // the order of setting decides among those at one instant
	period metasim.Time
	f      func()
	owner  *timers
	index  int // in the heap; -1 when it is not there
}

// Stop makes the timer fire no more. It may be called by its own handler.
func (t *Timer) Stop() {
	t.period = 0
	if t.index >= 0 {
		heap.Remove(t.owner, t.index)
	}
}

// fire calls the handler, and then sets a periodic timer again: among those of its next instant it comes after what the
// handler set.
func (t *Timer) fire() {
	t.f()
	if t.period > 0 {
		t.at = metasim.At(t.at.Time.Add(t.period))
		t.owner.push(t)
	}
}

// timers is a heap of timers by (instant, order of setting).
type timers struct {
	heap   []*Timer
	number uint64
}

func (ts *timers) set(at metasim.Instant, period metasim.Time, f func()) *Timer {
	t := &Timer{at: at, period: period, f: f, owner: ts}
	ts.push(t)
	return t
}

func (ts *timers) push(t *Timer) {
	t.number = ts.number
	ts.number++
	heap.Push(ts, t)
}

func (ts *timers) pop() *Timer { return heap.Pop(ts).(*Timer) }

// next returns the instant of the next timer, Infinity if there is none.
func (ts *timers) next() metasim.Instant {
	if len(ts.heap) == 0 {
		return metasim.Infinity
	}
	return ts.heap[0].at
}

// The methods of heap.Interface.

func (ts *timers) Len() int { return len(ts.heap) }

func (ts *timers) Less(i, j int) bool {
	a, b := ts.heap[i], ts.heap[j]
	if a.at != b.at {
		return a.at.Before(b.at)
	}
	return a.number < b.number
}

func (ts *timers) Swap(i, j int) {
	ts.heap[i], ts.heap[j] = ts.heap[j], ts.heap[i]
	ts.heap[i].index, ts.heap[j].index = i, j
}

func (ts *timers) Push(x any) {
	t := x.(*Timer)
	t.index = len(ts.heap)
	ts.heap = append(ts.heap, t)
}

func (ts *timers) Pop() any {
	last := len(ts.heap) - 1
	t := ts.heap[last]
	ts.heap[last] = nil
	ts.heap = ts.heap[:last]
	t.index = -1
	return t
}
