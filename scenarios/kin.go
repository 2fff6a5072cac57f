package scenarios

import (
	"strings"

	"metasim/delay"
)

// A splitter tells clients apart by the rules that may be about them.
type splitter struct {
	plain map[string]bool // patterns without a star: names
	stars []string        // patterns with one
}

func splitterOf(rules []delay.Rule) splitter {
	s := splitter{plain: map[string]bool{}}
	seen := map[string]bool{}
	for _, r := range rules {
		for _, p := range []string{r.From, r.To} {
			switch {
			case !strings.Contains(p, "*"):
				s.plain[p] = true
			case !seen[p]:
				seen[p] = true
				s.stars = append(s.stars, p)
			}
		}
	}
	return s
}

// telling returns the patterns that may match some of an entry's clients and not the others.
func (s splitter) telling(entry string) []string {
	var telling []string
	base := entry + "-" // what the clients' names begin with
	for _, p := range s.stars {
		head, tail, _ := strings.Cut(p, "*")
		if all := tail == "" && strings.HasPrefix(base, head); !all && (strings.HasPrefix(base, head) || strings.HasPrefix(head, base)) {
			telling = append(telling, p)
		}
	}
	return telling
}

// key says which of the patterns match a name: clients with the same key are the same to all rules.
func (s splitter) key(patterns []string, name string) string {
	key := make([]byte, len(patterns), len(patterns)+len(name))
	for i, p := range patterns {
		key[i] = '0'
		if delay.Match(p, name) {
			key[i] = '1'
		}
	}
	if s.plain[name] {
		key = append(key, name...)
	}
	return string(key)
}

// kin splits the groups so that a rule which is about one client of a group is about all of them.
func (f *flow) kin() []group {
	split := splitterOf(f.s.Rules)
	var all []group
	for _, g := range f.groups {
		if len(g.clients) == 1 {
			all = append(all, g)
			continue
		}
		if !f.spend(len(split.stars)) {
			return nil
		}
		telling := split.telling(g.first.Entry)
		known := map[string]int{} // positions in all, by what tells their clients from others
		for i := range g.clients {
			if !f.spend(1 + len(telling)) {
				return nil
			}
			key := split.key(telling, g.clients[i].Name)
			at, ok := known[key]
			if !ok {
				at = len(all)
				known[key] = at
				all = append(all, g)
				all[at].first, all[at].clients = &g.clients[i], nil
			}
			all[at].clients = append(all[at].clients, g.clients[i])
		}
	}
	return all
}
