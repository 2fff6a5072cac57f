package analysis

import "metasim/metasim"

// A claim is what a report of a client said of its next send, to be judged by that.
type claim struct {
	at    metasim.Time // when it was made
	floor metasim.Time // it sends nothing before
	next  metasim.Time // nor before this, unless a message comes
}

// claims are those since a client's last send. Each counts, as others wait by each: one who ticks a hundred times between two
// sends and promises one tick each time promised next to nothing.
type claims struct {
	list   []claim
	stride uint32 // of so many claims one is kept, where there are very many
	missed uint32 // since the last that was kept
}

// mostClaims is how many are kept.
const mostClaims = 512

func (c *claims) make(made claim) {
	c.stride = max(1, c.stride)
	if c.missed++; c.missed < c.stride {
		c.list[len(c.list)-1] = made // the last counts, whatever is left out
		return
	}
	c.missed = 0
	if len(c.list) == mostClaims {
		for i := range mostClaims / 2 {
			c.list[i] = c.list[2*i]
		}
		c.list = c.list[:mostClaims/2]
		c.stride *= 2
	}
	c.list = append(c.list, made)
}

// raise notes that the last claim goes further.
func (c *claims) raise(floor metasim.Time) {
	if n := len(c.list); n > 0 {
		c.list[n-1].floor = max(c.list[n-1].floor, floor)
	}
}

// judge ends the claims with a send. It returns for how long, summed over them, in simulated nanoseconds, nothing was sent,
// how much of that was promised, and how much of it was promised unless a message came.
func (c *claims) judge(sent metasim.Time) (could, promised, announced float64) {
	for _, made := range c.list {
		until := func(bound metasim.Time) float64 { return float64(max(0, min(bound, sent)-made.at)) }
		could += until(sent)
		promised += until(made.floor)
		announced += until(max(made.floor, made.next))
	}
	c.list, c.stride, c.missed = c.list[:0], 1, 0
	return could, promised, announced
}
