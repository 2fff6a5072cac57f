package metasim

import "math"

// maxNeighbours is how many of those that a client sends to are asked what they need of it. A client with more of them is
// told to report whatever it does.
const maxNeighbours = 32

// quietUntil returns the threshold of a client: the latest instant such that its reports help nobody who waits, as long
// as it may still send then. Somebody who waits for T goes on when his safe time lies beyond T, so when nothing that
// the client may send reaches him at T or before.
//
// It looks no further than to those who hear the client directly, and no closer than to the least delay: a hint that is
// too high costs a moment, and one that is too low a report.
func (d *Dispatcher) quietUntil(c *client) Instant {
	quiet, left := Infinity, maxNeighbours
	if len(d.out[c.id]) > left {
		return Start
	}
	for _, e := range d.out[c.id] {
		if int(e.to) >= len(d.clients) { // a hub
			if left -= len(d.out[e.to]); left < 0 {
				return Start
			}
			for _, h := range d.out[e.to] {
				quiet = Earlier(quiet, d.neededBy(h))
			}
			continue
		}
		if left--; left < 0 {
			return Start
		}
		quiet = Earlier(quiet, d.neededBy(e))
	}
	return quiet
}

// neededBy returns the latest instant at which a send over the edge reaches its recipient no later than what he waits for;
// Infinity where he does not wait.
func (d *Dispatcher) neededBy(e edge) Instant {
	c := &d.clients[e.to]
	if !c.waiting || c.state == gone {
		return Infinity
	}
	return c.need().sentBefore(e.link.Min())
}

// sentBefore returns the latest instant x for which x.Add(d) is at i or before it; Start where there is none.
func (i Instant) sentBefore(d Time) Instant {
	switch {
	case i == Infinity:
		return Infinity
	case d == 0 && i.Step > 0:
		return Instant{Time: i.Time, Step: i.Step - 1}
	case i.Time >= max(d, 1):
		return Instant{Time: i.Time - max(d, 1), Step: math.MaxUint32}
	}
	return Start
}
