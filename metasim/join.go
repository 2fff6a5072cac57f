package metasim

import (
	"regexp"
	"slices"
	"strings"
)

// A publication is a channel that a client declared, with a link to each of its subscribers.
type publication struct {
	channel string
	links   []link // in order of recipient
}

// A link is a Link with what the dispatcher counts on it.
type link struct {
	to    ClientID
	model Link
	count uint64 // messages so far: the number of the next one
}

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

func (d *Dispatcher) join(ev Join) {
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

// begin makes the links: from each publication to each client that subscribes to it, the publisher included, as LCM
// delivers to oneself. Clients that have not joined are evicted: a run is complete or it is not that run.
func (d *Dispatcher) begin() {
	for i := range d.clients {
		if c := &d.clients[i]; c.state == absent || d.phase != joining {
			d.evict(c, Violation{Rule: NotJoined})
			return
		}
	}
	subscribers := make(map[string][]ClientID) // only looked up, never iterated
	d.out = make([][]edge, len(d.clients))
	for i := range d.clients {
		c := &d.clients[i]
		for p := range c.pubs {
			pub := &c.pubs[p]
			recipients, known := subscribers[pub.channel]
			if !known {
				recipients = d.subscribers(pub.channel)
				subscribers[pub.channel] = recipients
			}
			for _, to := range recipients {
				model := d.config.Delays.Link(c.name, d.clients[to].name, pub.channel)
				pub.links = append(pub.links, link{to: to, model: model})
				d.out[i] = append(d.out[i], edge{to: to, link: model})
			}
		}
	}
	d.phase = epsilon
	for i := range d.clients {
		if d.clients[i].state != gone {
			d.waking++
		}
	}
}

func (d *Dispatcher) subscribers(channel string) []ClientID {
	var ids []ClientID
	for i := range d.clients {
		matches := func(p pattern) bool { return p.match(channel) }
		if slices.ContainsFunc(d.clients[i].subs, matches) {
			ids = append(ids, ClientID(i))
		}
	}
	return ids
}

// publication returns the declared channel of that name, or nil.
func (c *client) publication(channel string) *publication {
	i, ok := slices.BinarySearchFunc(c.pubs, channel, func(p publication, s string) int {
		return strings.Compare(p.channel, s)
	})
	if !ok {
		return nil
	}
	return &c.pubs[i]
}
