package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"metasim/delay"
)

// The kinds of advice. Package analysis gives the same of a run, by the same names.
const (
	// OneStepLink is a rule, or the lack of one, that leaves links without a least delay: their ends take turns.
	OneStepLink = "one-step-link"
	// MissingPromise is a client of which nobody knows when it sends next.
	MissingPromise = "missing-promise"
	// ZeroDelayCycle is a circle of links without a least delay.
	ZeroDelayCycle = "zero-delay-cycle"
	// UnusedSubscription is a channel that a client hears and nobody publishes.
	UnusedSubscription = "unused-subscription"
)

// maxAdvice is how many rules are told of.
const maxAdvice = 5

// advise says what would let clients compute at once. It says only what holds whatever those do who tell what they publish
// when they join. Of promises and subscriptions of theirs nothing is known, nor whether others lack what they will publish.
func (f *flow) advise() {
	a := f.refined()
	sums, short := a.oneStep()
	costs := a.strangers(sums)
	a.edges = short
	circle := a.cycle(func(edge) bool { return true })
	if a.left < 0 {
		f.warn(nil, "is too large to look for advice")
		return
	}
	a.adviseLinks(sums)
	a.advisePromise(costs)
	a.adviseCircle(circle)
}

// refined is the same flow with groups that rules cannot tell apart, and with each edge once.
func (f *flow) refined() *flow {
	a := &flow{checker: f.checker, s: f.s, left: effort, groups: f.groups}
	a.groups = a.kin()
	a.connect()
	slices.SortFunc(a.edges, edge.compare) // who hears a channel by two subscriptions has one link
	a.edges = slices.Compact(a.edges)
	return a
}

func (e edge) compare(o edge) int {
	return cmp.Or(cmp.Compare(e.from, o.from), cmp.Compare(e.channel, o.channel), cmp.Compare(e.to, o.to))
}

// pairs is how many clients of one group can send to how many others of the other.
func (f *flow) pairs(from, to int) int {
	n := len(f.groups[from].clients)
	if from == to {
		return n * (n - 1)
	}
	return n * len(f.groups[to].clients)
}

// two names clients of two groups, or two of the same.
func (f *flow) two(from, to int) (string, string) {
	g := &f.groups[to]
	if from == to {
		return g.first.Name, g.clients[1].Name
	}
	return f.groups[from].first.Name, g.first.Name
}

// blind reports whether a recipient knows nothing of when a message may reach it over an idle link, but that it is not before
// it is sent. An ordered link knows how long its next message travels, where that is random.
func blind(s delay.Spec) bool {
	_, constant := s.Delay.(delay.Constant)
	return s.Min() == 0 && (s.Delay == nil || constant || s.Order != delay.FIFO)
}

// A sum is what one rule, or the lack of one, leaves without a least delay.
type sum struct {
	rule    int // noRule: where none matches
	links   int // that are there
	example edge
	// strangers are pairs of clients who may have links, one of them at least being a command or external.
	strangers int
	from, to  int // groups of one such pair
}

// oneStep finds the edges between different clients that have no least delay, and sums them up rule by rule.
func (f *flow) oneStep() (sums []sum, short []edge) {
	sums = make([]sum, len(f.s.Rules)+1)
	for i := range sums {
		sums[i].rule = i - 1
	}
	for _, e := range f.edges {
		n := f.pairs(e.from, e.to)
		if n == 0 {
			continue
		}
		rule := f.decide(e)
		if !blind(f.spec(rule)) {
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

// adviseLinks speaks of rules that leave links without a least delay: of those first that leave most.
func (f *flow) adviseLinks(sums []sum) {
	sums = slices.DeleteFunc(sums, func(s sum) bool { return s.links+s.strangers == 0 })
	slices.SortStableFunc(sums, func(a, b sum) int { return cmp.Compare(b.links+b.strangers, a.links+a.strangers) })
	for i, s := range sums {
		if i == maxAdvice {
			f.advised(OneStepLink, path{"links"}, "%d more rules leave links without a least delay; mend the others first", len(sums)-i)
			break
		}
		words := f.wordsOf(s.rule)
		if s.links == 0 && f.groups[s.from].unknown {
			words += ", or let the sender promise (NoSendBefore)"
		}
		f.advised(OneStepLink, f.shortOf(s.rule), words, f.what(s))
	}
}

// advised adds advice.
func (c *checker) advised(kind string, p path, format string, args ...any) {
	c.advice = append(c.advice, c.at(p, format, args...))
	c.advice[len(c.advice)-1].Kind = kind
}

// what names the links that a rule leaves without a least delay; where none is known yet, those that there may be.
func (f *flow) what(s sum) string {
	if s.links > 0 {
		from, to := f.two(s.example.from, s.example.to)
		text := fmt.Sprintf("%s -> %s on %s", from, to, s.example.channel)
		if s.links > 1 {
			text = fmt.Sprintf("%d links, such as %s", s.links, text)
		}
		return text
	}
	from, to := f.two(s.from, s.to)
	text := fmt.Sprintf("whatever %s sends to %s", from, to)
	if s.strangers > 1 {
		text += fmt.Sprintf(", and likewise between %d pairs in all", s.strangers)
	}
	return text
}

// shortOf is the place to point at: where a rule says that it gives no least delay.
func (f *flow) shortOf(rule int) path {
	if rule == noRule {
		return path{"links"}
	}
	p := path{"links", strconv.Itoa(rule)}
	spec := f.spec(rule)
	switch spec.Delay.(type) {
	case nil:
		if spec.Bandwidth > 0 {
			return p.to("bandwidth")
		}
		return p
	case delay.Constant:
		return p.to("delay")
	case delay.Empirical:
		return p.to("delay", "empirical")
	}
	p = p.to("delay")
	n, _ := f.root.find(p, false)
	for _, name := range keys(n.plain()) { // there is one
		p = p.to(name, "min")
	}
	return p
}

// wordsOf says what a rule without a least delay does to its links, which %s names, and what to write instead.
func (f *flow) wordsOf(rule int) string {
	const (
		turns = "the recipient cannot compute while the sender has anything to do at the same time; "
		step  = ": one step of delay, so " + turns
		line  = ": over a free line " + turns
		risk  = ": a message may take no time, so " + turns
		world = "the delay that a message has in the world, however short"
	)
	if rule == noRule {
		return "no rule gives a delay to %s" + step + "add a rule with " + world
	}
	spec := f.spec(rule)
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
