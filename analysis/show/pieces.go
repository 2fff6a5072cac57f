package show

import (
	"cmp"
	"math"
	"slices"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// A piece is a bar of a client on the page: one grant, or several grants after one another that are too short to be drawn one by one. It
// contains all of them, so the critical path and all sums stay the same.
type piece struct {
	begin, end int64 // from the first grant's Polled to the last one's Reported
	wait, work int64 // sums
	noCore     int64 // the sum of what it waited for a core
	from       metasim.Time
	cause      metasim.ClientID // of the first
	grants     int
	critical   int64        // how much of work lies on the critical path
	holds      []trace.Hold // in a piece of several grants, the time from Begin to End is the sum of all holds by the root
}

// maxHolds is how many holds a piece has at most: the longest ones.
const (
	maxHolds       = 6
	maxHoldsOfMany = 3 // of a piece of several grants
)

// pieces returns the pieces of each client, in order. There are at most so many in total, unless there are more clients.
func pieces(t *trace.Timeline, most int) [][]piece {
	b := &bundler{t: t, open: make([]piece, len(t.Names))}
	b.choose(most)
	all := make([][]piece, len(t.Names))
	b.walk(func(p piece, c metasim.ClientID) { all[c] = append(all[c], p) })
	return all
}

// A bundler joins grants of a client if the time from the begin of the first to the end of the last is at most the resolution.
type bundler struct {
	t          *trace.Timeline
	resolution int64 // -1: no grants are joined
	apart      bool  // grants on the critical path are not joined with others
	open       []piece
}

// choose finds the finest resolution with at most so many pieces. Grants on the critical path stay apart, unless that makes pieces longer
// than a hundredth of the run.
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
		p.critical += g.Critical
	}
	return n
}

// walk calls yield with each piece when it is complete. The pieces of a client come in order.
func (b *bundler) walk(yield func(piece, metasim.ClientID)) {
	clear(b.open)
	for i := range b.t.Grants {
		g := &b.t.Grants[i]
		p := &b.open[g.Client]
		if p.grants > 0 && !b.joins(p, g) {
			yield(*p, g.Client)
			*p = piece{}
		}
		b.add(p, g)
	}
	for c, p := range b.open {
		if p.grants > 0 {
			yield(p, metasim.ClientID(c))
		}
	}
}

func (b *bundler) joins(p *piece, g *trace.Grant) bool {
	return g.Reported-p.begin <= b.resolution && !(b.apart && (g.Critical > 0) != (p.critical > 0))
}

func (b *bundler) add(p *piece, g *trace.Grant) {
	if p.grants == 0 {
		p.begin, p.from, p.cause = g.Polled, g.From.Time, g.Cause
	}
	p.grants++
	p.critical += g.Critical
	p.end = g.Reported
	p.wait += g.Granted - g.Polled
	p.work += g.Work
	p.noCore += g.CoreWait
	for _, h := range b.t.Holds[g.Holds[0]:g.Holds[1]] {
		p.hold(h)
	}
}

// hold adds a hold. In a piece of several grants it joins the holds by one root.
func (p *piece) hold(h trace.Hold) {
	if p.grants > 1 {
		for i := range p.holds {
			if o := &p.holds[i]; o.Root == h.Root {
				o.End += h.End - h.Begin
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
		shorter := func(x, y trace.Hold) int { return cmp.Compare(x.End-x.Begin, y.End-y.Begin) }
		least := slices.Index(p.holds, slices.MinFunc(p.holds, shorter))
		p.holds = slices.Delete(p.holds, least, least+1)
	}
}
