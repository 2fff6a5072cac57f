package predict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// Rank predicts what a user can change: the delays of the scenario's rules, promises, reaction times, a period, cores, the transport, and which
// clients share a process. It returns the single changes that help, and the best pair of them if that helps more, the best first. What it
// leaves out gains less than Played.Least, or loses work.
func (m *Model) Rank() ([]Prediction, error) {
	played, err := m.Played()
	if err != nil || !played.Trusted {
		return nil, cmp.Or[error](err, &UntrustedError{played})
	}
	least := played.Least
	var best []Prediction
	var changes [][]Change
	try := func(all ...Change) {
		p, err := m.Quick(all...)
		if err == nil && p.GainShare >= least && p.WorkShare > 0.99 {
			best, changes = append(best, p), append(changes, all)
		}
	}
	for _, text := range m.candidates() {
		if change, err := m.Parse(text); err == nil { // otherwise a name cannot be written in a change
			try(change)
		}
	}
	order := make([]int, len(best))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(best[b].GainShare, best[a].GainShare) })
	// Of several values of one thing, such as a delay, the best one counts; of equal ones the least, which comes first.
	kept := order[:0]
	for _, i := range order {
		if !slices.ContainsFunc(kept, func(k int) bool { return sameThing(changes[i][0], changes[k][0]) }) {
			kept = append(kept, i)
		}
	}
	singles, top := make([]Prediction, len(kept)), kept[:min(len(kept), paired)]
	for i, k := range kept {
		singles[i] = best[k]
	}
	tried := len(best)
	for i, a := range top {
		for _, b := range top[i+1:] {
			if !sameThing(changes[a][0], changes[b][0]) {
				try(changes[a][0], changes[b][0])
			}
		}
	}
	return append(bestPair(singles, best[tried:], least), m.lessWork(least)...), nil
}

// lessWork predicts twice the period of the client with the most work on the critical path, if it has one. It comes last, and in no pair: less
// work is no answer to how the same work is done sooner.
func (m *Model) lessWork(least float64) []Prediction {
	most := metasim.ClientID(0)
	for i := range m.t.Totals.Clients {
		if m.t.Totals.Clients[i].Critical > m.t.Totals.Clients[most].Critical {
			most = metasim.ClientID(i)
		}
	}
	k, ok := tickingOf(&m.t.Log.Clients[most])
	if !ok {
		return nil
	}
	change, err := m.Parse(fmt.Sprintf("client(%s).period=%v", m.t.Names[most], 2*k.period))
	if err != nil {
		return nil // a name that cannot be written in a change
	}
	p, err := m.Quick(change)
	if err != nil || p.GainShare < least {
		return nil
	}
	return []Prediction{p}
}

// paired is how many of the best single changes are tried in pairs.
const paired = 4

// bestPair returns the single changes, the best first, and before them the best pair. A pair that gains no more than a single change is of no use.
func bestPair(singles, pairs []Prediction, least float64) []Prediction {
	byGain := func(a, b Prediction) int { return cmp.Compare(b.GainShare, a.GainShare) }
	all := slices.Clone(singles)
	slices.SortStableFunc(pairs, byGain)
	if len(pairs) > 0 && pairs[0].GainShare >= all[0].GainShare+least {
		all = slices.Insert(all, 0, pairs[0])
	}
	return all
}

// sameThing reports whether two changes give the same thing different values.
func sameThing(a, b Change) bool {
	return a.what == b.what && a.from == b.from && a.to == b.to && a.channel == b.channel && a.rule == b.rule
}

// each is how many rules or links, and how many clients, are candidates: those that others waited for longest.
const each = 3

// candidates returns what a user can change.
func (m *Model) candidates() []string {
	all := m.delays()
	for _, id := range m.mostHeld() {
		c := &m.t.Totals.Clients[id]
		if c.Sends == 0 {
			continue
		}
		all = append(all, fmt.Sprintf("client(%s).promise=all", m.t.Names[id]))
		if reacted := m.reacted(id); reacted > c.Reaction {
			all = append(all, fmt.Sprintf("client(%s).reaction=%v", m.t.Names[id], reacted))
		}
	}
	if m.t.Cores > 0 && m.t.Cores < len(m.t.Names) {
		all = append(all, fmt.Sprintf("cores=%d", min(2*m.t.Cores, len(m.t.Names))))
	}
	return append(all, m.places()...)
}

// places returns other transports, and processes for groups of clients with the same program, as far as the names tell: those that differ in a
// number at the end. Clients in the server's process have the best place.
func (m *Model) places() []string {
	var all []string
	from := m.t.Transport
	if from == "" || from == inProcess {
		return nil
	}
	if m.t.BuiltIn {
		all = append(all, "transport="+inProcess)
	}
	for _, to := range transportCosts {
		if to.local && transportCost(to.name) < transportCost(from) {
			all = append(all, "transport="+to.name)
		}
	}
	var groups []string
	seen := map[string]int{} // looked up, never iterated
	for _, name := range m.t.Names {
		stem := strings.TrimRight(name, "0123456789")
		if seen[stem]++; seen[stem] == 2 && stem != name {
			groups = append(groups, stem)
		}
	}
	for _, stem := range groups {
		all = append(all, fmt.Sprintf("client(%s*).process=1", stem))
	}
	return all
}

// mostHeld returns the clients that others waited for longest.
func (m *Model) mostHeld() []metasim.ClientID {
	held := make([]int64, len(m.t.Names))
	var ids []metasim.ClientID
	for _, p := range m.t.Totals.Pairs {
		if p.HeldBy == trace.NoClient {
			continue
		}
		if held[p.HeldBy] == 0 {
			ids = append(ids, p.HeldBy)
		}
		held[p.HeldBy] += p.Blocked
	}
	slices.SortStableFunc(ids, func(a, b metasim.ClientID) int { return cmp.Compare(held[b], held[a]) })
	return ids[:min(len(ids), each)]
}

// reacted returns the least time from a message that a client handled to a send; 0 if there was none.
func (m *Model) reacted(id metasim.ClientID) metasim.Time {
	least := metasim.Forever
	for i := range m.t.Totals.Links {
		if l := &m.t.Totals.Links[i]; l.From == id && l.Reaction >= 0 {
			least = min(least, l.Reaction)
		}
	}
	if least == metasim.Forever {
		return 0
	}
	return least
}

// A held is what clients waited behind the links of one rule, or behind one link that no rule decides about.
type held struct {
	name     string // as a change writes it
	declared metasim.Time
	took     int64
	short    []trace.ShortWait
}

// delays returns longer delays for the rules and links that clients waited behind longest: twice the delay, and those at which the waits behind
// it end, by half and altogether.
func (m *Model) delays() []string {
	var all []held
	index := map[string]int{} // of all; looked up, never iterated
	for i := range m.t.Totals.Links {
		l := &m.t.Totals.Links[i]
		if l.Held == 0 {
			continue
		}
		name := fmt.Sprintf("link(%s->%s:%s)", m.t.Names[l.From], m.t.Names[l.To], m.t.Channels[l.Channel])
		if rule := ruleOf(m.t, l); rule > 0 {
			name = fmt.Sprintf("links[%d]", rule-1)
		}
		k, known := index[name]
		if !known {
			k = len(all)
			index[name] = k
			all = append(all, held{name: name, declared: l.Declared})
		}
		all[k].took += l.Held
		all[k].short = append(all[k].short, l.Short...)
	}
	slices.SortStableFunc(all, func(a, b held) int { return cmp.Compare(b.took, a.took) })
	var texts []string
	for _, h := range all[:min(len(all), each)] {
		for _, t := range h.longer(m.period()) {
			texts = append(texts, fmt.Sprintf("%s.delay=%v", h.name, t))
		}
	}
	return texts
}

// longer returns longer delays, without doubles. period is what a delay of one step is replaced with.
func (h *held) longer(period metasim.Time) []metasim.Time {
	times := []metasim.Time{rounded(cmp.Or(2*h.declared, period))}
	slices.SortFunc(h.short, func(a, b trace.ShortWait) int { return cmp.Compare(a.More, b.More) })
	all, ended, half := int64(0), int64(0), false
	for _, w := range h.short {
		all += w.Took
	}
	for i, w := range h.short {
		ended += w.Took
		if !half && 2*ended >= all || i == len(h.short)-1 {
			half = true
			times = append(times, rounded(h.declared.Add(w.More)))
		}
	}
	slices.Sort(times)
	return slices.DeleteFunc(slices.Compact(times), func(t metasim.Time) bool { return t <= h.declared || t == metasim.Forever })
}

// rounded returns a time with two digits, not shorter than t.
func rounded(t metasim.Time) metasim.Time {
	unit := metasim.Time(1)
	for t/unit >= 100 {
		unit *= 10
	}
	return (t + unit - 1) / unit * unit
}

// period returns the simulated time from one report of a client to the next, on average.
func (m *Model) period() metasim.Time {
	var reports uint64
	for i := range m.t.Totals.Clients {
		reports += m.t.Totals.Clients[i].Reports
	}
	return max(1, metasim.Time(uint64(m.t.Totals.End)*uint64(len(m.t.Names))/max(1, reports)))
}
