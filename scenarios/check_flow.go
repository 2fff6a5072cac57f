package scenarios

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/internal/problem"
	"metasim/internal/scope"
	"metasim/internal/suggest"
	"metasim/lcm/names"
	"metasim/scenarios/flow"
)

// flow checks the scenario as a whole: which clients can send to which.
func (c *checker) flow(s *Scenario) {
	s.Flow = flow.New(s.Rules)
	f := &flowChecker{checker: c, Graph: s.Flow, s: s}
	if f.group(); c.problems != nil {
		return
	}
	f.connect()
	f.alike()
	f.hidden()
	f.exposed()
	f.shown()
	f.bridged()
	f.ends()
	f.roundsAtOneTime()
	f.unmatched()
	if f.TooLarge() {
		c.warn(nil, "is too large to look for rules that match no link and channels without a subscriber")
	}
}

// group asks the catalog for the ports of each client. Where the first two clients of an entry have the same ports, all of them
// do: they differ in their index alone.
func (f *flowChecker) group() {
	next, owners := 0, map[ownedIn]string{}
	for entry := range f.s.doc.Clients {
		clients := f.s.Clients[next : next+f.s.Clients[next].Count]
		next += len(clients)
		clientNames := make([]string, len(clients))
		for i := range clients {
			clientNames[i] = clients[i].Name
		}
		if clients[0].Model == "" {
			f.Complete = false
			f.Groups = append(f.Groups, flow.Group{Entry: entry, Names: clientNames, Unknown: true})
			continue
		}
		for i := range clients {
			in, err := catalog.Make(clients[i].Model, clients[i].With, f.s.Env(&clients[i]))
			if err != nil {
				f.parameters(path{"clients"}.in(entry).to("with"), err)
				return
			}
			if !f.Spend(20 * (1 + len(in.Ports.Publications) + len(in.Ports.Subscriptions))) { // making names costs more than looking at them
				f.Complete = false
				return
			}
			if !f.owned(entry, clients[i].Scope, in.Owns, owners) {
				return
			}
			own := in.Ports.Subscriptions
			if in.Ports, err = full(in.Ports, clients[i].Scope); err != nil {
				f.fail(path{"clients"}.in(entry), "%v", err)
				return
			}
			if i == 1 && reflect.DeepEqual(in.Ports, f.Groups[len(f.Groups)-1].Ports) {
				f.Groups[len(f.Groups)-1].Names = clientNames
				break
			}
			f.Groups = append(f.Groups, flow.Group{Entry: entry, Names: clientNames[i : i+1], Ports: in.Ports, Own: own})
		}
	}
}

// An ownedIn is an entity of a scenario, which may be inside of another one.
type ownedIn struct {
	of     *scope.Scope
	entity string
}

// owned refuses an entity that has two owners at the beginning.
func (f *flowChecker) owned(entry int, of *scope.Scope, all []catalog.Owned, owners map[ownedIn]string) bool {
	for _, o := range all {
		at := ownedIn{of, o.Entity}
		if other, known := owners[at]; known && other != o.Owner {
			f.fail(path{"clients"}.in(entry).to("with", "entities"), "has %s with the owner %s, and elsewhere its owner is %s; an entity has one owner", o.Entity, o.Owner, other)
			return false
		}
		owners[at] = o.Owner
	}
	return true
}

// connect finds the edges, and warns of channels without a publisher or without a subscriber.
func (f *flowChecker) connect() {
	if err := f.Connect(); err != nil {
		f.fail(path{"clients"}, "%v", err)
		return
	}
	if !f.Complete { // the channels of the others are known when they join
		return
	}
	declared, groups := make([]flow.Declaration, len(f.Groups)), map[string]int{}
	for i, g := range f.Groups {
		declared[i] = flow.Declaration{Client: g.Names[0], Publications: g.Ports.Publications, Subscriptions: g.Ports.Subscriptions,
			Together: f.scopes.Of(g.Names[0]).Together(g.Ports.Subscriptions), Bridge: g.Ports.Network != ""}
		groups[g.Names[0]] = i
	}
	ends, _ := flow.LooseEnds(declared) // never too large here, because Connect was not
	for _, e := range ends {
		if e.Unheard && f.s.PublicLCM != "" { // who listens there is not known
			continue
		}
		what, remedy, kind := "no client publishes channel", "let a client publish it, or remove it", problem.UnusedSubscription
		switch {
		case e.Unheard:
			what, remedy, kind = "no client subscribes to channel", "subscribe a client to it, or remove it", ""
		case e.Impossible:
			what, remedy = "no channel can match", "mend the expression"
		}
		if e.Meant != "" {
			remedy = fmt.Sprintf("did you mean %q?", e.Meant)
		}
		for _, name := range e.Clients {
			f.warnOf(kind, f.parameterOf(f.entry(groups[name]), e.Name), "%s %q; %s", what, e.Name, remedy)
		}
	}
}

// shown refuses channels that LCM cannot have, if the run is to be shown on LCM. It checks what models publish; what commands
// and external clients publish is known when they join.
func (f *flowChecker) shown() {
	if f.s.PublicLCM == "" {
		return
	}
	naming := names.Naming{Suffix: f.s.LCMSuffix, Plain: f.s.LCMPlain}
	refused := map[string]bool{} // one problem for a channel of an entry is enough
	check := func(from int, channel, sender, recipient string) {
		p := f.entry(from)
		key := p.String() + " " + channel
		if _, err := naming.Channel(channel, sender, recipient); err != nil && !refused[key] {
			refused[key] = true
			f.fail(f.parameterOf(p, channel), "%s", err)
		}
	}
	longest := make([]string, len(f.Groups))
	for i, g := range f.Groups {
		longest[i] = slices.MaxFunc(g.Names, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	}
	for _, e := range f.Edges {
		check(e.From, e.Channel, longest[e.From], longest[e.To])
	}
	for i, g := range f.Groups {
		for _, channel := range g.Ports.Publications {
			check(i, channel, longest[i], "")
		}
	}
}

// bridged refuses channels that a bridge cannot put out, and bridges that would send each other's messages back through a network
// for ever. It checks what models publish; of what other clients publish, a bridge counts the messages that it cannot put out.
func (f *flowChecker) bridged() {
	refused := map[string]bool{} // one problem for a channel of an entry is enough
	for _, e := range f.Edges {
		from, to := &f.Groups[e.From], &f.Groups[e.To]
		p := f.entry(e.To)
		key := p.String() + " " + e.Channel
		if to.Ports.Network == "" || refused[key] {
			continue
		}
		p = p.to("with", "out")
		if err := names.CheckChannel(e.Channel); err != nil {
			refused[key] = true
			f.fail(p, "%q cannot put out what %q publishes: %s", to.Names[0], from.Names[0], err)
		}
		if from.Ports.Network == to.Ports.Network && (e.From != e.To || len(to.Names) > 1) {
			refused[key] = true
			f.fail(p, "%q puts out on channel %q what %q takes in from the same network, %s, "+
				"so every message would come back for ever; let one bridge do both, or take the channel out of one of them",
				to.Names[0], e.Channel, from.Names[len(from.Names)-1], to.Ports.Network)
		}
	}
}

// ends fails where there is no until and something goes on for ever: a client, or a message that is passed round.
func (f *flowChecker) ends() {
	if f.s.Until != 0 {
		return
	}
	var endless []string
	first, last := 0, -1
	for i, g := range f.Groups {
		if g.Unknown || g.Ports.Ending != catalog.Endless || g.Entry == last {
			continue
		}
		if endless == nil {
			first = i
		}
		last = g.Entry
		e := &f.s.doc.Clients[g.Entry]
		endless = append(endless, fmt.Sprintf("%s (%s)", e.Name, e.Model))
	}
	if endless != nil {
		f.fail(f.entry(first), "the run can never end: there is no until, and these clients go on for ever: %s; add until: 10s to the scenario", both(endless))
		return
	}
	if !f.Complete {
		return
	}
	reached := f.Reached()
	cycle := f.Cycle(func(e flow.Edge) bool { return reached[e.From] && f.passes(e) && f.Spec(f.Rule(e)).Loss == nil })
	if cycle != nil {
		f.fail(f.entry(cycle[0].From),
			"the run can never end: there is no until, and messages go round for ever: %s; add until: 10s to the scenario", f.Draw(cycle))
	}
}

// roundsAtOneTime warns of cycles of links without delay: messages go round in them at one time.
func (f *flowChecker) roundsAtOneTime() {
	cycle := f.Cycle(func(e flow.Edge) bool {
		spec := f.Spec(f.Rule(e))
		constant, ok := spec.Delay.(delay.Constant)
		return f.passes(e) && spec.Bandwidth == 0 && (spec.Delay == nil || ok && constant == 0)
	})
	if cycle != nil {
		f.warnOf(problem.ZeroDelayCycle, f.entry(cycle[0].From),
			"messages go round without delay: %s; after max_steps (%d) at one time the run fails; give one of these links a delay",
			f.Draw(cycle), f.s.MaxSteps)
	}
}

// passes reports whether both ends of an edge forward every message.
func (f *flowChecker) passes(e flow.Edge) bool {
	return f.Groups[e.From].Ports.Forwards && f.Groups[e.To].Ports.Forwards
}

// unmatched warns of rules that decide about no link.
func (f *flowChecker) unmatched() {
	for i, r := range f.s.Rules {
		p := path{"links"}.in(i)
		if at := f.origins["links"]; i < len(at) && (at[i].path == nil || f.overruled(p, r, at[i].scope)) {
			continue
		}
		if !f.matchesClient(p.to("from"), r.From) || !f.matchesClient(p.to("to"), r.To) || !f.Complete {
			continue
		}
		if !f.connects(r) && !f.TooLarge() {
			f.warn(p, "no link matches this rule: nothing is sent from %s to %s on %s; mend the patterns, or remove the rule",
				cmp.Or(r.From, "*"), cmp.Or(r.To, "*"), cmp.Or(r.Channel, "*"))
		}
	}
}

// matchesClient reports whether a pattern matches a client, and warns where it matches none.
func (f *flowChecker) matchesClient(p path, pattern string) bool {
	if _, ok := f.names[pattern]; ok || pattern == "" {
		return true
	}
	if strings.Contains(pattern, "*") {
		for i := range f.s.Clients {
			if !f.Spend(1) || delay.Match(pattern, f.s.Clients[i].Name) {
				return true
			}
		}
	}
	if !f.Spend(len(f.s.doc.Clients)) {
		return false
	}
	var similar []string
	for _, e := range f.s.doc.Clients {
		similar = append(similar, clientName(e.Name, 0, e.Count != nil))
	}
	f.warn(p, "no client is called %s; %s", quote(pattern), suggest.Word(pattern, similar))
	return false
}

// connects reports whether a rule matches any link.
func (f *flowChecker) connects(r delay.Rule) bool {
	for _, e := range f.Edges {
		if !f.Spend(1) {
			return true
		}
		if delay.Match(r.Channel, e.Channel) && f.matchesAny(r.From, e.From) && f.matchesAny(r.To, e.To) {
			return true
		}
	}
	return false
}

// matchesAny reports whether a pattern matches a client of a group.
func (f *flowChecker) matchesAny(pattern string, group int) bool {
	if pattern == "" {
		return true
	}
	for _, name := range f.Groups[group].Names {
		if !f.Spend(1) || delay.Match(pattern, name) {
			return true
		}
	}
	return false
}
