package scenarios

import (
	"strconv"
	"strings"

	"metasim/delay"
	"metasim/internal/suggest"
)

// instant reports whether no message of such a link ever takes time.
func instant(s delay.Spec) bool {
	constant, ok := s.Delay.(delay.Constant)
	return s.Bandwidth == 0 && (s.Delay == nil || ok && constant == 0)
}

// rule returns what decides about an edge, from the first client of a group to the first of the other.
func (f *flow) rule(e edge) delay.Spec {
	return f.spec(f.decide(e))
}

// noRule stands for the number of a rule where none matches.
const noRule = -1

// decide returns the number of the rule that decides about an edge.
func (f *flow) decide(e edge) int {
	from, to := f.groups[e.from].first.Name, f.groups[e.to].first.Name
	for i := len(f.s.Rules) - 1; i >= 0 && f.spend(1); i-- {
		r := &f.s.Rules[i]
		if delay.Match(r.From, from) && delay.Match(r.To, to) && delay.Match(r.Channel, e.channel) {
			return i
		}
	}
	return noRule
}

// spec returns what a rule says, or what counts without one.
func (f *flow) spec(rule int) delay.Spec {
	if rule == noRule {
		return delay.Spec{}
	}
	return f.s.Rules[rule].Spec
}

// fed returns the groups that a message can reach, from those that send without being asked.
func (f *flow) fed() []bool {
	out := f.outgoing(func(edge) bool { return true })
	fed := make([]bool, len(f.groups))
	var reach func(i int)
	reach = func(i int) {
		for _, e := range out[i] {
			if !fed[e.to] {
				fed[e.to] = true
				reach(e.to)
			}
		}
	}
	for i := range f.groups {
		if !f.groups[i].forwards() {
			reach(i)
		}
	}
	return fed
}

// cycle finds edges that lead from a group back to it, among those that are wanted; nil where there are none.
func (f *flow) cycle(wanted func(edge) bool) []edge {
	const (
		fresh = iota
		open
		done
	)
	out := f.outgoing(wanted)
	state := make([]int, len(f.groups))
	var stack []edge
	var visit func(i int) []edge
	visit = func(i int) []edge {
		state[i] = open
		for _, e := range out[i] {
			stack = append(stack, e)
			switch state[e.to] {
			case open:
				for k := range stack {
					if stack[k].from == e.to {
						return stack[k:]
					}
				}
			case fresh:
				if found := visit(e.to); found != nil {
					return found
				}
			}
			stack = stack[:len(stack)-1]
		}
		state[i] = done
		return nil
	}
	for i := range f.groups {
		if state[i] == fresh {
			if found := visit(i); found != nil {
				return found
			}
		}
	}
	return nil
}

func (f *flow) outgoing(wanted func(edge) bool) [][]edge {
	out := make([][]edge, len(f.groups))
	for _, e := range f.edges {
		if !f.spend(1) {
			break
		}
		if wanted(e) {
			out[e.from] = append(out[e.from], e)
		}
	}
	return out
}

// unmatched warns of rules that decide about no link.
func (f *flow) unmatched() {
	for i, r := range f.s.Rules {
		p := path{"links", strconv.Itoa(i)}
		if !f.named(p.to("from"), r.From) || !f.named(p.to("to"), r.To) || !f.complete {
			continue
		}
		if !f.connects(r) && f.left >= 0 {
			f.warn(p, "no link matches this rule: nobody from %s sends to %s on %s; mend the patterns, or remove the rule",
				all(r.From), all(r.To), all(r.Channel))
		}
	}
}

func all(pattern string) string {
	if pattern == "" {
		return "*"
	}
	return pattern
}

// named reports whether a client matches a pattern, and warns where none does.
func (f *flow) named(p path, pattern string) bool {
	if _, ok := f.names[pattern]; ok || pattern == "" {
		return true
	}
	if strings.Contains(pattern, "*") {
		for i := range f.s.Clients {
			if !f.spend(1) || delay.Match(pattern, f.s.Clients[i].Name) {
				return true
			}
		}
	}
	var names []string
	if !f.spend(len(f.s.doc.Clients)) {
		return false
	}
	for _, e := range f.s.doc.Clients {
		names = append(names, clientName(e.Name, 0, e.Count != nil))
	}
	f.warn(p, "no client is called %s; %s", quote(pattern), suggest.Word(pattern, names))
	return false
}

// connects reports whether a rule matches any link.
func (f *flow) connects(r delay.Rule) bool {
	for _, e := range f.edges {
		if !f.spend(1) {
			return true
		}
		if delay.Match(r.Channel, e.channel) && f.any(r.From, e.from) && f.any(r.To, e.to) {
			return true
		}
	}
	return false
}

// any reports whether a client of a group matches.
func (f *flow) any(pattern string, i int) bool {
	if pattern == "" {
		return true
	}
	for k := range f.groups[i].clients {
		if !f.spend(1) || delay.Match(pattern, f.groups[i].clients[k].Name) {
			return true
		}
	}
	return false
}
