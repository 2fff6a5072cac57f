package scenarios

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"metasim/delay"
	"metasim/metasim"
)

// A cost is what it may cost others that nothing is known of what the clients of an entry will promise.
//
// Who hears a client that promises nothing can go no further beyond it than the least delay of the link, and then has to
// wait for its next report. So what is summed up is, for each that may hear it, how many such leaps a simulated second has.
// It stands for what is not known: how far the client goes from one report to the next, and what it promises.
type cost struct {
	entry int
	leaps float64 // a simulated second
	// The least of these delays, which is above zero, between which groups it is, and the rule that gives it.
	least    metasim.Time
	from, to int
	rule     int
}

// strangers looks at the links that there may be from and to clients that say only later what they publish and hear. It adds to
// the sums what rules are sure to leave without a least delay, and returns, entry by entry, the cost of the others.
//
// Built-in models are never among those whose promise is missing. Source, lcmlog, bridge, the plant and its controller act at
// times of their own, and promise up to the next. A sink sends nothing. The others may react at once to what reaches them, and so
// can promise nothing, but tell when they send next if nothing does.
func (f *flow) strangers(sums []sum) []cost {
	published := map[string]bool{}
	for i := range f.groups {
		for _, channel := range f.groups[i].ports.Publications {
			published[channel] = true
		}
	}
	var costs []cost
	note := func(from, to int) {
		n := f.pairs(from, to)
		if n == 0 || !f.spend(1) {
			return
		}
		rules := f.deciders(from, to, published)
		if len(rules) == 0 {
			return
		}
		last := rules[len(rules)-1]
		if !slices.ContainsFunc(rules, func(r int) bool { return !blind(f.spec(r)) }) {
			s := &sums[last+1]
			if s.strangers == 0 {
				s.from, s.to = from, to
			}
			s.strangers += n
		} else if f.groups[from].unknown {
			costs = f.addCost(costs, n, from, to, rules)
		}
	}
	for i := range f.groups {
		for k := 0; k < len(f.groups) && f.groups[i].unknown && f.left >= 0; k++ {
			note(i, k)
			if !f.groups[k].unknown {
				note(k, i)
			}
		}
	}
	return costs
}

// addCost adds what n pairs of clients may cost. A rule that leaves no least delay counts for nothing, as leaps over nothing
// cannot be counted; so does one for a certain channel and every sender, who may well be another.
func (f *flow) addCost(costs []cost, n, from, to int, rules []int) []cost {
	rule, least := noRule, metasim.Forever
	for _, r := range rules {
		if r == noRule || !everything(f.s.Rules[r].Channel) && everything(f.s.Rules[r].From) {
			continue
		}
		if d := f.spec(r).Min(); d > 0 && d < least {
			rule, least = r, d
		}
	}
	if rule == noRule || f.s.Until != 0 && least >= f.s.Until {
		return costs
	}
	entry := f.groups[from].entry
	if len(costs) == 0 || costs[len(costs)-1].entry != entry {
		costs = append(costs, cost{entry: entry, least: metasim.Forever})
	}
	c := &costs[len(costs)-1]
	c.leaps += float64(n) / least.Seconds()
	if least < c.least {
		c.least, c.from, c.to, c.rule = least, from, to, rule
	}
	return costs
}

// channels returns those on which one group may send to another, where they are known.
func (f *flow) channels(from, to int, published map[string]bool) (names []string, known bool) {
	sender, recipient := &f.groups[from], &f.groups[to]
	if !sender.unknown {
		return sender.ports.Publications, true
	}
	if recipient.unknown {
		return nil, false
	}
	for _, s := range recipient.ports.Subscriptions {
		switch {
		case regexp.QuoteMeta(s) != s:
			return nil, false
		case !published[s]: // else it is taken for granted that it is heard from those who are known to publish it
			names = append(names, s)
		}
	}
	return names, true
}

// deciders returns the rules that may decide about links from one group to another, of which one at least is unknown.
func (f *flow) deciders(from, to int, published map[string]bool) []int {
	var rules []int
	names, known := f.channels(from, to, published)
	if known {
		for _, channel := range names {
			rules = append(rules, f.decide(edge{from, to, channel}))
		}
		return rules
	}
	sender, recipient := f.groups[from].first.Name, f.groups[to].first.Name
	for i := len(f.s.Rules) - 1; i >= 0 && f.spend(1+len(rules)); i-- {
		r := &f.s.Rules[i]
		hidden := func(later int) bool { return delay.Match(f.s.Rules[later].Channel, r.Channel) }
		if !delay.Match(r.From, sender) || !delay.Match(r.To, recipient) || slices.ContainsFunc(rules, hidden) {
			continue
		}
		rules = append(rules, i)
		if everything(r.Channel) {
			return rules
		}
	}
	return append(rules, noRule)
}

// everything reports whether a pattern matches every name.
func everything(pattern string) bool { return strings.Trim(pattern, "*") == "" }

// advisePromise names the entry whose promises would be worth most.
func (f *flow) advisePromise(costs []cost) {
	if len(costs) == 0 {
		return
	}
	best := costs[0]
	for _, c := range costs {
		if c.leaps > best.leaps {
			best = c
		}
	}
	from, to := f.two(best.from, best.to)
	where := "links[" + strconv.Itoa(best.rule) + "]"
	if channel := f.s.Rules[best.rule].Channel; !everything(channel) {
		where = "on " + channel + ", " + where
	}
	f.advised(MissingPromise, path{"clients", strconv.Itoa(best.entry)},
		"nothing is known of what %s will promise: who hears it can count on the least delay of the link alone, as on %v "+
			"from %s to %s (%s); let it promise as far ahead as it can (NoSendBefore), or declare its reaction time",
		from, best.least, from, to, where)
}

// adviseCircle speaks of messages that can go round without a least delay, where nobody was warned of them.
func (f *flow) adviseCircle(circle []edge) {
	warned := slices.ContainsFunc(f.warnings, func(p Problem) bool { return p.Kind == ZeroDelayCycle })
	if circle == nil || warned {
		return
	}
	drawing := f.drawing(circle)
	if len(circle) == 1 { // among the clients of one entry
		e := circle[0]
		from, to := f.two(e.from, e.to)
		drawing = from + " -" + e.channel + "-> " + to + " -" + e.channel + "-> " + from
	}
	f.advised(ZeroDelayCycle, path{"clients", strconv.Itoa(f.groups[circle[0].from].entry)},
		"links without a least delay lead round, %s: these clients wait for one another wherever they have something to do "+
			"at the same time; a delay on one of these links lets them overlap", drawing)
}
