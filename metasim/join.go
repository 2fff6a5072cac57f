package metasim

import (
	"regexp"
	"slices"
)

// A pattern is a subscription: a channel name, or an LCM regular expression that matches a whole name.
type pattern struct {
	name string
	expr *regexp.Regexp // nil for a plain name
}

func (p pattern) match(channel string) bool {
	return p.name == channel || p.expr != nil && p.expr.MatchString(channel)
}

func compilePattern(s string) (pattern, error) {
	if regexp.QuoteMeta(s) == s {
		return pattern{name: s}, nil
	}
	if _, err := regexp.Compile(s); err != nil { // as it stands: "X)|(Y" is none
		return pattern{}, err
	}
	expr, err := regexp.Compile("^(?:" + s + ")$")
	return pattern{name: s, expr: expr}, err
}

// CheckSubscription reports why s cannot be a subscription, as a Go regular expression error, or nil.
func CheckSubscription(s string) error {
	_, err := compilePattern(s)
	return err
}

// MatchSubscription reports whether a subscription is for a channel. One that CheckSubscription refuses is for none.
func MatchSubscription(s, channel string) bool {
	p, err := compilePattern(s)
	return err == nil && p.match(channel)
}

func (d *Dispatcher) join(ev *Join) {
	c := &d.clients[ev.Client]
	if c.state != absent || d.phase != joining {
		d.evict(c, Violation{Rule: JoinTwice, At: c.clock})
		return
	}
	for _, s := range ev.Subscriptions {
		p, err := compilePattern(s)
		if err != nil {
			d.evict(c, Violation{Rule: BadSubscription, Channel: s})
			return
		}
		c.subs = append(c.subs, p)
	}
	for _, channel := range slices.Compact(slices.Sorted(slices.Values(ev.Publications))) {
		c.pubs = append(c.pubs, publication{channel: channel})
	}
	c.state = joined
	c.reaction = max(0, ev.Reaction)
}

// begin makes the links, and has the clients initialize. Clients that have not joined are evicted: a run is complete or it is not that run.
func (d *Dispatcher) begin() {
	for i := range d.clients {
		if c := &d.clients[i]; c.state == absent || d.phase != joining {
			d.evict(c, Violation{Rule: NotJoined})
			return
		}
	}
	d.connect()
	d.phase = epsilon
	for i := range d.clients {
		if d.clients[i].state != gone {
			d.waking++
		}
	}
}
