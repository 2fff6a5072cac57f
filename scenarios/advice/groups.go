package advice

import (
	"fmt"
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

// pairs is how many pairs of different clients have the sender in one group and the recipient in the other.
func (r *review) pairs(from, to int) int {
	n := len(r.Groups[from].Names)
	if from == to {
		return n * (n - 1)
	}
	return n * len(r.Groups[to].Names)
}

// names returns one such pair.
func (r *review) names(from, to int) (sender, recipient string) {
	g := &r.Groups[to]
	if from == to {
		return g.Names[0], g.Names[1]
	}
	return r.Groups[from].Names[0], g.Names[0]
}

// withoutLeastDelay reports whether all that a recipient knows of an idle link is that a message is not delivered before it
// is sent. (An ordered link knows how long its next message travels, where that is random.)
func withoutLeastDelay(s delay.Spec) bool {
	_, constant := s.Delay.(delay.Constant)
	return s.Min() == 0 && (s.Delay == nil || constant || s.Order != delay.FIFO)
}

func (r *review) add(kind string, path []string, format string, args ...any) {
	r.advice = append(r.advice, r.scenario.Problem(kind, path, fmt.Sprintf(format, args...)))
}
