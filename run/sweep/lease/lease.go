// Package lease says which worker carries out which run of a sweep, and which of several attempts at a run counts. It has no clock and starts nothing: the
// caller says that a worker is lost.
//
// A worker takes runs, and carries them out in the order in which it has taken them. Where it is lost, others take its runs. It may be alive, though, and
// finish one of them: the first attempt that is finished counts, and any other must have come to the same.
package lease

import "slices"

// A Lease is one attempt at a run.
type Lease struct {
	ID      int `json:"id"`
	Attempt int `json:"attempt"` // from 1
}

// A Verdict says what a finished attempt is worth.
type Verdict string

const (
	Counts  Verdict = "counts"  // it is the first one
	Equal   Verdict = "equal"   // another one came first, and to the same
	Differs Verdict = "differs" // another one came first, and to something else: the run is not deterministic
	Unknown Verdict = "unknown" // nobody was asked for it, or its run was given up
)

// A Queue has all runs that are to be carried out.
type Queue struct {
	retries int
	waiting []Lease // with the number of the next attempt
	back    []Lease // likewise; they were taken back, and come first
	held    map[int][]Lease
	runs    map[int]*run // those that were taken and may be finished, once more or for the first time
	left    int          // runs without a result
}

// A run is one of which an attempt may be finished.
type run struct {
	open   []int // attempts, also those of workers that were lost
	lost   int   // how many workers were lost while they carried it out
	done   bool
	digest string // of the attempt that counts, if done
}

// NewQueue returns a queue of runs, each with the attempt that is next. A run is given up when retries workers were lost while they carried it out.
func NewQueue(runs []Lease, retries int) *Queue {
	return &Queue{retries: retries, waiting: runs, held: map[int][]Lease{}, runs: map[int]*run{}, left: len(runs)}
}

// Take gives a worker one more run. It returns false if none waits.
func (q *Queue) Take(worker int) (Lease, bool) {
	from := &q.back
	if len(*from) == 0 {
		from = &q.waiting
	}
	if len(*from) == 0 {
		return Lease{}, false
	}
	l := (*from)[0]
	*from = (*from)[1:]
	if q.runs[l.ID] == nil {
		q.runs[l.ID] = &run{}
	}
	q.runs[l.ID].open = append(q.runs[l.ID].open, l.Attempt)
	q.held[worker] = append(q.held[worker], l)
	return l, true
}

// Held is how many runs a worker has.
func (q *Queue) Held(worker int) int { return len(q.held[worker]) }

// Over reports whether every run has a result, or was given up.
func (q *Queue) Over() bool { return q.left == 0 }

// Lost takes the runs of a worker back: others may take them. It returns the one that it was at, if that is given up now and has no result.
func (q *Queue) Lost(worker int) (poison []Lease) {
	held := q.held[worker]
	delete(q.held, worker)
	for i, l := range held {
		r := q.runs[l.ID]
		if r == nil || r.done {
			continue
		}
		if i == 0 { // the others had not begun
			r.lost++
		}
		if r.lost >= q.retries {
			delete(q.runs, l.ID)
			q.left--
			poison = append(poison, l)
			continue
		}
		q.back = append(q.back, Lease{l.ID, l.Attempt + 1})
	}
	return poison
}

// Finish takes what came of an attempt, by the worker that was given it.
func (q *Queue) Finish(worker int, l Lease, digest string) Verdict {
	q.held[worker] = slices.DeleteFunc(q.held[worker], func(other Lease) bool { return other == l })
	r := q.runs[l.ID]
	if r == nil || !slices.Contains(r.open, l.Attempt) {
		return Unknown
	}
	r.open = slices.DeleteFunc(r.open, func(attempt int) bool { return attempt == l.Attempt })
	verdict := Counts
	switch {
	case !r.done:
		r.done, r.digest = true, digest
		q.left--
		q.back = slices.DeleteFunc(q.back, func(other Lease) bool { return other.ID == l.ID }) // it is not needed any more
	case r.digest == digest:
		verdict = Equal
	default:
		verdict = Differs
	}
	if len(r.open) == 0 {
		delete(q.runs, l.ID)
	}
	return verdict
}
