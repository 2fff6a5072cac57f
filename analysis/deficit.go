package analysis

import (
	"cmp"
	"math/bits"
	"slices"

	"metasim/metasim"
)

// A deficit is by how much simulated time a client's safe time falls short of what it waits for. Raise the least delay of a
// link on the path to who holds it by as much, and that path holds it no longer: what it waits at a deficit of x at most, a
// delay that is longer by x removes. Summed up over a run, that is the curve of a link: how much waiting is removed by how
// much more delay. It is more than what is won, as another path may hold the client too.
//
// Deficits are told apart by three binary digits.
type deficit uint16

// endless is the deficit of who waits for nothing in particular: no delay helps.
const endless = ^deficit(0)

// deficitOf is that of who waits for an instant, and is safe before another.
func deficitOf(need, safe metasim.Instant) deficit {
	if need.Time == metasim.Forever {
		return endless
	}
	x := uint64(max(0, need.Time-safe.Time)) // and one nanosecond more, for the bound is exclusive
	if x < 16 {
		return deficit(x)
	}
	n := bits.Len64(x)
	return deficit(8*(n-3)) + deficit(x>>(n-4)&7) // 16 begins 2^4
}

// most is the largest that a deficit stands for.
func (d deficit) most() metasim.Time {
	x := uint64(d)
	if x >= 16 {
		x = (8+x%8+1)<<(x/8-1) - 1
	}
	return metasim.Time(x).Add(1)
}

// A waitedAt is how long somebody waited at a deficit.
type waitedAt struct {
	short deficit
	took  int64
}

// shortfalls are what was waited on each path, in any order: there are few for one path.
type shortfalls [][]waitedAt

// add notes that a client has waited as it was when it was last looked at.
func (s shortfalls) add(w *wait, wall int64) {
	took := wall - w.counted
	w.counted = wall
	if took <= 0 || !w.known || w.path < 0 || w.short == endless {
		return
	}
	sums := s[w.path]
	for i := range sums {
		if sums[i].short == w.short {
			sums[i].took += took
			return
		}
	}
	s[w.path] = append(sums, waitedAt{w.short, took})
}

// curves returns for each link of the run's paths what was waited behind it, the least deficit first.
func (s shortfalls) curves(t *tracer) map[LinkID][]waitedAt {
	curves := map[LinkID][]waitedAt{}
	for path, sums := range s {
		for _, hop := range t.tl.Paths[path] {
			id := LinkID{hop.From, hop.To, t.channel(hop.Channel)}
			curves[id] = append(curves[id], sums...)
		}
	}
	for id, c := range curves { // each by itself
		slices.SortFunc(c, func(a, b waitedAt) int { return cmp.Compare(a.short, b.short) })
		n := 0
		for _, w := range c {
			if n > 0 && c[n-1].short == w.short {
				c[n-1].took += w.took
				continue
			}
			c[n] = w
			n++
		}
		curves[id] = c[:n]
	}
	return curves
}

// curve puts what was waited behind a link, of so much in all, into a few points: by how much more delay a tenth, a quarter, a
// half, ... of what can be ended is ended, and all of it. half is what ends half of all.
func curve(waited []waitedAt, held int64) (points []DelayReport, half int64) {
	all := int64(0)
	for _, w := range waited {
		all += w.took
	}
	half = -1
	marks := []float64{0.1, 0.25, 0.5, 0.75, 0.9, 1}
	ended := int64(0)
	for _, w := range waited {
		ended += w.took
		if half < 0 && 2*ended >= held {
			half = int64(w.short.most())
		}
		passed := false
		for len(marks) > 0 && float64(ended) >= marks[0]*float64(all) {
			passed, marks = true, marks[1:]
		}
		if passed {
			points = append(points, DelayReport{int64(w.short.most()), seconds(ended)})
		}
	}
	return points, half
}

// measure finds out by how much a client that waits falls short.
func (b *blame) measure(id metasim.ClientID, safe metasim.Instant) {
	w := &b.t.clients[id].wait
	w.need, w.safe = w.want, safe
	if w.eager {
		w.need = b.t.d.Status(id).Need
	}
	w.short = deficitOf(w.need, w.safe)
}

// expect takes up that a message is on its way to a client, which may wait for it.
func (b *blame) expect(id metasim.ClientID, due metasim.Instant) {
	c := &b.t.clients[id]
	if w := &c.wait; c.waiting && w.eager && due.Before(w.need) {
		b.shortfalls.add(w, b.t.wall)
		w.need = due
		w.short = deficitOf(w.need, w.safe)
	}
}
