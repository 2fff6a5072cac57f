package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"metasim/delay"
	"metasim/internal/problem"
	"metasim/scenarios/flow"
)

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
			r.add(problem.OneStepLink, []string{"links"}, "%d more rules leave links without a least delay; mend the others first", len(sums)-i)
			break
		}
		path, format := r.place(s.rule)
		if s.links == 0 && r.Groups[s.from].Unknown {
			format += ", or let the sender promise (Promise)"
		}
		r.add(problem.OneStepLink, path, format, r.describe(s))
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

// place returns the path to the part of a rule that gives its links no least delay. format says what follows for the links, with %s for
// their names, and what to write instead.
func (r *review) place(rule int) (path []string, format string) {
	const (
		turns = "the recipient cannot compute while the sender has anything to do at the same time; "
		step  = ": one step of delay, so " + turns
		line  = ": over a free line " + turns
		risk  = ": a message may take no time, so " + turns
		world = "the delay that a message has in the world, however short"
	)
	if rule == flow.NoRule {
		return []string{"links"}, "no rule gives a delay to %s" + step + "add a rule with " + world
	}
	spec := r.Spec(rule)
	path = []string{"links", strconv.Itoa(rule)}
	kind := ""
	switch spec.Delay.(type) {
	case nil:
		if spec.Bandwidth > 0 {
			return append(path, "bandwidth"), "is no least delay for %s" + line + "add " + world
		}
		return path, "gives no delay to %s" + step + "add " + world
	case delay.Constant:
		if spec.Bandwidth > 0 {
			return append(path, "delay"), "is 0s for %s" + line + "write " + world
		}
		return append(path, "delay"), "is 0s for %s" + step + "write " + world
	case delay.Empirical:
		return append(path, "delay", "empirical"),
			"has 0s among the delays of %s" + risk + "leave 0s out, if no message is so fast in the world"
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
	return append(path, "delay", kind, "min"), "is 0s for %s" + risk + "write the least that one takes in the world"
}

// adviseCycle advises on messages that can go round without a least delay.
func (r *review) adviseCycle(cycle []flow.Edge) {
	drawing := r.Draw(cycle)
	if len(cycle) == 1 { // among the clients of one group
		e := cycle[0]
		from, to := r.names(e.From, e.To)
		drawing = from + " -" + e.Channel + "-> " + to + " -" + e.Channel + "-> " + from
	}
	r.add(problem.ZeroDelayCycle, []string{"clients", strconv.Itoa(r.Groups[cycle[0].From].Entry)},
		"links without a least delay lead round, %s: these clients wait for one another wherever they have something to do "+
			"at the same time; a delay on one of these links lets them overlap", drawing)
}
