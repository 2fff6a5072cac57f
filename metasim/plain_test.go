package metasim

import "slices"

// plainSafeTimes computes the safe times of all clients from their reports, the messages on their way and the links, by the
// equations of the design alone: it begins with Infinity for all clients, and applies them until nothing changes. It knows
// neither a graph nor a forest, and is what both are compared with. It leaves out the end and the permit.
func (d *Dispatcher) plainSafeTimes() []Instant {
	safe := slices.Repeat([]Instant{Infinity}, len(d.clients))
	for range len(d.clients) + 2 {
		next := slices.Repeat([]Instant{Infinity}, len(d.clients))
		for i := range d.clients {
			send := d.clients[i].plainSend(safe[i])
			for p := range d.clients[i].pubs {
				for to, link := range d.clients[i].pubs[p].all() {
					next[to] = Earlier(next[to], link.Earliest(send))
				}
			}
		}
		if slices.Equal(next, safe) {
			return safe
		}
		safe = next
	}
	panic("the safe times do not come to rest")
}

// plainSend is the earliest that a client may still send, where its safe time is safe.
func (c *client) plainSend(safe Instant) Instant {
	if c.state == gone {
		return Infinity
	}
	answer := Earlier(c.pending(), safe).React(c.reaction)
	return Later(Later(c.floor, c.asleep), Earlier(c.next, answer))
}

// forestSafeTimes returns the safe times that the machine has.
func (d *Dispatcher) forestSafeTimes() []Instant {
	var all []Instant
	for i := range d.clients {
		all = append(all, d.forest.SafeTime(ClientID(i).node()))
	}
	return all
}
