package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
)

// verdict says in one sentence what made the run as long as it was, and which change would help most. verdict_test.go lists situations with
// their sentences.
func (r *Report) verdict() string {
	switch {
	case r.WallS == 0:
		return "the run ended before all clients had joined"
	case r.Paced() && r.Nested:
		return fmt.Sprintf("the run around this one took %s of it; see the report of that run, which says whom it waited for", percent(trace.Ratio(r.PacedS, r.WallS)))
	case r.Paced():
		return fmt.Sprintf("the pace of the run, or a pause, took %s of it, so nothing else makes it faster", percent(trace.Ratio(r.PacedS, r.WallS)))
	case r.CriticalConservativeS == 0:
		return "no client computed anything that can be measured: the run is transport and dispatcher"
	}
	c := r.culprit()
	text := c.sentence + r.remedy(c)
	if r.Error != "" || r.Torn != "" {
		return "as far as the run came, " + text
	}
	return text
}

// A culprit is what took the largest part of a run.
type culprit struct {
	sentence string
	kind     culpritKind
	clients  []string // that most of the path is, of computing; none: it is of many
}

type culpritKind uint8

const (
	computing culpritKind = iota // of clients, on the critical path
	waiting                      // for one another
	noCore
	communication
)

// culprit finds the largest of three: what clients compute, what they wait for one another, and the machine.
func (r *Report) culprit() culprit {
	compute, protocol := r.CriticalIdealS, r.CriticalConservativeS-r.CriticalIdealS
	machine := r.WallS - r.CriticalConservativeS
	share := func(s float64) string { return percent(trace.Ratio(s, r.WallS)) }
	switch {
	case machine > max(compute, protocol):
		return r.machineSentence(machine)
	case protocol > compute:
		return culprit{fmt.Sprintf("clients wait for one another for %s of the run, because of short delays or missing promises", share(protocol)), waiting, nil}
	}
	return r.whoComputes()
}

// machineSentence names the part of the machine that is most of it, or else its parts.
func (r *Report) machineSentence(machine float64) culprit {
	share := func(s float64) string { return percent(trace.Ratio(s, r.WallS)) }
	parts := r.machineParts()
	slices.SortStableFunc(parts, func(a, b machinePart) int { return cmp.Compare(b.took, a.took) })
	what, took := parts[0].name, parts[0].took
	if took < mostOfPath*machine {
		var names []string
		for _, p := range parts {
			if p.took >= 0.1*machine {
				names = append(names, fmt.Sprintf("%s (%s)", p.name, share(p.took)))
			}
		}
		what, took = "the machine, "+listed(names), machine
	}
	kind := communication
	if parts[0].name == waitingForACore {
		kind = noCore
	}
	return culprit{fmt.Sprintf("%s of the run is %s, and %s what clients compute on the critical path", share(took), what, share(r.CriticalConservativeS)), kind, nil}
}

// Who is named: the fewest clients that are most of the critical path. A client leads it if it alone is most of it.
const (
	mostOfPath = 0.8
	leads      = 0.6
	maxNamed   = 3
)

// whoComputes names those who make up most of the critical path, if they are few.
func (r *Report) whoComputes() culprit {
	rows := r.ByCost()
	part := func(i int) float64 { return trace.Ratio(rows[i].CriticalS, r.CriticalConservativeS) }
	if len(rows) == 1 {
		return culprit{fmt.Sprintf("%s is the only client, and computes for %s of the run", rows[0].Name, percent(rows[0].CriticalShare)), computing, []string{rows[0].Name}}
	}
	if part(0) >= leads {
		return culprit{fmt.Sprintf("%s is %s of the critical path", rows[0].Name, percent(part(0))), computing, []string{rows[0].Name}}
	}
	var names, shares []string
	for i, sum := 0, 0.0; i < len(rows) && i < maxNamed && sum < mostOfPath; i++ {
		sum += part(i)
		names, shares = append(names, rows[i].Name), append(shares, fmt.Sprintf("%s (%s)", rows[i].Name, percent(part(i))))
		if sum >= mostOfPath {
			return culprit{"most of the critical path is " + listed(shares), computing, names}
		}
	}
	return culprit{fmt.Sprintf("the critical path goes through many clients: none of the %d has more than %s of it", len(rows), percent(part(0))), computing, nil}
}

// remedy says what would help, if changes were predicted.
func (r *Report) remedy(c culprit) string {
	if r.Unpredicted != "" {
		return "; nothing is predicted of it"
	}
	if !r.ranked {
		return ""
	}
	text := ""
	if len(c.clients) > 0 {
		text = r.ifTwice(c.clients)
	}
	best := r.bestFor(c)
	switch {
	case best == nil && text == "":
		return r.nothingHelps()
	case best == nil:
		return text
	}
	besides := ""
	if text != "" {
		besides = " besides"
	}
	if all := pieces(best.Change); len(all) > 1 {
		return fmt.Sprintf("%s; the best changes%s, %s, save %s", text, besides, listed(all), percent(best.GainShare))
	}
	return fmt.Sprintf("%s; the best change%s, %s, saves %s", text, besides, best.Change, percent(best.GainShare))
}

// nothingHelps says that no change does the same work faster, and how much one would have to save to be told from the error of a prediction.
func (r *Report) nothingHelps() string {
	const much = 0.05
	if r.Played != nil && r.Played.Least >= much {
		return fmt.Sprintf("; no change that was tried saves more than a prediction may be off here, %s", percent(r.Played.Least))
	}
	return "; no change that was tried does the same work faster"
}

// ifTwice says what the run saves if one of the clients with most of the path is twice as fast: the one with which it saves most.
func (r *Report) ifTwice(clients []string) string {
	alone := len(clients) == 1
	switch {
	case r.twice < leastGain && alone:
		return "; others are nearly as slow, so if it is twice as fast, that saves nothing"
	case r.twice < leastGain:
		return "; if one of them alone is twice as fast, that saves nothing"
	case alone:
		return fmt.Sprintf("; twice as fast, it saves %s of the run", percent(r.twice))
	}
	return fmt.Sprintf("; %s, twice as fast, saves %s of the run", r.twiceBy, percent(r.twice))
}

// bestFor returns the best change that answers a culprit: more cores answer a wait for one, and are no answer to a client that computes for
// long, unless they save twice as much as all else. Less work answers nothing: a longer period is listed, and not named.
func (r *Report) bestFor(c culprit) *predict.Prediction {
	var cores, other *predict.Prediction
	for i := range r.WhatIfs {
		p := &r.WhatIfs[i]
		switch {
		case strings.Contains(p.Change, ").period="):
		case strings.Contains(p.Change, "cores="):
			if cores == nil {
				cores = p
			}
		case other == nil:
			other = p
		}
	}
	switch {
	case other == nil && (c.kind == noCore || len(c.clients) == 0):
		return cores
	case other == nil, cores == nil:
		return other
	case c.kind == noCore && cores.GainShare >= other.GainShare, cores.GainShare >= 2*other.GainShare:
		return cores
	}
	return other
}

// lead says the verdict, and the best changes.
func (r *Report) lead(p *printer) {
	p.wrap(strong, r.Scenario+": ", "  ", r.Verdict+".")
	r.bestChanges(p)
	p.WriteString("\n")
}

// predictTwice predicts what the run saves if one of the clients that the verdict names is twice as fast, and keeps the best.
func (r *Report) predictTwice(m *predict.Model) {
	for _, client := range r.culprit().clients {
		change, err := m.Parse(fmt.Sprintf("client(%s).speed=2", client))
		if err != nil {
			continue // its name cannot be written in a change
		}
		if p, err := m.Quick(change); err == nil && p.GainShare > r.twice {
			r.twice, r.twiceBy = p.GainShare, client
		}
	}
}
