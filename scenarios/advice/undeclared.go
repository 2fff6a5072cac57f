package advice

import (
	"cmp"
	"slices"
	"strconv"

	"metasim/delay"
	"metasim/internal/problem"
	"metasim/metasim"
	"metasim/scenarios/flow"
)

// undeclared looks at the links that there may be from and to clients whose ports are undeclared. It adds to the sums the
// links that a rule is sure to leave without a least delay, and returns the cost of the others, entry by entry.
//
// Built-in models are never among those whose promise is missing. Source, lcmlog, bridge, the plant and its controller act at
// times of their own, and promise up to the next. A sink sends nothing. The others may react at once to what reaches them, so
// they cannot promise, but they report when they send next if nothing reaches them.
func (r *review) undeclared(sums []sum) []cost {
	published := map[string]bool{}
	for i := range r.Groups {
		for _, channel := range r.Groups[i].Ports.Publications {
			published[channel] = true
		}
	}
	var costs []cost
	look := func(from, to int) {
		n := r.pairs(from, to)
		if n == 0 || !r.Spend(1) {
			return
		}
		rules := r.deciders(from, to, published)
		if len(rules) == 0 {
			return
		}
		last := rules[len(rules)-1]
		if !slices.ContainsFunc(rules, func(rule int) bool { return !withoutLeastDelay(r.Spec(rule)) }) {
			s := &sums[last+1]
			if s.undeclared == 0 {
				s.from, s.to = from, to
			}
			s.undeclared += n
		} else if r.Groups[from].Unknown {
			costs = r.addCost(costs, n, from, to, rules)
		}
	}
	for i := range r.Groups {
		for k := 0; k < len(r.Groups) && r.Groups[i].Unknown && !r.TooLarge(); k++ {
			look(i, k)
			if !r.Groups[k].Unknown {
				look(k, i)
			}
		}
	}
	return costs
}

// addCost adds what n pairs of clients may cost. It leaves out a rule without a least delay, which has no finite number of
// steps, and a rule for a certain channel and every sender, as the sender may well be another client.
func (r *review) addCost(costs []cost, n, from, to int, rules []int) []cost {
	rule, least := flow.NoRule, metasim.Forever
	for _, i := range rules {
		if i == flow.NoRule || !delay.MatchesAll(r.Rules[i].Channel) && delay.MatchesAll(r.Rules[i].From) {
			continue
		}
		if d := r.Spec(i).Min(); d > 0 && d < least {
			rule, least = i, d
		}
	}
	if rule == flow.NoRule || r.scenario.Until != 0 && least >= r.scenario.Until {
		return costs
	}
	entry := r.Groups[from].Entry
	if len(costs) == 0 || costs[len(costs)-1].entry != entry {
		costs = append(costs, cost{entry: entry, least: metasim.Forever})
	}
	c := &costs[len(costs)-1]
	c.steps += float64(n) / least.Seconds()
	if least < c.least {
		c.least, c.from, c.to, c.rule = least, from, to, rule
	}
	return costs
}

// deciders returns the rules that may decide about links from one group to another. The ports of one, at least, are
// undeclared.
func (r *review) deciders(from, to int, published map[string]bool) []int {
	var rules []int
	channels, known := r.channels(from, to, published)
	if known {
		for _, channel := range channels {
			rules = append(rules, r.Rule(flow.Edge{From: from, To: to, Channel: channel}))
		}
		return rules
	}
	sender, recipient := r.Groups[from].Names[0], r.Groups[to].Names[0]
	for i := len(r.Rules) - 1; i >= 0 && r.Spend(1+len(rules)); i-- {
		rule := &r.Rules[i]
		hidden := func(later int) bool { return delay.Match(r.Rules[later].Channel, rule.Channel) }
		if !delay.Match(rule.From, sender) || !delay.Match(rule.To, recipient) || slices.ContainsFunc(rules, hidden) {
			continue
		}
		rules = append(rules, i)
		if delay.MatchesAll(rule.Channel) {
			return rules
		}
	}
	return append(rules, flow.NoRule)
}

// channels returns those on which one group may send to another, where they are known.
func (r *review) channels(from, to int, published map[string]bool) (names []string, known bool) {
	sender, recipient := &r.Groups[from], &r.Groups[to]
	if !sender.Unknown {
		return sender.Ports.Publications, true
	}
	if recipient.Unknown {
		return nil, false
	}
	for _, s := range recipient.Ports.Subscriptions {
		switch p, err := metasim.CompilePattern(s); {
		case err != nil || !p.IsName():
			return nil, false
		case !published[s]: // else the recipient is taken to receive it from the models that publish it
			names = append(names, s)
		}
	}
	return names, true
}

// advisePromise names the entry whose promises would be worth most.
func (r *review) advisePromise(costs []cost) {
	if len(costs) == 0 {
		return
	}
	best := slices.MaxFunc(costs, func(a, b cost) int { return cmp.Compare(a.steps, b.steps) })
	from, to := r.names(best.from, best.to)
	where := "links[" + strconv.Itoa(best.rule) + "]"
	if channel := r.Rules[best.rule].Channel; !delay.MatchesAll(channel) {
		where = "on " + channel + ", " + where
	}
	r.add(problem.MissingPromise, []string{"clients", strconv.Itoa(best.entry)},
		"before the run it is not known what %s promises. If it steps (Step, Steps), it promises up to its next step by itself. If not, a client that "+
			"receives from it can count on the least delay of the link alone, as on %v from %s to %s (%s); let it promise as far ahead as it can (Promise), "+
			"or declare its reaction time",
		from, best.least, from, to, where)
}
