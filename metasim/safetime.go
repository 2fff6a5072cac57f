package metasim

// A bound is what the dispatcher knows of one client's future sends.
type bound struct {
	floor    Instant // U: nothing is sent before it, whatever is delivered
	known    Instant // s: the earliest send that needs no message we have not seen; never before the floor
	reaction Time    // r: the least time from a delivery to a send that it causes
}

// bound computes s = max(U, min(N, q+r)): a client sends next at its next event, or in answer to the earliest message
// that is queued for it, or that it was given and has not yet said it handled.
func (c *client) bound() bound {
	if c.state == gone {
		return bound{floor: Infinity, known: Infinity}
	}
	floor := Later(c.floor, c.asleep)
	pending := c.pending()
	known := Earlier(c.next, pending.React(c.reaction))
	return bound{floor: floor, known: Later(floor, known), reaction: c.reaction}
}

// pending is q: when the earliest message is due that is queued for a client, or that it was given and has not yet said
// it handled.
func (c *client) pending() Instant {
	pending := c.queue.due()
	if c.given.len() > 0 {
		pending = Earlier(pending, c.given.all()[0].due)
	}
	return pending
}

// send computes S, the earliest that the client may still send, where E is safe.
func (b *bound) send(safe Instant) Instant {
	if b.reaction > 0 {
		safe = safe.Add(b.reaction)
	}
	if !safe.Before(b.known) {
		return b.known // never less than the floor
	}
	return Later(b.floor, safe)
}

// An edge is a link as safe times see it: what is sent at x or later reaches client to at earliest(x) or later.
type edge struct {
	to   ClientID
	link Link // nil: to a hub, which takes no time
}

func (e edge) earliest(x Instant) Instant {
	if e.link == nil {
		return x
	}
	return e.link.Earliest(x)
}

// hubBound is what is known of a hub: it sends nothing of its own.
var hubBound = bound{known: Infinity}

// safeTimes returns for every client j its safe time E_j: the instant before which no message can reach it that the
// dispatcher has not seen. (HLA calls it GALT, the field LBTS.) It is the greatest solution of
//
//	S_i = max(U_i, min(s_i, E_i + r_i))      the earliest send of i: on its own, or caused by what it may yet hear
//	E_j = min over links ij of f_ij(S_i)     the earliest arrival at j
//
// Each S_i is s_i, or comes from the S of one that could send earlier still, over a link that takes at least one step.
// So it is a shortest-path problem with the s_i as sources: whoever has the least S of all that remain can no longer
// be improved by the others (Dijkstra; the f never decrease their argument). This plain form, O(n^2 + links), is the
// oracle for any faster one.
func safeTimes(bounds []bound, out [][]edge) []Instant {
	n := len(bounds)
	safe := make([]Instant, n)
	send := make([]Instant, n) // S, so far
	done := make([]bool, n)
	for i := range bounds {
		safe[i] = Infinity
		send[i] = bounds[i].known
	}
	for range n {
		i := -1
		for k := range send {
			if !done[k] && (i < 0 || send[k].Before(send[i])) {
				i = k
			}
		}
		done[i] = true
		if send[i] == Infinity {
			break // nobody who is left sends anything
		}
		for _, e := range out[i] {
			due := e.earliest(send[i])
			if !due.Before(safe[e.to]) {
				continue
			}
			safe[e.to] = due
			if b := bounds[e.to]; !done[e.to] {
				send[e.to] = Earlier(send[e.to], Later(b.floor, due.React(b.reaction)))
			}
		}
	}
	return safe
}
