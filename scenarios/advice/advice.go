package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"metasim/delay"
	"metasim/internal/problem"
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
	advice, more := Of(s, warnings)
	return append(warnings, more...), advice, nil
}

// Of returns advice on a scenario that was loaded with these warnings, and a warning if it is too large to look for advice.
//
// It says only what holds whatever undeclared ports turn out to be: those of commands and external clients, which declare
// their publications and subscriptions when they join.
func Of(s *scenarios.Scenario, warnings []problem.Problem) (advice, more []problem.Problem) {
	if s.Flow().TooLarge() {
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
	warned := slices.ContainsFunc(warnings, func(p problem.Problem) bool { return p.Kind == scenarios.ZeroDelayCycle })
	if cycle != nil && !warned {
		r.adviseCycle(cycle)
	}
	return problem.Sorted(r.advice), nil
}

// A review collects advice on one scenario. No rule tells the clients of one of its groups apart, and each edge is there once.
type review struct {
	*flow.Graph
	scenario *scenarios.Scenario
	advice   []problem.Problem
}

func newReview(s *scenarios.Scenario) *review {
	g := flow.New(s.Rules)
	g.Complete = false
	g.Groups = splitGroups(g, s.Flow().Groups)
	if _, _, err := g.Connect(); err != nil {
		return nil // it was connected when the scenario was loaded, so there is no error
	}
	// A client that subscribes to a channel twice has one link.
	slices.SortFunc(g.Edges, func(a, b flow.Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.To, b.To))
	})
	g.Edges = slices.Compact(g.Edges)
	return &review{Graph: g, scenario: s}
}

func (r *review) add(kind string, path []string, format string, args ...any) {
	r.advice = append(r.advice, r.scenario.Problem(kind, path, fmt.Sprintf(format, args...)))
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

// A sum counts the links that one rule, or the lack of one, leaves without a least delay.
type sum struct {
	rule    int // flow.NoRule: where none matches
	links   int // that exist
	example flow.Edge
	// undeclared are pairs of clients that may have links; the ports of one of the two, at least, are undeclared.
	undeclared int
	from, to   int // the groups of one such pair
}

// zeroDelay finds the edges between different clients that have no least delay, and counts them rule by rule.
func (r *review) zeroDelay() (sums []sum, short []flow.Edge) {
	sums = make([]sum, len(r.Rules)+1)
	for i := range sums {
		sums[i].rule = i - 1
	}
	for _, e := range r.Edges {
		n := r.pairs(e.From, e.To)
		if n == 0 {
			continue
		}
		rule := r.Rule(e)
		if !withoutLeastDelay(r.Spec(rule)) {
			continue
		}
		short = append(short, e)
		s := &sums[rule+1]
		if s.links == 0 {
			s.example = e
		}
		s.links += n
	}
	return sums, short
}

// adviseLinks advises on the rules that leave links without a least delay, beginning with those that leave most.
func (r *review) adviseLinks(sums []sum) {
	const most = 5 // rules
	sums = slices.DeleteFunc(sums, func(s sum) bool { return s.links+s.undeclared == 0 })
	slices.SortStableFunc(sums, func(a, b sum) int { return cmp.Compare(b.links+b.undeclared, a.links+a.undeclared) })
	for i, s := range sums {
		if i == most {
			r.add(scenarios.OneStepLink, []string{"links"}, "%d more rules leave links without a least delay; mend the others first", len(sums)-i)
			break
		}
		format := r.text(s.rule)
		if s.links == 0 && r.Groups[s.from].Unknown {
			format += ", or let the sender promise (NoSendBefore)"
		}
		r.add(scenarios.OneStepLink, r.path(s.rule), format, r.describe(s))
	}
}

// describe names the links that a rule leaves without a least delay; where no link is known, those that there may be.
func (r *review) describe(s sum) string {
	if s.links > 0 {
		from, to := r.names(s.example.From, s.example.To)
		text := fmt.Sprintf("%s -> %s on %s", from, to, s.example.Channel)
		if s.links > 1 {
			text = fmt.Sprintf("%d links, such as %s", s.links, text)
		}
		return text
	}
	from, to := r.names(s.from, s.to)
	text := fmt.Sprintf("whatever %s sends to %s", from, to)
	if s.undeclared > 1 {
		text += fmt.Sprintf(", and likewise between %d pairs in all", s.undeclared)
	}
	return text
}

// path leads to where a rule says that it gives no least delay.
func (r *review) path(rule int) []string {
	if rule == flow.NoRule {
		return []string{"links"}
	}
	spec := r.Spec(rule)
	path := []string{"links", strconv.Itoa(rule)}
	kind := ""
	switch spec.Delay.(type) {
	case nil:
		if spec.Bandwidth > 0 {
			return append(path, "bandwidth")
		}
		return path
	case delay.Constant:
		return append(path, "delay")
	case delay.Empirical:
		return append(path, "delay", "empirical")
	case delay.Uniform:
		kind = "uniform"
	case delay.Normal:
		kind = "normal"
	case delay.Exponential:
		kind = "exponential"
	case delay.LogNormal:
		kind = "lognormal"
	case delay.Gamma:
		kind = "gamma"
	}
	return append(path, "delay", kind, "min")
}

// text says what a rule without a least delay does to its links, which %s names, and what to write instead.
func (r *review) text(rule int) string {
	const (
		turns = "the recipient cannot compute while the sender has anything to do at the same time; "
		step  = ": one step of delay, so " + turns
		line  = ": over a free line " + turns
		risk  = ": a message may take no time, so " + turns
		world = "the delay that a message has in the world, however short"
	)
	if rule == flow.NoRule {
		return "no rule gives a delay to %s" + step + "add a rule with " + world
	}
	spec := r.Spec(rule)
	switch spec.Delay.(type) {
	case nil:
		if spec.Bandwidth > 0 {
			return "is no least delay for %s" + line + "add " + world
		}
		return "gives no delay to %s" + step + "add " + world
	case delay.Constant:
		if spec.Bandwidth > 0 {
			return "is 0s for %s" + line + "write " + world
		}
		return "is 0s for %s" + step + "write " + world
	case delay.Empirical:
		return "has 0s among the delays of %s" + risk + "leave 0s out, if no message is so fast in the world"
	}
	return "is 0s for %s" + risk + "write the least that one takes in the world"
}

// adviseCycle advises on messages that can go round without a least delay.
func (r *review) adviseCycle(cycle []flow.Edge) {
	drawing := r.Draw(cycle)
	if len(cycle) == 1 { // among the clients of one group
		e := cycle[0]
		from, to := r.names(e.From, e.To)
		drawing = from + " -" + e.Channel + "-> " + to + " -" + e.Channel + "-> " + from
	}
	r.add(scenarios.ZeroDelayCycle, []string{"clients", strconv.Itoa(r.Groups[cycle[0].From].Entry)},
		"links without a least delay lead round, %s: these clients wait for one another wherever they have something to do "+
			"at the same time; a delay on one of these links lets them overlap", drawing)
}
