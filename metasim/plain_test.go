package metasim

import "slices"

// plainSafeTimes computes the safe times of all clients from their reports, the messages on their way and the links, by the
// equations of the design alone: it begins with Infinity for all clients, and applies them until nothing changes. It knows
// neither a graph nor a forest, and is what both are compared with. It leaves out the end and the permit.
func (d *Dispatcher) plainSafeTimes() []Instant { return d.plainSafe(d.plainSend) }

// plainSafe is the same with other earliest sends.
func (d *Dispatcher) plainSafe(earliest func(c *client, safe Instant) Instant) []Instant {
	safe := slices.Repeat([]Instant{Infinity}, len(d.clients))
	for range len(d.clients) + 2 {
		next := slices.Repeat([]Instant{Infinity}, len(d.clients))
		for i := range d.clients {
			send := earliest(&d.clients[i], safe[i])
			for p := range d.clients[i].pubs {
				for to, link := range d.clients[i].pubs[p].all() {
					next[to] = Earlier(next[to], link.Earliest(send))
				}
			}
		}
		d.plainCouple(next)
		if slices.Equal(next, safe) {
			return safe
		}
		safe = next
	}
	panic("the safe times do not come to rest")
}

// plainSend is the earliest that a client may still send, where its safe time is safe.
func (d *Dispatcher) plainSend(c *client, safe Instant) Instant {
	if c.state == gone {
		return Infinity
	}
	answer := safe
	for i := range d.clients {
		if other := &d.clients[i]; other == c || d.sameGroup(c, other) {
			answer = Earlier(answer, Earlier(other.queue.due(), other.window.first()))
		}
	}
	answer = answer.React(c.reaction)
	return Later(Later(c.floor, c.asleep), Earlier(c.next, answer))
}

// plainAlone is the same if nobody outside sends again.
func (d *Dispatcher) plainAlone(c *client, safe Instant) Instant {
	if slices.Contains(d.config.Outside, c.name) {
		return Infinity
	}
	return d.plainSend(c, safe)
}

func (d *Dispatcher) sameGroup(a, b *client) bool {
	return slices.ContainsFunc(d.config.Groups, func(names []string) bool {
		return slices.Contains(names, a.name) && slices.Contains(names, b.name)
	})
}

// plainCouple gives the clients of each group the least of their safe times.
func (d *Dispatcher) plainCouple(safe []Instant) {
	own := slices.Clone(safe)
	for i := range safe {
		for k := range safe {
			if d.sameGroup(&d.clients[i], &d.clients[k]) {
				safe[i] = Earlier(safe[i], own[k])
			}
		}
	}
}

// forestSafeTimes returns the safe times that the machine has.
func (d *Dispatcher) forestSafeTimes() []Instant {
	var all []Instant
	for i := range d.clients {
		all = append(all, d.forest.SafeTime(ClientID(i).node()))
	}
	return all
}
