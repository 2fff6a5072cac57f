package metasim

import "strings"

// cycle describes how steps can pile up at one time around the link from -> to: the shortest cycle of links whose
// least delay is zero that contains it, as "a -PING-> b -PONG-> a"; the link alone where there is none.
func (d *Dispatcher) cycle(from, to ClientID, channel string) string {
	hop := func(s *strings.Builder, channel string, to ClientID) {
		s.WriteString(" -" + channel + "-> " + d.clients[to].name)
	}
	var text strings.Builder
	text.WriteString(d.clients[from].name)
	hop(&text, channel, to)
	type step struct {
		before  ClientID
		channel string
	}
	seen := map[ClientID]step{to: {}} // looked up, never iterated
	for line := []ClientID{to}; len(line) > 0 && to != from; line = line[1:] {
		c := &d.clients[line[0]]
		for i := range c.pubs {
			for to, model := range c.pubs[i].all() {
				if _, been := seen[to]; !been && model.Min() == 0 {
					seen[to] = step{c.id, c.pubs[i].channel}
					line = append(line, to)
				}
			}
		}
	}
	if _, back := seen[from]; !back {
		return text.String() + " (no cycle: a chain)"
	}
	var path []step // from the end
	for at := from; at != to; at = seen[at].before {
		path = append(path, step{at, seen[at].channel})
	}
	for i := len(path) - 1; i >= 0; i-- {
		hop(&text, path[i].channel, path[i].before)
	}
	return text.String()
}
