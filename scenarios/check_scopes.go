package scenarios

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/internal/scope"
	"metasim/internal/suggest"
)

// full returns the ports of a client of a scenario inside with full names.
func full(p catalog.Ports, of *scope.Scope) (catalog.Ports, error) {
	if of == nil {
		return p, nil
	}
	var publications, subscriptions []string
	for _, own := range p.Publications {
		publications = append(publications, of.Channel(own))
	}
	for _, own := range p.Subscriptions {
		all, err := of.Subscriptions(own)
		if err != nil {
			return p, err
		}
		subscriptions = append(subscriptions, all...)
	}
	p.Publications, p.Subscriptions = publications, subscriptions
	return p, nil
}

// overruled reports whether a rule says something of links inside of a scenario whose own file decides about them, and warns.
func (f *flowChecker) overruled(p path, r delay.Rule, of *scope.Scope) bool {
	from, to := f.scopes.Of(r.From), f.scopes.Of(r.To)
	for s := from; s != nil && s.Name() != of.Name(); s = s.Around() {
		for other := to; other != nil; other = other.Around() {
			if other == s {
				f.warn(p, "counts for nothing: between clients of %s its own file decides; say it there, or with --set clients.NAME.links[0].delay=1ms", s.Name())
				return true
			}
		}
	}
	return false
}

// alike refuses two clients that a third could not tell from one another: one of its own scenario, and one from outside that has the same
// name there.
func (f *flowChecker) alike() {
	for i := range f.s.Clients {
		c := &f.s.Clients[i]
		own := c.Scope.Calls(c.Name)
		for s := c.Scope; s != nil; s = s.Around() {
			outer := s.Around().Client(own)
			entry, taken := f.names[outer]
			if taken && c.Scope.Calls(outer) == own && f.maySpeakTo(c.Scope, outer) {
				f.fail(path{"clients"}.in(entry).to("name"), "is %q for the clients of %s, as %q is, and both can send to them; choose another name", own, c.Scope.Name(), c.Name)
				return
			}
		}
	}
}

// maySpeakTo reports whether a client from outside may publish a channel that a scenario exposes.
func (f *flowChecker) maySpeakTo(s *scope.Scope, client string) bool {
	for i := range f.Groups {
		g := &f.Groups[i]
		if !slices.Contains(g.Names, client) {
			continue
		}
		if g.Unknown {
			c := &f.s.doc.Clients[g.Entry]
			return len(s.Exposed()) > 0 && (c.Publish == nil || len(c.Publish) > 0)
		}
		return slices.ContainsFunc(g.Ports.Publications, func(channel string) bool {
			_, known := s.Own(channel)
			return known
		})
	}
	return true
}

// exposed refuses channels that a scenario inside exposes and none of its clients declares, where the channels of all of them are known.
func (f *flowChecker) exposed() {
	for i, n := range f.s.Nested {
		of, declared, known := f.scopes[n.Name], map[string]bool{}, f.Complete
		for g := range f.Groups {
			group := &f.Groups[g]
			if !strings.HasPrefix(group.Names[0], n.Name+"/") {
				continue
			}
			known = known && !group.Unknown && f.Spend(1+len(group.Ports.Subscriptions))
			for _, full := range slices.Concat(group.Ports.Publications, group.Ports.Subscriptions) {
				if own, ok := of.Own(full); ok {
					declared[own] = true
				} else if own, ok := of.Own(strings.ReplaceAll(full, `\`, "")); ok { // quoted
					declared[own] = true
				}
			}
		}
		for _, own := range of.Exposed() {
			if known && !declared[own] {
				f.fail(path{"nested"}.in(i), "exposes channel %q, which no client of %s declares; %s", own, n.File, suggest.Word(own, slices.Sorted(maps.Keys(declared))))
			}
		}
	}
}

// hidden refuses a channel of a model under a name that a scenario inside exposes under another one.
func (f *flowChecker) hidden() {
	for i, g := range f.Groups {
		for _, channel := range g.Ports.Publications {
			if full := f.scopes.Hides(channel); full != "" {
				f.fail(f.parameterOf(f.entry(i), channel), "%q is exposed as %q; write that", channel, full)
			}
		}
	}
}

// entry is the path to the entry of a group.
func (f *flowChecker) entry(group int) path { return path{"clients"}.in(f.Groups[group].Entry) }

// parameterOf returns the path to the parameter of an entry whose value is a text; the path to the entry where there is none.
func (f *flowChecker) parameterOf(p path, text string) path {
	n, _ := f.root.find(p.to("with"), false)
	m, ok := n.value.(*mapping)
	if !ok {
		return p
	}
	if own, known := f.scopes.Of(f.word(p.to("name"))).Own(text); known {
		text = own
	}
	for _, e := range m.entries {
		if s, ok := e.value.text(); ok && s == text {
			return p.to("with", e.key)
		}
		for i, item := range e.value.items() {
			if s, ok := item.text(); ok && s == text {
				return p.to("with", e.key, strconv.Itoa(i))
			}
		}
	}
	return p
}
