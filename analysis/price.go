package analysis

import (
	"math"
	"slices"
)

// What is said costs something beside what clients compute: to write it, to read it, to pass it on. A journal does not say how
// much. But how these costs compare with one another is much the same everywhere; so the prices of a run are the usual
// ones, times the factor with which the run, played again, takes for as long as it did.

// A price is what it takes the server and a client to talk, in nanoseconds.
type price struct {
	end   int64 // of a write: for who writes, and again for who reads
	item  int64 // of each event and message in it, for the client
	serve int64 // ... and for the dispatcher
	wake  int64 // until a process that waits has noticed, which takes no core
	spin  int64 // that process then looks for more to do, with another core
}

// Usual prices. They were measured with Go on Linux. On one core nobody is woken on another, and a write between processes
// costs an eighth less.
const (
	insideEnd, insideServe                                          = 300, 500
	outsideEnd, outsideItem, outsideServe, outsideWake, outsideSpin = 8000, 700, 1000, 5000, 20_000
)

// prices are those of a run. Zero: all is free, and who says something says it at once.
type prices struct {
	inside  price // between the server and a client in its process
	outside price // and any other
	known   bool
}

// usual returns usual prices, times a factor.
func usual(factor float64) prices {
	times := func(ns float64) int64 { return int64(ns * factor) }
	return prices{
		known:  true,
		inside: price{end: times(insideEnd), serve: times(insideServe)},
		outside: price{
			end: times(outsideEnd), item: times(outsideItem), serve: times(outsideServe), wake: times(outsideWake), spin: times(outsideSpin),
		},
	}
}

// price returns what it takes to talk with a ghost.
func (p *player) price(g *ghost) price {
	r := p.prices.outside
	if g.log.inside {
		r = p.prices.inside
	}
	if p.cores == 1 && !g.log.inside {
		r.end, r.wake, r.spin = r.end-r.end/8, 0, 0
	}
	return r
}

// near is how exactly prices are fitted, and tries how often that is tried at most. What is left is the same for a prediction
// and for what it is compared with.
const (
	near  = 0.005
	tries = 10
)

// fit finds prices with which a log takes what it took, and returns what it takes with them. Where clients did not tell
// how long they computed, what they say costs nothing, and they compute as if each had a core: all of that is in what
// they seem to have computed.
func (t *Timeline) fit(l *worklog) (took int64, err error) {
	if l.fitted > 0 {
		return l.fitted, nil
	}
	if !l.timed {
		l.free()
	}
	target := l.end - t.Begin - t.held(l)
	work, _, err := t.play(l, nil)
	if err != nil || !l.timed || work >= target {
		l.fitted = work
		return work, err
	}
	low, lowTook, high, highTook := 0.0, work, l.dearest(), int64(0)
	best := prices{}
	l.fitted = work
	for factor, n := 1.0, 0; n < tries && math.Abs(float64(l.fitted-target)) > near*float64(target); n++ {
		l.prices = usual(factor)
		if took, _, err = t.play(l, nil); err != nil {
			return 0, err
		}
		if math.Abs(float64(took-target)) < math.Abs(float64(l.fitted-target)) {
			best, l.fitted = l.prices, took
		}
		switch {
		case took >= target:
			high, highTook = factor, took
		case factor == high:
			n = tries // it takes longer for another reason
		default:
			low, lowTook = factor, took
		}
		factor = between(low, high, lowTook, highTook, target)
	}
	l.prices = best
	return l.fitted, nil
}

// between returns what is next to be tried between two factors, one with which it took too little and one with which it took
// too long, or that is the greatest there may be. It is more or less linear, but not quite.
func between(low, high float64, lowTook, highTook, target int64) float64 {
	if highTook == 0 {
		return high
	}
	return low + (high-low)*min(0.9, max(0.1, float64(target-lowTook)/float64(max(1, highTook-lowTook))))
}

// dearest is how much dearer than usual it can have been to talk. If a run took still longer, that was for other reasons: the
// machine had other things to do, say, which made all of it slower. But where nearly all that clients were told took longer
// to reach them and to be answered, that is how it is: they may be on the other side of the world.
func (l *worklog) dearest() float64 {
	const most, usually = 2, 4*outsideEnd + 2*outsideWake
	if len(l.lags) == 0 {
		return most
	}
	lags := slices.Sorted(slices.Values(l.lags))
	return max(most, float64(lags[len(lags)/4])/usually)
}

// held is for how long the pace of a run, or whoever paused it, held everybody back while a log was recorded, on average.
func (t *Timeline) held(l *worklog) int64 {
	var sum int64
	for _, p := range t.stats.pairs {
		if p.HeldBy == Nobody {
			sum += p.Blocked / int64(len(t.Names))
		}
	}
	return int64(float64(sum) * ratio(float64(l.end-t.Begin), float64(t.Wall())))
}
