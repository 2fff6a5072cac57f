package report

import (
	"fmt"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
)

// verdict says in one sentence what made the run as long as it was, and which single change would help most.
func (r *Report) verdict() string {
	switch {
	case r.WallS == 0:
		return "the run ended before all clients had joined"
	case r.Paced():
		return fmt.Sprintf("the pace of the run, or a pause, took %s of it, so nothing else makes it faster", percent(trace.Ratio(r.PacedS, r.WallS)))
	case r.CriticalConservativeS == 0:
		return "no client computed anything that can be measured: the run is transport and dispatcher"
	}
	sentence, client := r.culprit()
	return sentence + r.remedy(client)
}

// culprit names the largest of three: what clients compute, what they wait for one another, and the machine. Of the first it returns the
// client with the most of it, if it is not one of many alike.
func (r *Report) culprit() (sentence, client string) {
	compute, protocol := r.CriticalIdealS, r.CriticalConservativeS-r.CriticalIdealS
	machine := r.WallS - r.CriticalConservativeS
	share := func(s float64) string { return percent(trace.Ratio(s, r.WallS)) }
	switch {
	case machine > max(compute, protocol):
		name, took := r.largestPart()
		return fmt.Sprintf("%s of the run is %s, and %s what clients compute on the critical path", share(took), name, share(r.CriticalConservativeS)), ""
	case protocol > compute:
		return fmt.Sprintf("waits for short delays and missing promises are %s of the run", share(protocol)), ""
	}
	rows := r.ByCost()
	top := trace.Ratio(rows[0].CriticalS, r.CriticalConservativeS)
	if len(rows) > 2 && top < 2/float64(len(rows)) {
		return fmt.Sprintf("the critical path goes through many clients alike: none has more than %s of it", percent(top)), ""
	}
	return fmt.Sprintf("%s is %s of the critical path", rows[0].Name, percent(top)), rows[0].Name
}

// remedy names the best change, if changes were ranked. client is the one that the sentence before is about.
func (r *Report) remedy(client string) string {
	if !r.ranked {
		return ""
	}
	text := ""
	if client != "" && r.twice >= leastGain {
		text = fmt.Sprintf("; twice as fast, it saves %s of the run", percent(r.twice))
	}
	if len(r.WhatIfs) > 0 {
		best := &r.WhatIfs[0]
		text += fmt.Sprintf("; the best change, %s, saves %s", best.Change, percent(best.GainShare))
	}
	if text == "" {
		text = "; no change is predicted to make the run faster"
	}
	return text
}

// lead says the verdict, and the best changes.
func (r *Report) lead(p *printer) {
	p.wrap(strong, r.Scenario+": ", "  ", r.Verdict+".")
	r.bestChanges(p)
	p.WriteString("\n")
}

// predictTwice predicts what the run saves if the client that the verdict is about is twice as fast.
func (r *Report) predictTwice(m *predict.Model) {
	_, client := r.culprit()
	if client == "" {
		return
	}
	if change, err := m.Parse(fmt.Sprintf("client(%s).speed=2", client)); err == nil { // otherwise its name cannot be written in a change
		if p, err := m.Quick(change); err == nil {
			r.twice = p.GainShare
		}
	}
}
