// Package flow knows which clients of a scenario can send to which, as far as that is known before they run: a graph of
// groups of clients, with an edge for each channel from one group to another. It looks for links, and for cycles of them.
//
// A scenario may be legal and too large to look through, so every question costs effort. Once [Graph.TooLarge] is true the
// answers are not complete, and must not be used.
package flow

import (
	"fmt"
	"strings"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// effort bounds what the questions to one Graph may cost: names, channels and links that are looked at.
const effort = 5_000_000

// A Group is some clients of one entry, which publish and subscribe to the same channels.
type Group struct {
	Entry int      // position in the scenario's list of clients
	Names []string // of the clients: at least one
	Ports catalog.Ports
	// Own are the subscriptions as the client says them, if it is from a scenario inside; else those of Ports.
	Own []string
	// Unknown: the clients are commands or external, which declare their publications and subscriptions when they join.
	Unknown bool
}

// An Edge is a channel from one group to another, or to itself. Groups are positions in Graph.Groups.
type Edge struct {
	From, To int
	Channel  string
}

// A Graph says which groups can send to which. Make it with [New], add the groups, then call Connect.
type Graph struct {
	Groups []Group
	Edges  []Edge
	Rules  []delay.Rule // of the scenario: the last that matches a link decides
	// Complete says that all clients are models: a link that is not in Edges does not exist.
	Complete bool

	left int // of effort
}

// New returns a Graph without groups.
func New(rules []delay.Rule) *Graph { return &Graph{Rules: rules, Complete: true, left: effort} }

// Spend takes n from the effort that is left, and reports whether there was enough of it.
func (g *Graph) Spend(n int) bool {
	g.left -= n
	return g.left >= 0
}

// TooLarge reports that more effort was asked for than there is.
func (g *Graph) TooLarge() bool { return g.left < 0 }

// Connect finds the edges.
func (g *Graph) Connect() error {
	byName, exprs, err := g.subscriptions()
	if err != nil {
		return err
	}
	for i := range g.Groups {
		for _, channel := range g.Groups[i].Ports.Publications {
			before := len(g.Edges)
			for _, to := range byName[channel] {
				g.Edges = append(g.Edges, Edge{i, to, channel})
			}
			for _, s := range exprs {
				if s.Match(channel) {
					g.Edges = append(g.Edges, Edge{i, s.group, channel})
				}
			}
			if !g.Spend(1 + matchCost*len(exprs) + len(g.Edges) - before) {
				g.Complete = false
				return nil
			}
		}
	}
	return nil
}

// An expression is a subscription by regular expression.
type expression struct {
	group int
	metasim.Pattern
}

// subscriptions sorts the subscriptions into names and regular expressions.
func (g *Graph) subscriptions() (byName map[string][]int, exprs []expression, err error) {
	byName = map[string][]int{}
	for i := range g.Groups {
		for _, s := range g.Groups[i].Ports.Subscriptions {
			p, err := metasim.CompilePattern(s)
			switch {
			case err != nil:
				return nil, nil, err
			case p.IsName():
				byName[s] = append(byName[s], i)
			default:
				exprs = append(exprs, expression{i, p})
			}
		}
	}
	return byName, exprs, nil
}

// NoRule stands for the number of a rule where none matches.
const NoRule = -1

// Rule returns the number of the rule that decides about an edge, for the first clients of its groups.
func (g *Graph) Rule(e Edge) int {
	from, to := g.Groups[e.From].Names[0], g.Groups[e.To].Names[0]
	for i := len(g.Rules) - 1; i >= 0 && g.Spend(1); i-- {
		r := &g.Rules[i]
		if delay.Match(r.From, from) && delay.Match(r.To, to) && delay.Match(r.Channel, e.Channel) {
			return i
		}
	}
	return NoRule
}

// Spec returns what a rule says, or what holds without a rule.
func (g *Graph) Spec(rule int) delay.Spec {
	if rule == NoRule {
		return delay.Spec{}
	}
	return g.Rules[rule].Spec
}

// Reached says of each group whether a message can reach it from a group that sends without receiving.
func (g *Graph) Reached() []bool {
	out := g.outgoing(func(Edge) bool { return true })
	reached := make([]bool, len(g.Groups))
	var visit func(i int)
	visit = func(i int) {
		for _, e := range out[i] {
			if !reached[e.To] {
				reached[e.To] = true
				visit(e.To)
			}
		}
	}
	for i := range g.Groups {
		if !g.Groups[i].Ports.Forwards {
			visit(i)
		}
	}
	return reached
}

// Cycle returns edges that lead from a group back to it, all of them wanted; nil where there are none.
func (g *Graph) Cycle(wanted func(Edge) bool) []Edge {
	const (
		unvisited = iota
		open
		done
	)
	out := g.outgoing(wanted)
	state := make([]int, len(g.Groups))
	var stack []Edge
	var visit func(i int) []Edge
	visit = func(i int) []Edge {
		state[i] = open
		for _, e := range out[i] {
			stack = append(stack, e)
			switch state[e.To] {
			case open:
				for k := range stack {
					if stack[k].From == e.To {
						return stack[k:]
					}
				}
			case unvisited:
				if found := visit(e.To); found != nil {
					return found
				}
			}
			stack = stack[:len(stack)-1]
		}
		state[i] = done
		return nil
	}
	for i := range g.Groups {
		if state[i] == unvisited {
			if found := visit(i); found != nil {
				return found
			}
		}
	}
	return nil
}

// outgoing returns the wanted edges of each group.
func (g *Graph) outgoing(wanted func(Edge) bool) [][]Edge {
	out := make([][]Edge, len(g.Groups))
	for _, e := range g.Edges {
		if !g.Spend(1) {
			break
		}
		if wanted(e) {
			out[e.From] = append(out[e.From], e)
		}
	}
	return out
}

// Draw writes a cycle as "a -PING-> b -PONG-> a", by the first clients of the groups.
func (g *Graph) Draw(cycle []Edge) string {
	var b strings.Builder
	b.WriteString(g.Groups[cycle[0].From].Names[0])
	for i, e := range cycle {
		if i == 8 {
			b.WriteString(" ...")
			break
		}
		fmt.Fprintf(&b, " -%s-> %s", e.Channel, g.Groups[e.To].Names[0])
	}
	return b.String()
}
