package report

import (
	"fmt"
	"slices"
	"strings"

	"metasim/analysis/predict"
)

// maxBest is how many changes stand at the beginning of the text.
const maxBest = 3

// bestChanges writes the changes that were asked for, or the best ones.
func (r *Report) bestChanges(p *printer) {
	title := "What if"
	if r.ranked {
		title = "Best changes"
	}
	if r.Unpredicted != "" {
		p.title(title)
		p.wrap(normal, "  ", "  ", "Nothing is predicted: "+r.Unpredicted)
	}
	changeTable(p, title, r.played(), r.WhatIfs[:min(len(r.WhatIfs), maxBest)])
}

// moreChanges writes the changes that bestChanges leaves out.
func (r *Report) moreChanges(p *printer) {
	changeTable(p, "More changes", "", r.WhatIfs[min(len(r.WhatIfs), maxBest):])
}

func changeTable(p *printer, title, note string, all []predict.Prediction) {
	if len(all) == 0 {
		return
	}
	t := table{title: title, note: note, columns: []column{
		{head: "saves", tone: good}, {head: "change", word: true}, {head: "run", note: "what it would take", rank: 1}, {word: true},
	}}
	changes := false
	for _, c := range all {
		mark := ""
		if c.ChangesModel {
			mark, changes = "*", true
		}
		t.addSlight(c.GainShare < 0.005, percent(c.GainShare), c.Change, Span(c.WallS), mark)
	}
	t.write(p)
	if note != "" && slices.ContainsFunc(all, func(c predict.Prediction) bool { return strings.Contains(c.Change, "links[") }) {
		p.wrap(faint, "", "  ", "links[0] is the first rule of the scenario's links, as for metasim run --set")
	}
	if changes {
		p.wrap(faint, "* ", "  ", "this changes the model too: its messages arrive at other times, so its results may differ")
	}
}

// played says how good predictions are.
func (r *Report) played() string {
	if r.Played == nil {
		return ""
	}
	of := ""
	if r.Played.Beginning {
		of = ", of the beginning of the run"
	}
	return fmt.Sprintf("played %s, measured %s%s", Span(r.Played.PlayedS), Span(r.Played.MeasuredS), of)
}
