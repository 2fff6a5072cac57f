// Package advice looks at a scenario for what keeps its clients from computing at the same time, as far as that can be known
// before it runs. A report of the run gives advice of the same kinds, and knows what each would gain.
package advice

import (
	"cmp"
	"slices"

	"metasim/internal/problem"
	"metasim/metasim"
	"metasim/scenarios"
	"metasim/scenarios/flow"
)

// Review reads a scenario file as scenarios.Load does, and returns its warnings and advice. A scenario that cannot be used
// gets no advice.
func Review(file string, o scenarios.Overrides) (warnings, advice []problem.Problem, err error) {
	s, warnings, err := scenarios.Load(file, o)
	if err != nil {
		return warnings, nil, err
	}
	advice, more := look(s, warnings)
	return append(warnings, more...), advice, nil
}

// look returns advice on a scenario that was loaded with these warnings, and a warning if it is too large to look for advice.
//
// It says only what holds whatever undeclared ports turn out to be: those of commands and external clients, which declare
// their publications and subscriptions when they join.
func look(s *scenarios.Scenario, warnings []problem.Problem) (advice, more []problem.Problem) {
	if s.Flow.TooLarge() {
		return nil, nil // a warning says so
	}
	r := newReview(s)
	if r == nil {
		return nil, nil
	}
	sums, short := r.zeroDelay()
	costs := r.undeclared(sums)
	r.Edges = short
	cycle := r.Cycle(func(flow.Edge) bool { return true })
	if r.TooLarge() {
		return nil, []problem.Problem{s.Problem("", nil, "is too large to look for advice")}
	}
	r.adviseLinks(sums)
	r.advisePromise(costs)
	warned := slices.ContainsFunc(warnings, func(p problem.Problem) bool { return p.Kind == problem.ZeroDelayCycle })
	if cycle != nil && !warned {
		r.adviseCycle(cycle)
	}
	return problem.Sorted(r.advice), nil
}

func newReview(s *scenarios.Scenario) *review {
	g := flow.New(s.Rules)
	g.Complete = false
	g.Groups = splitGroups(g, s.Flow.Groups)
	if err := g.Connect(); err != nil {
		return nil // it was connected when the scenario was loaded, so there is no error
	}
	// A client that subscribes to a channel twice has one link.
	slices.SortFunc(g.Edges, func(a, b flow.Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.To, b.To))
	})
	g.Edges = slices.Compact(g.Edges)
	return &review{Graph: g, scenario: s}
}

// A review collects advice on one scenario. No rule tells the clients of one of its groups apart, and each edge is there once.
type review struct {
	*flow.Graph
	scenario *scenarios.Scenario
	advice   []problem.Problem
}

// A sum counts the links that one rule, or the lack of one, leaves without a least delay.
type sum struct {
	rule    int // flow.NoRule: where none matches
	links   int // that exist
	example flow.Edge
	// undeclared are pairs of clients that may have links; the ports of one of the two, at least, are undeclared.
	undeclared int
	from, to   int // the groups of one such pair
}

// A cost estimates what it costs others that the promises of the clients of an entry are not known.
//
// A client that receives from one without a promise can advance no further beyond it than the least delay of the link, and
// then waits for its next report. So steps sums up, over all such recipients, how many of these delays fit into a simulated
// second. How far a client advances from one report to the next, and what it promises, is not known; steps stands for it.
type cost struct {
	entry int
	steps float64 // a simulated second
	// least is the least of these delays; it is above zero. The link is between these groups, and this rule gives it.
	least    metasim.Time
	from, to int
	rule     int
}
