package lease

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// mostPortions is how many portions a sweep begins with at most: a directory has one file for each.
const mostPortions = 4096

// A Portion is what a worker claims where there is no coordinator: runs one after the other, as one attempt. Its name says all of it.
type Portion struct {
	First, Runs int
	Attempt     int    // from 1
	Lost        int    // how many workers were lost while they had it
	Worker      string // who has it; empty: nobody
}

// Portions returns those with which a sweep begins.
func Portions(runs int) (all []Portion) {
	size := (runs + mostPortions - 1) / mostPortions
	for first := 0; first < runs; first += size {
		all = append(all, Portion{First: first, Runs: min(size, runs-first), Attempt: 1})
	}
	return all
}

// Name is the name of the file of a portion.
func (p Portion) Name() string {
	name := fmt.Sprintf("%d-%d-%d-%d", p.First, p.Runs, p.Attempt, p.Lost)
	if p.Worker != "" {
		name += "." + p.Worker
	}
	return name
}

// ParsePortions returns the portions of some names of a sweep with so many runs. Others are left out, as what a file system makes for itself.
func ParsePortions(names []string, runs int) (all []Portion) {
	for _, name := range names {
		var p Portion
		numbers, worker, _ := strings.Cut(name, ".")
		_, err := fmt.Sscanf(numbers, "%d-%d-%d-%d", &p.First, &p.Runs, &p.Attempt, &p.Lost)
		p.Worker = worker
		if err == nil && p.Name() == name && p.First >= 0 && p.Runs > 0 && p.First+p.Runs <= runs && p.Attempt > 0 {
			all = append(all, p)
		}
	}
	return all
}

// By is a portion in the hands of a worker.
func (p Portion) By(worker string) Portion {
	p.Worker = worker
	return p
}

// Again is a portion of a worker that was lost, in the hands of another one. Of several runs nobody knows at which the worker was, so that counts for none of them.
func (p Portion) Again(worker string) Portion {
	p.Attempt++
	if p.Runs == 1 {
		p.Lost++
	}
	return p.By(worker)
}

// Split returns a portion for each run, in nobody's hands.
func (p Portion) Split() (each []Portion) {
	for i := range p.Runs {
		each = append(each, Portion{First: p.First + i, Runs: 1, Attempt: p.Attempt, Lost: p.Lost})
	}
	return each
}

// InOrder sorts what is done: of several portions with one run the first one counts. It is one that was given up, else the earliest attempt: all who look at the same names choose the same.
func InOrder(done []Portion, retries int) {
	slices.SortFunc(done, func(a, b Portion) int {
		return cmp.Or(cmp.Compare(min(b.Lost, retries)/retries, min(a.Lost, retries)/retries), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Name(), b.Name()))
	})
}

// A Beat is what a worker has said of itself last.
type Beat struct {
	Count   uint64        // changes as long as it is there
	Silence time.Duration // for how long it may say nothing
}

// A Listing has the names of the files that a worker finds, and the last beat of each other worker.
type Listing struct {
	Todo, Taken, Done []string
	Beats             map[string]Beat // by worker; of one that has never said anything there is none
}

// A Next says what a worker may do next. Others may be faster, for each portion.
type Next struct {
	Over bool      // every run is done
	Todo []Portion // to be claimed
	Lost []Portion // of workers that are lost, to be taken over
	Gone []Portion // runs that are nowhere, to be written down again: somebody has removed files
}

// A Watch decides for one worker, from what it finds.
type Watch struct {
	Worker  string
	Runs    int
	Period  time.Duration // from one look to the next
	Silence time.Duration // how long others may say nothing; zero: any time

	seen map[string]sight
	gone int // looks at which runs were nowhere
}

// A sight is what was last seen of another worker.
type sight struct {
	beat  Beat
	looks int // since it changed
}

// Next looks at a listing. Silence is counted in looks, of which one is counted for each Period: so no clock is compared with another one, and a worker that was
// stopped for long itself takes nobody for lost.
func (w *Watch) Next(l Listing, counted bool) Next {
	covered := make([]bool, w.Runs)
	cover := func(all []Portion) {
		for _, p := range all {
			for id := range p.Runs {
				covered[p.First+id] = true
			}
		}
	}
	open := func(p Portion) bool { return slices.Contains(covered[p.First:p.First+p.Runs], false) }
	cover(ParsePortions(l.Done, w.Runs))
	if !slices.Contains(covered, false) {
		return Next{Over: true}
	}
	var next Next
	for _, p := range ParsePortions(l.Todo, w.Runs) {
		if p.Worker == "" && open(p) {
			next.Todo = append(next.Todo, p)
		}
	}
	taken := slices.DeleteFunc(ParsePortions(l.Taken, w.Runs), func(p Portion) bool { return p.Worker == "" || !open(p) })
	if counted {
		w.count(taken, l.Beats)
	}
	for _, p := range taken {
		if w.lost(p.Worker) {
			next.Lost = append(next.Lost, p)
		}
	}
	cover(next.Todo)
	cover(taken)
	next.Gone = w.missing(covered, counted)
	if len(next.Todo) > 0 { // each begins elsewhere, so that few try the same
		h := fnv.New32a()
		_, _ = h.Write([]byte(w.Worker)) // it never fails
		at := int(h.Sum32() % uint32(len(next.Todo)))
		next.Todo = slices.Concat(next.Todo[at:], next.Todo[:at])
	}
	return next
}

// count counts one more look at the workers that have something.
func (w *Watch) count(taken []Portion, beats map[string]Beat) {
	seen := map[string]sight{}
	for _, p := range taken {
		s, known := w.seen[p.Worker]
		if beat := beats[p.Worker]; !known || beat != s.beat {
			s = sight{beat: beat, looks: -1}
		}
		if _, counted := seen[p.Worker]; !counted {
			s.looks++
			seen[p.Worker] = s
		}
	}
	w.seen = seen
}

// lost reports whether a worker has said nothing for too long: both for this one and by its own word.
func (w *Watch) lost(worker string) bool {
	s, known := w.seen[worker]
	return known && worker != w.Worker && w.Silence > 0 && time.Duration(s.looks)*w.Period >= max(w.Silence, s.beat.Silence)
}

// missing returns runs that are nowhere for as long as a worker may be silent: a portion that is split is nowhere for a moment.
func (w *Watch) missing(covered []bool, counted bool) (gone []Portion) {
	if !slices.Contains(covered, false) || w.Silence == 0 {
		w.gone = 0
		return nil
	}
	if counted {
		w.gone++
	}
	if time.Duration(w.gone)*w.Period <= w.Silence {
		return nil
	}
	for id, is := range covered {
		if !is {
			gone = append(gone, Portion{First: id, Runs: 1, Attempt: 1})
		}
	}
	return gone
}
