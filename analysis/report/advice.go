package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
	"metasim/internal/problem"
	"metasim/metasim"
)

// An Advice says what can be done to make a run faster.
type Advice struct {
	// Kind is one-step-link, missing-promise, zero-delay-cycle or unused-subscription.
	Kind string `json:"kind"`
	// Client, or From, To and Channel, name the client or the link; otherwise they are empty.
	Client  string `json:"client,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Channel string `json:"channel,omitempty"`
	// CostS is how long clients waited because of it, summed over them. Following the advice may win less.
	CostS float64 `json:"cost_s"`
	Text  string  `json:"text"` // one sentence
	// WhatIf is the change that follows it, and GainShare what that saves, as predicted; empty: there is no such change, or no prediction.
	WhatIf    string  `json:"what_if,omitempty"`
	GainShare float64 `json:"gain_share,omitempty"`

	tries []string // changes that follow it, of which WhatIf is the best
}

// maxAdvice is how many pieces of advice of one kind a Report has.
const maxAdvice = 5

// leastCost is the share of the wall-clock time below which there is no advice.
const leastCost = 0.02

// advise returns the advice on a run, within each kind the most expensive first.
func advise(t *trace.Timeline, r *Report) []Advice {
	all := []Advice{}
	all = append(all, oneStepLinks(r)...)
	all = append(all, missingPromises(t, r)...)
	all = append(all, zeroDelayCycles(t, r)...)
	unused := append(silentSubscriptions(t, r), unusedSubscriptions(t)...)
	return append(all, unused[:min(len(unused), maxAdvice)]...)
}

// oneStepLinks finds links without delay on the critical path that clients waited behind: their ends cannot compute at the same time.
func oneStepLinks(r *Report) []Advice {
	var all []Advice
	for i := range r.Links {
		l := &r.Links[i]
		if l.DeclaredNS > 0 || l.From == l.To || l.HeldS < leastCost*r.WallS || l.Critical == 0 || len(all) == maxAdvice {
			continue
		}
		text := fmt.Sprintf("the link %s -> %s on %s has a delay of one step only: %s cannot compute while %s has anything to do at the same "+
			"time; declare the delay that the link has in the world, however short", l.From, l.To, l.Channel, l.To, l.From)
		all = append(all, Advice{Kind: problem.OneStepLink, From: l.From, To: l.To, Channel: l.Channel, CostS: l.HeldS, Text: text, tries: r.delayed(l)})
	}
	return all
}

// delayed are changes that give a link without delay one: the average time between two reports of its sender, or what ends half of the waits.
func (r *Report) delayed(l *LinkReport) []string {
	name := fmt.Sprintf("link(%s->%s:%s).delay=", l.From, l.To, l.Channel)
	all := []string{}
	if l.HalfNS > 0 {
		all = append(all, name+metasim.Time(l.HalfNS).String())
	}
	for i := range r.Clients {
		if c := &r.Clients[i]; c.Name == l.From && c.Reports > 0 {
			all = append(all, name+max(1, roundUp(metasim.Time(uint64(r.SimNS)/c.Reports), 10)).String())
		}
	}
	return all
}

// gaining predicts the advice, and returns that which gains more than the error of a prediction, and that which no change can follow.
func (r *Report) gaining(m *predict.Model, likely []Advice, least float64) []Advice {
	kept := []Advice{}
	for _, a := range likely {
		for _, text := range a.tries {
			change, err := m.Parse(text)
			if err != nil {
				continue // a name that cannot be written in a change
			}
			if p, err := m.Quick(change); err == nil && p.GainShare > a.GainShare {
				a.WhatIf, a.GainShare = text, p.GainShare
			}
		}
		if len(a.tries) == 0 || a.GainShare >= least {
			kept = append(kept, a)
		}
	}
	return kept
}

// leastGain is the share of the run below which advice is not worth following.
const leastGain = 0.005

// missingPromises finds the client that holds others back most and could promise more: when it acts next, or how long it takes to
// react. Without it, others may be next. No promise would help if the waits of the protocol cost nothing, or if the client reacts at once
// and says so.
func missingPromises(t *trace.Timeline, r *Report) []Advice {
	var most []Advice // one at most
	if r.CriticalConservativeS-r.CriticalIdealS < leastCost*r.WallS {
		return nil
	}
	for i := range r.Clients {
		c := &r.Clients[i]
		if c.HeldS < leastCost*r.WallS || len(most) > 0 && c.HeldS <= most[0].CostS || c.Sends == 0 || t.Totals.Clients[i].Silent == 0 || c.PromisedShare > 0.5 {
			continue
		}
		text, try := "", fmt.Sprintf("client(%s).promise=all", c.Name)
		if reacted := quickest(r, c.Name); c.AnnouncedShare < 0.5 {
			text = fmt.Sprintf("others waited for %s, whose reports promised %.0f %% of the time until its next send, and announced %.0f %%; "+
				"let it promise as far ahead as it can know (Promise)", c.Name, 100*c.PromisedShare, 100*c.AnnouncedShare)
		} else if reacted > metasim.Time(c.ReactionNS) {
			text = fmt.Sprintf("others waited for %s, which never sent anything sooner than %v after a message; if that is intended, let it declare "+
				"this reaction time", c.Name, reacted)
			try = fmt.Sprintf("client(%s).reaction=%v", c.Name, reacted)
		} else {
			continue
		}
		most = []Advice{{Kind: problem.MissingPromise, Client: c.Name, CostS: c.HeldS, Text: text, tries: []string{try}}}
	}
	return most
}

// quickest returns the least time from a message to a send of a client; 0 if it is not known.
func quickest(r *Report, client string) metasim.Time {
	least := metasim.Forever
	for i := range r.Links {
		if l := &r.Links[i]; l.From == client && l.ReactionNS >= 0 {
			least = min(least, metasim.Time(l.ReactionNS))
		}
	}
	if least == metasim.Forever {
		return 0
	}
	return least
}

// zeroDelayCycles finds clients that sent messages to one another over links without delay, and answered while time stood still.
func zeroDelayCycles(t *trace.Timeline, r *Report) []Advice {
	g := simple.NewDirectedGraph()
	inCycle := func(l *trace.LinkTotals) bool { return l.Declared == 0 && l.Messages > 0 && l.From != l.To }
	for i := range t.Totals.Links {
		if l := &t.Totals.Links[i]; inCycle(l) {
			g.SetEdge(simple.Edge{F: simple.Node(l.From), T: simple.Node(l.To)})
		}
	}
	var all []Advice
	for _, component := range topo.TarjanSCC(g) {
		if len(component) < 2 {
			continue
		}
		members := map[metasim.ClientID]bool{}
		var names []string
		for _, n := range component {
			members[metasim.ClientID(n.ID())] = true
			names = append(names, t.Names[n.ID()])
		}
		slices.Sort(names)
		answered, held := false, int64(0)
		for i := range t.Totals.Links {
			if l := &t.Totals.Links[i]; inCycle(l) && members[l.From] && members[l.To] {
				answered, held = answered || l.Reaction == 0, max(held, l.Held)
			}
		}
		if !answered || trace.Seconds(held) < leastCost*r.WallS {
			continue
		}
		result := ""
		if inTurns(t, members) {
			result = ", so they compute in turns"
		}
		text := fmt.Sprintf("%s answer one another while simulated time stands still%s; a delay on one of the links between them lets them overlap",
			listed(names), result)
		all = append(all, Advice{Kind: problem.ZeroDelayCycle, Client: names[0], CostS: trace.Seconds(held), Text: text, tries: r.within(names)})
	}
	slices.SortFunc(all, func(a, b Advice) int { return strings.Compare(a.Client, b.Client) })
	return all[:min(len(all), maxAdvice)]
}

// inTurns reports whether no two of the clients computed at the same time, but for a twentieth of their work.
func inTurns(t *trace.Timeline, members map[metasim.ClientID]bool) bool {
	var all []trace.Part
	for i := range t.Grants {
		if g := &t.Grants[i]; members[g.Client] && g.Work > 0 {
			all = append(all, trace.Part{Begin: g.Granted, End: g.Granted + g.Work})
		}
	}
	slices.SortFunc(all, func(a, b trace.Part) int { return cmp.Compare(a.Begin, b.Begin) })
	end, work, overlap := int64(0), int64(0), int64(0)
	for _, p := range all {
		work += p.End - p.Begin
		overlap += max(0, min(end, p.End)-p.Begin)
		end = max(end, p.End)
	}
	return 20*overlap <= work
}

// within are changes that give one of the links between some clients a delay: of those that others waited behind longest. names are sorted.
func (r *Report) within(names []string) []string {
	const most = 3
	all := []string{}
	in := func(name string) bool { _, found := slices.BinarySearch(names, name); return found }
	for i, n := 0, 0; i < len(r.Links) && n < most; i++ {
		if l := &r.Links[i]; l.DeclaredNS == 0 && l.Messages > 0 && l.From != l.To && in(l.From) && in(l.To) {
			all = append(all, r.delayed(l)...)
			n++
		}
	}
	return all
}

// unusedSubscriptions finds subscriptions that match no publication: probably a name is misspelt.
func unusedSubscriptions(t *trace.Timeline) []Advice {
	published := map[string]bool{}
	for i := range t.Totals.Clients {
		for _, p := range t.Totals.Clients[i].Publications {
			published[p] = true
		}
	}
	heard := func(sub string) bool { return published[sub] || matchesAny(sub, published) }
	var all []Advice
	for i := range t.Totals.Clients {
		subs := t.Totals.Clients[i].Subscriptions
		together := t.Scopes.Of(t.Names[i]).Together(subs) // these are one in the words of the client
		for _, sub := range subs {
			if len(all) == maxAdvice || heard(sub) ||
				slices.ContainsFunc(together, func(group []string) bool { return slices.Contains(group, sub) && slices.ContainsFunc(group, heard) }) {
				continue
			}
			text := fmt.Sprintf("%s subscribes to %s, which no client publishes; correct the name, or remove the subscription", t.Names[i], sub)
			all = append(all, Advice{Kind: problem.UnusedSubscription, Client: t.Names[i], Channel: sub, Text: text})
		}
	}
	return all
}

// silentSubscriptions finds subscriptions that a client waited for and that brought no message in the whole run: their links cost
// lookahead for nothing. Of an incomplete run this cannot be said.
func silentSubscriptions(t *trace.Timeline, r *Report) []Advice {
	if t.Torn != nil {
		return nil
	}
	into := map[string][]*LinkReport{} // by the names of clients that waited behind such a link; looked up, never iterated
	for i := range r.Links {
		if l := &r.Links[i]; l.Messages == 0 && l.HeldS > 0 {
			into[l.To] = []*LinkReport{}
		}
	}
	for i := range r.Links {
		l := &r.Links[i]
		if list, wanted := into[l.To]; wanted {
			into[l.To] = append(list, l)
		}
	}
	var all []Advice
	for i := range t.Totals.Clients {
		name := t.Names[i]
		for _, sub := range t.Totals.Clients[i].Subscriptions {
			held, from := silence(sub, into[name])
			if held == 0 || held < leastCost*r.WallS {
				continue
			}
			text := fmt.Sprintf("%s subscribes to %s and waited for it, but %s never sent anything on it; remove the subscription, "+
				"or let %[3]s promise (Promise)", name, sub, from)
			all = append(all, Advice{Kind: problem.UnusedSubscription, Client: name, From: from, Channel: sub, CostS: held, Text: text, tries: []string{without(name, sub, from)}})
		}
	}
	slices.SortStableFunc(all, func(a, b Advice) int { return cmp.Compare(b.CostS, a.CostS) })
	return all
}

// without is a change that is as good as no subscription: the links on which no message came hold nobody back. Of a pattern it is the sender
// that was waited for longest.
func without(client, sub, from string) string {
	if regexp.QuoteMeta(sub) == sub {
		from = "*"
	} else {
		sub = "*"
	}
	return fmt.Sprintf("link(%s->%s:%s).delay=1000000s", from, client, sub)
}

// silence returns for how long a client waited behind the links of a subscription, and the sender that it waited for longest. It
// returns 0 if a message came.
func silence(sub string, links []*LinkReport) (held float64, from string) {
	most := 0.0
	for _, l := range links {
		if sub != l.Channel && !metasim.MatchSubscription(sub, l.Channel) {
			continue
		}
		if l.Messages > 0 {
			return 0, ""
		}
		if holdsAnyway(l, links) {
			continue
		}
		if held += l.HeldS; l.HeldS > most {
			most, from = l.HeldS, l.From
		}
	}
	return held, from
}

// holdsAnyway reports whether the sender holds the recipient back as much over another link, on which messages came.
func holdsAnyway(l *LinkReport, links []*LinkReport) bool {
	return slices.ContainsFunc(links, func(o *LinkReport) bool {
		return o.From == l.From && o.Messages > 0 && o.DeclaredNS <= l.DeclaredNS
	})
}

func matchesAny(sub string, channels map[string]bool) bool {
	for channel := range channels {
		if metasim.MatchSubscription(sub, channel) {
			return true
		}
	}
	return false
}

func (r *Report) adviceList(p *printer) {
	if len(r.Advice) == 0 {
		return
	}
	p.title("Advice")
	for _, a := range r.Advice {
		cost := ""
		if a.GainShare > 0 {
			cost = fmt.Sprintf(" (saves %s: --what-if '%s')", percent(a.GainShare), a.WhatIf)
		} else if a.CostS > 0 {
			cost = " (" + Span(a.CostS) + ")"
		}
		p.wrap(strong, "- ", "  ", a.Text+cost)
	}
}
