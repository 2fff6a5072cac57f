package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"

	"metasim/metasim"
)

// An Advice is something that can be done about a run.
type Advice struct {
	// Kind is one-step-link, missing-promise, zero-delay-cycle or unused-subscription.
	Kind string `json:"kind"`
	// Client, or From, To and Channel, say what it is about; empty where they do not.
	Client  string `json:"client,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Channel string `json:"channel,omitempty"`
	// CostS is how long clients waited because of it, summed over them: what cannot be had back is in it too.
	CostS float64 `json:"cost_s"`
	Text  string  `json:"text"` // one sentence
}

// The kinds of advice, in the order in which they are given.
const (
	OneStepLink        = "one-step-link"
	MissingPromise     = "missing-promise"
	ZeroDelayCycle     = "zero-delay-cycle"
	UnusedSubscription = "unused-subscription"
)

// maxAdvice is how much of one kind is given.
const maxAdvice = 5

// worth is the share of the wall clock that must be lost before it is worth a word.
const worth = 0.02

// advise looks for what can be done, the dearest first within each kind.
func advise(t *Timeline, r *Report) []Advice {
	all := []Advice{}
	all = append(all, oneStepLinks(r)...)
	all = append(all, missingPromises(t, r)...)
	all = append(all, zeroDelayCycles(t)...)
	unused := append(silentSubscriptions(t, r), unusedSubscriptions(t)...)
	return append(all, unused[:min(len(unused), maxAdvice)]...)
}

// oneStepLinks are links without delay that somebody waited behind, and not only somebody whom nobody waits for: their ends
// cannot compute at the same time.
func oneStepLinks(r *Report) []Advice {
	var all []Advice
	for i := range r.Links {
		l := &r.Links[i]
		if l.DeclaredNS > 0 || l.From == l.To || l.HeldS < worth*r.WallS || l.Critical == 0 || len(all) == maxAdvice {
			continue
		}
		text := fmt.Sprintf("the link %s -> %s on %s has no delay, one step only: %s cannot compute while %s has anything to do at the same "+
			"time; give the link the delay that it has in the world, however short", l.From, l.To, l.Channel, l.To, l.From)
		all = append(all, Advice{Kind: OneStepLink, From: l.From, To: l.To, Channel: l.Channel, CostS: l.HeldS, Text: text})
	}
	return all
}

// missingPromises names the client that holds others back most and could have said more: when it acts next, or how long it
// takes to answer. Where the protocol's waits cost nothing, or a client answers at once what it hears and says so, no
// promise would help, however long others waited for it.
func missingPromises(t *Timeline, r *Report) []Advice {
	var all []Advice
	if r.CriticalConservativeS-r.CriticalIdealS < worth*r.WallS {
		return nil
	}
	for i := range r.Clients {
		c := &r.Clients[i]
		if c.HeldS < worth*r.WallS || c.Sends == 0 || t.stats.clients[i].could == 0 || c.PromisedShare > 0.5 {
			continue
		}
		text := ""
		if reacted := quickest(r, c.Name); c.AnnouncedShare < 0.5 {
			text = fmt.Sprintf("others waited for %s, whose reports promised %.0f %% of the time until its next send, and announced %.0f %%; "+
				"let it promise as far ahead as it can know (NoSendBefore)", c.Name, 100*c.PromisedShare, 100*c.AnnouncedShare)
		} else if reacted > metasim.Time(c.ReactionNS) {
			text = fmt.Sprintf("others waited for %s, which never sent anything sooner than %v after a message; if that is no accident, let it declare "+
				"so long a reaction time", c.Name, reacted)
		} else {
			continue
		}
		all = append(all, Advice{Kind: MissingPromise, Client: c.Name, CostS: c.HeldS, Text: text})
	}
	slices.SortStableFunc(all, func(a, b Advice) int { return cmp.Compare(b.CostS, a.CostS) })
	return all[:min(len(all), 1)] // the dearest: when that is mended, others are next
}

// quickest is how soon a client sent after a message, at the least; 0 where it is not known.
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

// zeroDelayCycles are clients that can answer one another for ever while time stands still, as far as messages went.
func zeroDelayCycles(t *Timeline) []Advice {
	g := simple.NewDirectedGraph()
	for id, l := range t.stats.links {
		if l.declared == 0 && l.messages > 0 && id.From != id.To {
			g.SetEdge(simple.Edge{F: simple.Node(id.From), T: simple.Node(id.To)})
		}
	}
	var all []Advice
	for _, component := range topo.TarjanSCC(g) {
		if len(component) < 2 {
			continue
		}
		var names []string
		for _, n := range component {
			names = append(names, t.Names[n.ID()])
		}
		slices.Sort(names)
		text := fmt.Sprintf("%s answer one another without any delay, so they compute in turns; a delay on one of the links between them "+
			"lets them overlap", listed(names))
		all = append(all, Advice{Kind: ZeroDelayCycle, Client: names[0], Text: text})
	}
	slices.SortFunc(all, func(a, b Advice) int { return strings.Compare(a.Client, b.Client) })
	return all[:min(len(all), maxAdvice)]
}

// unusedSubscriptions are those that match nothing which anybody publishes: a word is misspelt, or a link costs lookahead for
// nothing.
func unusedSubscriptions(t *Timeline) []Advice {
	published := map[string]bool{}
	for i := range t.stats.clients {
		for _, p := range t.stats.clients[i].publications {
			published[p] = true
		}
	}
	var all []Advice
	for i := range t.stats.clients {
		for _, sub := range t.stats.clients[i].subscriptions {
			if len(all) == maxAdvice || published[sub] || matchesAny(sub, published) {
				continue
			}
			text := fmt.Sprintf("%s subscribes to %s, which nobody publishes; correct the name, or leave it out", t.Names[i], sub)
			all = append(all, Advice{Kind: UnusedSubscription, Client: t.Names[i], Channel: sub, Text: text})
		}
	}
	return all
}

// silentSubscriptions are those that match what somebody publishes, and that was waited for, and yet no message came of it in the
// whole run: the links cost lookahead for nothing. Of a part of a run nothing of the kind can be said.
func silentSubscriptions(t *Timeline, r *Report) []Advice {
	if t.Torn != nil {
		return nil
	}
	into := map[string][]*LinkReport{} // the links to those who have one of which nothing came; looked up, never iterated
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
	for i := range t.stats.clients {
		name := t.Names[i]
		for _, sub := range t.stats.clients[i].subscriptions {
			held, from := silence(sub, into[name])
			if held == 0 || held < worth*r.WallS {
				continue
			}
			text := fmt.Sprintf("%s subscribes to %s, on which %s never sent anything, though it was waited for; leave the subscription out, "+
				"or let %[3]s promise (NoSendBefore)", name, sub, from)
			all = append(all, Advice{Kind: UnusedSubscription, Client: name, From: from, Channel: sub, CostS: held, Text: text})
		}
	}
	slices.SortStableFunc(all, func(a, b Advice) int { return cmp.Compare(b.CostS, a.CostS) })
	return all
}

// silence returns for how long there was waiting for what a subscription would have brought over one of these links to its
// client, and whose link had most of that. It is 0 where something was sent.
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

// holdsAnyway reports whether the sender holds the recipient back as much over another link, which is of use.
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

// listed writes names for a sentence. A long list is cut.
func listed(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
