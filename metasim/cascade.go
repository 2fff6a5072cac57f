package metasim

import (
	"slices"
	"strings"
)

// Messages without delay follow one another at one time, a step each. Where clients send more of them than they are given, their
// number grows from step to step without end, long before MaxSteps ends it: two rings that feed each other double it. So what may
// be sent at one such step is bounded. A client that sends much at the first step of a time, before anybody can have answered, is
// kept in bounds by memory.go.
//
// What is sent at an instant is a result. So whether a run exceeds the bound depends on no order: the bytes of an instant are
// counted until nothing is left to happen there, while other clients may be at another time.

// What a message without delay counts beside its payload, in bytes: about what it takes in the server and in the process of its
// clients, where they are one.
const (
	cascadeMessage  = 1 << 10
	cascadeDelivery = 256
)

// leastWidths is how many instants are counted at least before those that are over are looked for.
const leastWidths = 64

// A cascade is what messages without delay take at each instant.
type cascade struct {
	widths    []width // in order of instant
	undelayed int     // recipients without delay of the message that is sent now
	most      int     // how many widths there may be before those that are over are looked for
}

// A width is how much is sent without delay at one instant.
type width struct {
	at    Instant
	bytes int
}

// widen counts a message without delay that a client sent, unless that was the first step of a time.
func (d *Dispatcher) widen(c *client, pub *publication, sent Instant, payload int) {
	k := &d.cascade
	if k.undelayed == 0 || d.config.Cascade == 0 || sent.Step == 0 || d.phase == finished {
		return
	}
	if len(k.widths) >= k.most {
		now := d.upcoming()
		k.widths = slices.DeleteFunc(k.widths, func(w width) bool { return w.at.Before(now) })
		k.most = max(leastWidths, len(d.clients), 2*len(k.widths)) // to know what is over costs a look at all clients
	}
	i := len(k.widths) - 1
	if i < 0 || k.widths[i].at != sent {
		var found bool
		i, found = slices.BinarySearchFunc(k.widths, sent, func(w width, at Instant) int { return w.at.Compare(at) })
		if !found {
			k.widths = slices.Insert(k.widths, i, width{at: sent})
		}
	}
	w := &k.widths[i]
	w.bytes += cascadeMessage + payload + k.undelayed*cascadeDelivery
	if w.bytes > d.config.Cascade {
		d.finish(&CascadeError{At: sent, Bytes: w.bytes, Bound: d.config.Cascade, Cycle: d.cycleOf(c, pub)})
	}
}

// cycleOf describes a cycle of links without delay that a publication is part of; where there is none, one of its links.
func (d *Dispatcher) cycleOf(c *client, pub *publication) (text string) {
	for to, model := range pub.all() {
		if model.Min() > 0 {
			continue
		}
		var closed bool
		if text, closed = d.cycle(c.id, to, pub.channel); closed {
			break
		}
	}
	return text
}

// cycle describes how steps can pile up at one time: as the shortest cycle of links that contains the link from -> to and
// whose least delays are zero, "a -PING-> b -PONG-> a"; the link alone, and false, where there is none.
func (d *Dispatcher) cycle(from, to ClientID, channel string) (string, bool) {
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
		return text.String() + " (no cycle: a chain)", false
	}
	var path []step // from the end
	for at := from; at != to; at = seen[at].before {
		path = append(path, step{at, seen[at].channel})
	}
	for i := len(path) - 1; i >= 0; i-- {
		hop(&text, path[i].channel, path[i].before)
	}
	return text.String(), true
}
