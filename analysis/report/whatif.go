package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/analysis/predict"
	"metasim/metasim"
)

// Predict adds what the model predicts: the run on other numbers of cores, and the run with the changes. Without changes it adds the
// single changes that help most. It predicts nothing that the pace of the run decides, unless there are changes.
func (r *Report) Predict(m *predict.Model, changes ...predict.Change) error {
	if !r.Paced() {
		r.predictCores(m)
	}
	if r.WallS == 0 || len(changes) == 0 && r.Paced() {
		return nil
	}
	if len(changes) == 0 {
		r.WhatIfs = r.rank(m)
		return nil
	}
	p, err := m.Predict(changes...)
	if err != nil {
		return err
	}
	r.WhatIfs = []predict.Prediction{p}
	return nil
}

// rank predicts the single changes that probably help most, and returns those that do, the best first.
func (r *Report) rank(m *predict.Model) []predict.Prediction {
	const leastGain = 0.005
	best := []predict.Prediction{}
	for _, text := range r.candidates() {
		change, err := m.Parse(text)
		if err != nil {
			continue // a name that cannot be written in a change
		}
		if p, err := m.Quick(change); err == nil && p.GainShare >= leastGain && p.WorkShare > 0.99 {
			best = append(best, p)
		}
	}
	slices.SortStableFunc(best, func(a, b predict.Prediction) int { return cmp.Compare(b.GainShare, a.GainShare) })
	return best
}

// candidates returns changes of the most expensive clients and links: a faster client, a better promise, a longer delay.
func (r *Report) candidates() []string {
	const each = 3
	var all []string
	rows := slices.Clone(r.Clients)
	slices.SortStableFunc(rows, func(a, b ClientReport) int { return cmp.Compare(b.CriticalS, a.CriticalS) })
	for _, c := range rows[:min(len(rows), each)] {
		all = append(all, fmt.Sprintf("client(%s).speed=2", c.Name))
	}
	slices.SortStableFunc(rows, func(a, b ClientReport) int { return cmp.Compare(b.HeldS, a.HeldS) })
	for _, c := range rows[:min(len(rows), each)] {
		if c.Sends > 0 && c.HeldS > 0 {
			all = append(all, fmt.Sprintf("client(%s).promise=all", c.Name))
		}
	}
	for i := range r.Links[:min(len(r.Links), each)] {
		if l := &r.Links[i]; l.HeldS > 0 {
			all = append(all, fmt.Sprintf("link(%s->%s:%s).delay=%v", l.From, l.To, l.Channel, r.longerDelay(l)))
		}
	}
	return all
}

// longerDelay returns a delay that may help: twice the declared one. For a delay of one step it is the average time between two reports of
// the sender.
func (r *Report) longerDelay(l *LinkReport) metasim.Time {
	if l.DeclaredNS > 0 {
		return 2 * metasim.Time(l.DeclaredNS)
	}
	for i := range r.Clients {
		if c := &r.Clients[i]; c.Name == l.From && c.Reports > 0 {
			return max(1, roundUp(metasim.Time(uint64(r.SimNS)/c.Reports), 10))
		}
	}
	return metasim.Millisecond
}

func (r *Report) whatIfTable(b *strings.Builder, width int) {
	if len(r.WhatIfs) == 0 {
		return
	}
	t := table{title: "What if", columns: []column{
		{head: "change", word: true}, {head: "run", note: "what it would take"}, {head: "saves"}, {word: true},
	}}
	changes := false
	for _, p := range r.WhatIfs {
		mark := ""
		if p.ChangesModel {
			mark, changes = "*", true
		}
		t.add(p.Change, Span(p.WallS), percent(p.GainShare), mark)
	}
	t.write(b, width)
	if changes {
		wrap(b, "* ", "  ", "this changes the model too: its messages arrive at other times, so its results may differ", width)
	}
}
