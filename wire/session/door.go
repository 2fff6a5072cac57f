package session

import (
	"fmt"
	"strconv"
	"strings"

	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/wire"
)

// A client of a scenario inside of another one does not know that it is: it says the names of channels, and hears those of channels and
// clients, as its scenario alone has them. They are translated here, when a packet comes in and when one goes out. The dispatcher, and what
// observes it, have full names only.

// inFull says in full names what a Hello declares, once it is known that the client may.
func (s *Server) inFull(r prepared) prepared {
	of := s.config.Scopes.Of(r.Name)
	r.publications, r.subscriptions = r.Publications, r.Subscriptions
	if of != nil {
		r.publications, r.subscriptions, r.patterns = nil, nil, nil
		for _, own := range r.Publications {
			r.publications = append(r.publications, of.Channel(own))
		}
		for _, own := range r.Subscriptions {
			if err := r.subscribe(of, own); err != nil {
				return prepared{Hello: r.Hello, reason: wire.BadMessage, why: fmt.Sprintf("client %q subscribes to %q, and its scenario is inside of another one: %v", r.Name, own, err)}
			}
		}
	}
	for i, channel := range r.publications {
		if full := s.config.Scopes.Hides(channel); full != "" {
			return prepared{Hello: r.Hello, reason: wire.NotAllowed, why: fmt.Sprintf(
				"client %q publishes %q, a name inside of a scenario that exposes this channel as %q; publish on that", r.Name, r.Publications[i], full)}
		}
	}
	return r
}

// subscribe adds a subscription in full names.
func (r *prepared) subscribe(of *scope.Scope, own string) error {
	all, err := of.Subscriptions(own)
	for _, full := range all {
		p, wrong := metasim.CompilePattern(full)
		if wrong != nil {
			return wrong
		}
		r.subscriptions, r.patterns = append(r.subscriptions, full), append(r.patterns, p)
	}
	return err
}

// sends puts the full name of the channel into a send.
func (m *member) sends(ev *metasim.Send) {
	if m.scope == nil {
		return
	}
	full, known := m.full[ev.Channel]
	if !known {
		full = m.scope.Channel(ev.Channel)
		if m.joined != nil && len(m.full) < len(m.joined.Publications) { // of what it may not send no memory is kept
			if m.full == nil {
				m.full = map[string]string{}
			}
			m.full[strings.Clone(ev.Channel)] = full
		}
	}
	ev.Channel = full
}

// An alias is a client under the name that it has in a scenario inside.
type alias struct {
	scope *scope.Scope
	from  metasim.ClientID
}

// inOwnWords returns a delivery as its recipient knows the names. A sender that has another name there has a number of its own on this
// connection, as a member from another scenario may know it under its full name.
func (s *Server) inOwnWords(m *member, d *metasim.Deliver) *metasim.Deliver {
	c := m.conn
	if len(c.told) == cap(c.told) {
		c.told = make([]metasim.Deliver, 0, toldRoom)
	}
	c.told = append(c.told, *d)
	d = &c.told[len(c.told)-1]
	if own, known := m.own[d.Message.Channel]; known {
		d.Message.Channel = own
	} else if own, known := m.scope.Own(d.Message.Channel); known {
		if m.own == nil {
			m.own = map[string]string{}
		}
		m.own[d.Message.Channel] = own
		d.Message.Channel = own
	}
	key := alias{m.scope, d.Message.From}
	number, known := c.aliases[key]
	if !known {
		full := s.config.Names[d.Message.From]
		number = d.Message.From
		if called := m.scope.Calls(full); called != full {
			number = metasim.ClientID(len(s.config.Names) + len(c.aliases)) // above the numbers of clients
			c.introduce(number, called)
		} else {
			c.introduce(number, full)
		}
		if c.aliases == nil {
			c.aliases = map[alias]metasim.ClientID{}
		}
		c.aliases[key] = number
	}
	d.Message.From = number
	return d
}

// introduce tells the peer a name, once.
func (c *Conn) introduce(from metasim.ClientID, name string) {
	if _, known := c.introduced[from]; known {
		return
	}
	if c.introduced == nil {
		c.introduced = make(map[metasim.ClientID]struct{})
	}
	c.introduced[from] = struct{}{}
	c.output.Put(wire.Packet{Body: wire.Introduce{Client: from, Name: name}})
}

// toldRoom is for how many deliveries memory is taken at once. It is free again when the last of them has been written.
const toldRoom = 64

// ownName returns what a client is called in its scenario. It is told its entry there.
func ownName(full string, about *wire.About) string {
	if about.Entry == "" {
		return full
	}
	for _, own := range []string{about.Entry, about.Entry + "-" + strconv.FormatUint(uint64(about.Index), 10)} {
		if strings.HasSuffix(full, "/"+own) {
			return own
		}
	}
	return full
}
