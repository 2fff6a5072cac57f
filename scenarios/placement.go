package scenarios

import (
	"maps"
	"slices"
	"strings"

	"metasim/internal/suggest"
)

// placement checks which clients are on which host: each host and each client is known, and stands there once.
func (c *checker) placement() {
	known := map[string]bool{}
	for i, n := range c.sound(path{"hosts"}).items() {
		if name := n.word(); known[name] {
			c.fail(path{"hosts"}.in(i), "%q stands there twice; name each host once", name)
		} else {
			known[name] = true
		}
	}
	n := c.sound(path{"placement"})
	if n == nil {
		return
	}
	if len(known) == 0 {
		c.fail(path{"placement"}, "belongs to hosts; add their names, as in hosts: [front, back]")
		return
	}
	m, _ := n.value.(*mapping) // the schema lets nothing else pass
	where := map[string]string{}
	for _, e := range m.entries {
		p := path{"placement"}.to(e.key)
		if !known[e.key] {
			c.fail(p, "%q is not one of hosts; %s", e.key, suggest.Word(e.key, slices.Sorted(maps.Keys(known))))
		}
		for i, item := range e.value.items() {
			clients := c.called(item.word())
			if clients == nil {
				c.fail(p.in(i), "no client is called %q; %s", item.word(), suggest.Word(item.word(), slices.Sorted(maps.Keys(c.names))))
			}
			for _, name := range clients {
				if other, placed := where[name]; placed {
					c.fail(p.in(i), "client %q is on %s already; put it on one host", name, other)
					break
				}
				where[name] = e.key
			}
		}
	}
}

// called returns the names of the clients of an entry or of a scenario inside, or the client of that name; nil: there are none.
func (c *checker) called(word string) []string {
	if _, one := c.names[word]; one {
		return []string{word}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c.names)) {
		if c.root.child("clients").items()[c.names[name]].child("name").word() == word || strings.HasPrefix(name, word+"/") {
			all = append(all, name)
		}
	}
	return all
}

// place fills in on which host clients are.
func (s *Scenario) place() {
	for _, n := range s.root.child("hosts").items() {
		s.Hosts = append(s.Hosts, n.word())
	}
	s.Placement = map[string]int{}
	for host, name := range s.Hosts {
		for _, item := range s.root.child("placement").child(name).items() {
			for i := range s.Clients {
				if cl := &s.Clients[i]; cl.Name == item.word() || cl.Entry == item.word() || strings.HasPrefix(cl.Name, item.word()+"/") {
					s.Placement[cl.Name] = host
				}
			}
		}
	}
}
