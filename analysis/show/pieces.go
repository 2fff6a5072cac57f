package show

import (
	"cmp"
	"math"
	"slices"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// A piece is what a page draws of a client: one grant, or several after one another that are too short to be told apart.
// No grant is left out, so that the critical path and all sums stay what they were.
type piece struct {
	begin, end int64 // from the first grant's Polled to the last one's Reported
	wait, work int64 // sums
	from       metasim.Time
	cause      metasim.ClientID // of the first
	grants     int
	critical   int // how many of the grants lie on the critical path
	holds      []hold
}

// A hold says who held the client back, from begin on; in a piece of several grants, for how long in all.
type hold struct {
	begin, length int64
	root          metasim.ClientID
	path          int32
}

// maxHolds is how many holds a piece tells of: the longest.
const (
	maxHolds       = 6
	maxHoldsOfMany = 3 // where it is of several grants
)

// pieces returns those of each client, in order, at most so many of them in all unless there are more clients than that.
func pieces(t *trace.Timeline, most int) [][]piece {
	b := &bundler{t: t, open: make([]piece, len(t.Names))}
	b.choose(most)
	all := make([][]piece, len(t.Names))
	b.walk(func(p piece, c metasim.ClientID) { all[c] = append(all[c], p) })
	return all
}

// A bundler puts the grants of each client together where one begins and the next ends within resolution.
type bundler struct {
	t          *trace.Timeline
	resolution int64 // -1: nothing is put together
	apart      bool  // grants on the critical path are not put together with others
	open       []piece
}

// choose finds the finest resolution that yields at most so many pieces. Grants on the critical path stay by themselves
// unless that makes pieces longer than a hundredth of the run.
func (b *bundler) choose(most int) {
	b.resolution, b.apart = -1, true
	if len(b.t.Grants) <= most {
		return
	}
	wall := b.t.Wall()
	for shift := 24; shift >= 0; shift-- {
		for _, apart := range []bool{true, false} {
			if b.resolution, b.apart = wall>>shift, apart; apart && b.resolution > wall/100 {
				continue
			}
			if b.count(most) <= most {
				return
			}
		}
	}
	b.resolution = math.MaxInt64
}

// count returns how many pieces there would be, or more than most.
func (b *bundler) count(most int) (n int) {
	clear(b.open)
	for i := range b.t.Grants {
		g := &b.t.Grants[i]
		p := &b.open[g.Client]
		if p.grants == 0 || !b.joins(p, g) {
			if n++; n > most {
				return n
			}
			*p = piece{begin: g.Polled}
		}
		p.grants++
		if g.Critical {
			p.critical++
		}
	}
	return n
}

// walk tells each piece when it is complete. Those of a client come in order.
func (b *bundler) walk(tell func(piece, metasim.ClientID)) {
	clear(b.open)
	for i := range b.t.Grants {
		g := &b.t.Grants[i]
		p := &b.open[g.Client]
		if p.grants > 0 && !b.joins(p, g) {
			tell(*p, g.Client)
			*p = piece{}
		}
		b.add(p, g)
	}
	for c, p := range b.open {
		if p.grants > 0 {
			tell(p, metasim.ClientID(c))
		}
	}
}

func (b *bundler) joins(p *piece, g *trace.Grant) bool {
	return g.Reported-p.begin <= b.resolution && !(b.apart && g.Critical != (p.critical > 0))
}

func (b *bundler) add(p *piece, g *trace.Grant) {
	if p.grants == 0 {
		p.begin, p.from, p.cause = g.Polled, g.From.Time, g.Cause
	}
	p.grants++
	if g.Critical {
		p.critical++
	}
	p.end = g.Reported
	p.wait += g.Granted - g.Polled
	p.work += g.Work
	for _, h := range b.t.Holds[g.Holds[0]:g.Holds[1]] {
		p.hold(hold{h.Begin, h.End - h.Begin, h.Root, h.Path})
	}
}

// hold notes who held the client back. Of several grants, those of one root are put together.
func (p *piece) hold(h hold) {
	if p.grants > 1 {
		for i := range p.holds {
			if o := &p.holds[i]; o.root == h.root {
				o.length += h.length
				return
			}
		}
	}
	p.holds = append(p.holds, h)
	most := maxHolds
	if p.grants > 1 {
		most = maxHoldsOfMany
	}
	for len(p.holds) > most {
		least := slices.IndexFunc(p.holds, func(h hold) bool {
			return h == slices.MinFunc(p.holds, func(x, y hold) int { return cmp.Compare(x.length, y.length) })
		})
		p.holds = slices.Delete(p.holds, least, least+1)
	}
}
