package report

import (
	"errors"
	"slices"

	"metasim/analysis/predict"
)

// Predict adds what the model predicts: the run on other numbers of cores, and the run with the changes. Without changes it adds the
// changes that help most. It predicts nothing that the pace of the run decides, unless there are changes, and nothing at all if the simulation
// of the run as it was is too far from the run: then Played and Unpredicted say so.
func (r *Report) Predict(m *predict.Model, changes ...predict.Change) error {
	likely := r.Advice
	r.Advice = slices.DeleteFunc(slices.Clone(likely), func(a Advice) bool { return len(a.tries) > 0 }) // what was not predicted is not advised
	if r.WallS == 0 || len(changes) == 0 && r.Paced() {
		return nil
	}
	played, err := m.Played()
	if err != nil {
		r.Unpredicted = err.Error()
		r.Verdict = r.verdict()
		return nil
	}
	r.Played = &played
	if !played.Trusted {
		r.Unpredicted = (&predict.UntrustedError{Played: played}).Error()
		r.Verdict = r.verdict()
		return nil
	}
	if !r.Paced() {
		r.predictCores(m)
		r.Advice = r.gaining(m, likely, played.Least)
	}
	if len(changes) == 0 {
		if r.WhatIfs, err = m.Rank(); r.WhatIfs == nil {
			r.WhatIfs = []predict.Prediction{}
		}
		if r.ranked = err == nil; r.ranked {
			r.predictTwice(m)
		}
		r.Verdict = r.verdict()
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
