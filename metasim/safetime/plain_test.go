package safetime

import "metasim/metasim/simtime"

// earliest is when what is sent at x or later arrives.
func (e edge) earliest(x Instant) Instant {
	if e.link == nil {
		return x
	}
	return e.link.Earliest(x)
}

// plain computes the safe times of all vertices as the package comment says, from nothing but bounds and links: Dijkstra's
// algorithm, in O(n^2 + links). It is what a Forest is compared with.
func plain(bounds []Bounds, out [][]edge) []Instant {
	n := len(bounds)
	safe := make([]Instant, n)
	send := make([]Instant, n) // S, so far
	done := make([]bool, n)
	for i := range bounds {
		safe[i] = simtime.Infinity
		send[i] = bounds[i].Known
	}
	for range n {
		i := -1
		for k := range send {
			if !done[k] && (i < 0 || send[k].Before(send[i])) {
				i = k
			}
		}
		done[i] = true
		if send[i] == simtime.Infinity {
			break // none of those that are left sends anything
		}
		for _, e := range out[i] {
			due := e.earliest(send[i])
			if !due.Before(safe[e.to]) {
				continue
			}
			safe[e.to] = due
			if b := bounds[e.to]; !done[e.to] {
				send[e.to] = simtime.Earlier(send[e.to], simtime.Later(b.Floor, due.React(b.Reaction)))
			}
		}
	}
	return safe
}

// all returns the safe times of all vertices.
func (f *Forest) all() []Instant {
	var all []Instant
	for i := range f.bounds {
		all = append(all, f.safeTime(vertex(i)))
	}
	return all
}

// constant is a steady link.
type constant Time

func (c constant) Min() Time                  { return Time(c) }
func (c constant) Steady() bool               { return true }
func (c constant) Earliest(x Instant) Instant { return x.Add(Time(c)) }

// funcLink is a link of which only Earliest is known.
type funcLink func(x Instant) Instant

func (funcLink) Min() Time                    { return 0 }
func (l funcLink) Earliest(x Instant) Instant { return l(x) }
