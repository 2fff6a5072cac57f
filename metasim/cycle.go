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
		for _, pub := range c.pubs {
			for _, l := range pub.links {
				if _, been := seen[l.to]; !been && l.model.Min() == 0 {
					seen[l.to] = step{c.id, pub.channel}
					line = append(line, l.to)
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
