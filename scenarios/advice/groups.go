package advice

import (
	"strings"

	"metasim/delay"
	"metasim/scenarios/flow"
)

// splitGroups splits the groups so that a rule which matches one client of a group matches all of them. It spends effort of g,
// and returns nil once that is used up.
func splitGroups(g *flow.Graph, groups []flow.Group) []flow.Group {
	patterns := patternsOf(g.Rules)
	var all []flow.Group
	for _, group := range groups {
		if len(group.Names) == 1 {
			all = append(all, group)
			continue
		}
		if !g.Spend(len(patterns.wild)) {
			return nil
		}
		dividing := patterns.dividing(group.Names[0])
		at := map[string]int{} // positions in all, by key
		for _, name := range group.Names {
			if !g.Spend(1 + len(dividing)) {
				return nil
			}
			key := patterns.key(dividing, name)
			i, ok := at[key]
			if !ok {
				i = len(all)
				at[key] = i
				all = append(all, group)
				all[i].Names = nil
			}
			all[i].Names = append(all[i].Names, name)
		}
	}
	return all
}

// patterns are those of the senders and recipients in the rules of a scenario.
type patterns struct {
	names map[string]bool // without a star
	wild  []string        // with one
}

func patternsOf(rules []delay.Rule) patterns {
	ps := patterns{names: map[string]bool{}}
	seen := map[string]bool{}
	for _, r := range rules {
		for _, p := range []string{r.From, r.To} {
			switch {
			case !strings.Contains(p, "*"):
				ps.names[p] = true
			case !seen[p]:
				seen[p] = true
				ps.wild = append(ps.wild, p)
			}
		}
	}
	return ps
}

// dividing returns the patterns that may match some clients of an entry and not the others. Name is one of the clients.
func (ps patterns) dividing(name string) []string {
	var dividing []string
	base := name[:strings.LastIndexByte(name, '-')+1] // the names of all clients of the entry begin with it
	for _, p := range ps.wild {
		head, tail, _ := strings.Cut(p, "*")
		if all := tail == "" && strings.HasPrefix(base, head); !all && (strings.HasPrefix(base, head) || strings.HasPrefix(head, base)) {
			dividing = append(dividing, p)
		}
	}
	return dividing
}

// key says which of the dividing patterns match a name: the same rules match two clients with the same key.
func (ps patterns) key(dividing []string, name string) string {
	key := make([]byte, len(dividing), len(dividing)+len(name))
	for i, p := range dividing {
		key[i] = '0'
		if delay.Match(p, name) {
			key[i] = '1'
		}
	}
	if ps.names[name] {
		key = append(key, name...)
	}
	return string(key)
}
