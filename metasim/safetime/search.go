package safetime

import "metasim/metasim/simtime"

// The search finds the new E and S of all vertices that a change affects. A vertex is risen if its S may rise, and open if
// its E may rise. Before the search some vertices are risen or open because their own bounds or links have changed.

// search carries out the steps of the search, in order.
func (f *Forest) search() {
	f.spread()
	f.takeOffers()
	f.settle()
	f.finish()
}

// spread finds all vertices below the risen ones, as far as their E may rise.
func (f *Forest) spread() {
	for i := 0; i < len(f.risen); i++ {
		v := f.risen[i]
		if l := &f.labels[v]; l.parent == ownLeaf && l.marks&isOpen == 0 {
			f.reparent(v) // its E may be its own echo
		}
		targets := f.targets(v)
		for k := range targets {
			to := targets[k].end
			if l := &f.labels[to]; l.parent == int32(v) && l.marks&isOpen == 0 {
				f.reparent(to)
			}
		}
	}
}

// reparent looks for another parent that offers a vertex the E that the vertex has. If it finds one, nothing changes for the vertex or
// below it; if not, it opens the vertex. In a lock step many vertices offer the same E, so the search goes on where the last one
// ended. No vertex below it can offer that E, because S rises along every path. If the S of the new parent rises later in the same
// update, reparent is called again for the vertex.
func (f *Forest) reparent(v vertex) {
	l := &f.labels[v]
	if l.marks&isCentre != 0 && f.stars[v].leastOwn() == l.safe {
		l.parent = ownLeaf
		return
	}
	best := offer{simtime.Infinity, none}
	sources := f.sources(v)
	k := int(l.cursor)
	for range sources {
		if k++; k >= len(sources) {
			k = 0
		}
		a := sources[k]
		s := &f.labels[a.end]
		if s.marks&isRisen != 0 {
			continue
		}
		switch due := f.latencies[a.latency].earliest(s.send); {
		case due == l.safe:
			l.cursor, l.parent = uint16(k), int32(a.end)
			return
		case due.Before(best.due):
			best = offer{due, int32(a.end)}
		}
	}
	f.reopen(v, best)
}

// reopen opens a vertex: its E may rise, and so its S, unless that is its own.
func (f *Forest) reopen(v vertex, best offer) {
	l := &f.labels[v]
	l.marks |= isOpen
	f.open = append(f.open, opening{v, l.safe, best})
	if l.send.Before(f.bounds[v].Known) {
		f.raise(v)
	}
}

// raise marks a vertex as risen.
func (f *Forest) raise(v vertex) {
	if l := &f.labels[v]; l.marks&isRisen == 0 {
		l.marks |= isRisen
		f.risen = append(f.risen, v)
	}
}

// takeOffers gives to all open vertices the best that those that have not risen offer, and makes all risen ones candidates.
func (f *Forest) takeOffers() {
	for i := range f.open {
		o := &f.open[i]
		l := &f.labels[o.vertex]
		if o.from != none && f.labels[o.from].marks&isRisen != 0 {
			o.offer = f.bestOffer(o.vertex) // the vertex that offered it has risen since
		}
		l.safe, l.parent = o.due, o.from
		if l.marks&isCentre != 0 {
			l.hear(f.stars[o.vertex].leastOwn())
			if l.marks&isRisen == 0 {
				f.hearEcho(o.vertex)
			}
		}
	}
	for _, v := range f.risen {
		l := &f.labels[v]
		l.send = f.ownSend(v)
		f.candidates.push(newCandidate(l.send, v))
	}
}

// bestOffer is the best that vertices that have not risen offer to a vertex, its leaves left out.
func (f *Forest) bestOffer(v vertex) offer {
	best := offer{simtime.Infinity, none}
	sources := f.sources(v)
	for k := range sources {
		a := sources[k]
		s := &f.labels[a.end]
		if s.marks&isRisen != 0 {
			continue
		}
		if due := f.latencies[a.latency].earliest(s.send); due.Before(best.due) {
			best = offer{due, int32(a.end)}
		}
	}
	return best
}

// settle finds the S of all risen vertices, the least first, and the E of the open ones: Dijkstra's algorithm.
func (f *Forest) settle() {
	for rest := len(f.risen); rest > 0; { // the candidates that are left then are out of date
		v := f.candidates.pop()
		l := &f.labels[v]
		if l.marks&isFinal != 0 {
			continue
		}
		l.marks |= isFinal
		rest--
		if l.marks&isCentre != 0 {
			f.hearEcho(v)
			f.rose = f.stars[v].reached(l.send, f.rose)
		}
		if l.send == simtime.Infinity {
			continue
		}
		targets := f.targets(v)
		for k := range targets {
			a := targets[k]
			to := &f.labels[a.end]
			if to.marks&isOpen == 0 {
				continue // what it has is no worse: it came from a vertex that has not risen
			}
			if due := f.latencies[a.latency].earliest(l.send); due.Before(to.safe) {
				to.safe, to.parent = due, int32(v)
				if to.marks&(isRisen|isFinal) == isRisen {
					f.improve(a.end, to)
				}
			}
		}
	}
}

// improve lowers the S of a risen vertex, where its E now allows that.
func (f *Forest) improve(v vertex, l *label) {
	if s := f.ownSend(v); s.Before(l.send) {
		l.send = s
		f.candidates.push(newCandidate(s, v))
	}
}

// ownSend is the S of a vertex by its bounds and its present E.
func (f *Forest) ownSend(v vertex) Instant { return f.bounds[v].Send(f.labels[v].safe) }

// hearEcho lets a centre whose S is final hear from its leaves what they may send in answer.
func (f *Forest) hearEcho(v vertex) {
	if l := &f.labels[v]; l.marks&isOpen != 0 {
		l.hear(f.stars[v].leastEcho(l.send))
	}
}

// hear lowers E of a centre to what its leaves offer.
func (l *label) hear(due Instant) {
	if due.Before(l.safe) {
		l.safe, l.parent = due, ownLeaf
	}
}

// finish removes the marks, and names the nodes whose E rose to what they wait for.
func (f *Forest) finish() {
	for _, v := range f.risen {
		f.labels[v].marks &= isCentre
	}
	for i := range f.open {
		o := &f.open[i]
		l := &f.labels[o.vertex]
		l.marks &= isCentre
		if o.before != l.safe && !l.safe.Before(l.alarm) && int(o.vertex) < f.nodes {
			f.rose = append(f.rose, Node(o.vertex))
		}
	}
	f.risen, f.candidates = f.risen[:0], f.candidates[:0]
}
