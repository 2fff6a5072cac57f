package report

import (
	"errors"
	"fmt"
	"strings"

	"metasim/analysis/predict"
)

// Predict adds what the model predicts: the run on other numbers of cores, and the run with the changes. Without changes it adds the
// changes that help most. It predicts nothing that the pace of the run decides, unless there are changes, and nothing at all if the simulation
// of the run as it was is too far from the run: then Played and Unpredicted say so.
func (r *Report) Predict(m *predict.Model, changes ...predict.Change) error {
	if r.WallS == 0 || len(changes) == 0 && r.Paced() {
		return nil
	}
	played, err := m.Played()
	if err != nil {
		r.Unpredicted = err.Error()
		return nil
	}
	r.Played = &played
	if !played.Trusted {
		r.Unpredicted = (&predict.UntrustedError{Played: played}).Error()
		return nil
	}
	if !r.Paced() {
		r.predictCores(m)
		r.Advice = r.gaining(m, played.Error())
	}
	if len(changes) == 0 {
		if r.WhatIfs, err = m.Rank(); r.WhatIfs == nil {
			r.WhatIfs = []predict.Prediction{}
		}
		return err
	}
	p, err := m.Predict(changes...)
	if untrusted := new(predict.UntrustedError); errors.As(err, &untrusted) { // the whole run, unlike its beginning
		r.Played, r.Unpredicted = &untrusted.Played, untrusted.Error()
		return nil
	}
	if err != nil {
		return err
	}
	r.WhatIfs = []predict.Prediction{p}
	return nil
}

func (r *Report) whatIfTable(b *strings.Builder, width int) {
	if r.Unpredicted != "" {
		b.WriteString("\nWhat if\n")
		wrap(b, "  ", "  ", "Nothing is predicted: "+r.Unpredicted, width)
	}
	if len(r.WhatIfs) == 0 {
		return
	}
	t := table{title: "What if", note: r.played(), columns: []column{
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
