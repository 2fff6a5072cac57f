package report

import (
	"fmt"
	"slices"
	"strings"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// Paced reports whether the pace of the run, a pause, or the run around it took most of the wall-clock time. Then nothing else makes the run faster.
func (r *Report) Paced() bool { return r.PacedS >= 0.5*r.WallS && r.PacedS > 0 }

// machine says what lies between the conservative critical path and the wall-clock time.
func (r *Report) machine() string {
	const rest = "transport and dispatcher"
	switch {
	case r.Paced():
		return r.pace() + ", " + rest
	case r.CoreWaitS >= 0.01*r.WorkS && r.CoreWaitS > 0:
		return "waiting for one of " + plural(uint64(r.Cores), "core") + ", " + rest
	case r.Cores == 0:
		return "too few cores, " + rest
	case r.Cores >= len(r.Clients):
		return rest
	}
	return "only " + plural(uint64(r.Cores), "core") + ", " + rest
}

// A Figure is one of the four numbers of a run.
type Figure struct {
	Name   string
	Number float64
	Factor bool // Number is how many times longer the run takes; otherwise it is a number of clients
	Words  string
}

// Headline returns the four numbers of a run, with what they mean.
func (r *Report) Headline() []Figure {
	more := ""
	if r.Cores > 0 && r.Parallelism > 1.01*float64(r.Cores) {
		more = "; there are fewer cores: they waited for one, or slept"
	}
	all := []Figure{
		{"Parallelism", r.Parallelism, false, "of " + plural(uint64(len(r.Clients)), "client") + ", so many computed at once on average" + more},
		{"Possible", trace.Ratio(r.WorkS, r.CriticalIdealS), false, "if clients waited for messages alone, it would take " + Span(r.CriticalIdealS)},
		{"For lookahead", r.LookaheadPrice, true, "short delays and missing promises make it " + Span(r.CriticalConservativeS)},
		{"For the machine", r.CorePrice, true, r.machine() + " make it " + Span(r.WallS)},
	}
	const little = 1.005
	if r.LookaheadPrice < little {
		all[2].Words = "nobody waited except for messages"
	}
	if longer := r.longerDelays(); longer != nil {
		all[2].Words += fmt.Sprintf("; with longer delays: %s saves %s", longer.Change, percent(longer.GainShare))
	}
	if r.CorePrice < little {
		all[3].Words = "cores, transport and dispatcher cost almost nothing"
	}
	return all
}

func (r *Report) headline(p *printer) {
	for _, f := range r.Headline() {
		unit := " "
		if f.Factor {
			unit = "x"
		}
		p.wrap(strong, fmt.Sprintf("%7s%s ", Number(f.Number), unit), "         ", strings.ToLower(f.Name[:1])+f.Name[1:]+": "+f.Words)
	}
}

// Origin says when, where, by which version and with which seed the run was carried out, and what was typed, as far as that is known.
func (r *Report) Origin() string {
	var parts []string
	add := func(before, text string) {
		if text != "" {
			parts = append(parts, before+text)
		}
	}
	add("", strings.Replace(r.Started, "T", " ", 1))
	add("host ", r.Host)
	add("metasim ", r.Metasim)
	if len(parts) > 0 {
		add("seed ", fmt.Sprint(r.Seed))
	}
	add("", strings.Join(r.Command, " "))
	return strings.Join(parts, ", ")
}

// opening says which run it was, and how much it did.
func (r *Report) opening(p *printer) {
	on := ""
	if r.Cores > 0 {
		on = " on " + plural(uint64(r.Cores), "core")
	}
	p.say("%v of simulated time in %s%s", metasim.Time(r.SimNS), Span(r.WallS), on)
	if origin := r.Origin(); origin != "" {
		p.say("%s", origin)
	}
	traffic := ""
	if r.Traffic != nil && r.Grants > 0 {
		traffic = fmt.Sprintf(", with %s frames and %s each", Number(r.FramesPerGrant), size(r.BytesPerGrant))
	}
	p.say("%s of work in %s%s", Span(r.WorkS), plural(r.Grants, "grant"), traffic)
	switch {
	case r.Digest != "" && r.Deterministic:
		p.say("digest: %s", r.Digest)
	case r.Digest != "":
		p.say("deterministic: no, the next run may come out differently")
	}
	for _, c := range r.Cut {
		p.say("client %s was lost at %v, and the run went on without it", c.Client, metasim.Time(c.AtNS))
	}
	switch {
	case r.Error != "" && r.Digest == "":
		p.say("It has not ended, or was killed: this report covers what it did before.")
	case r.Error != "":
		p.say("It failed: %s", r.Error)
	}
	if r.Torn != "" {
		p.say("This report covers only the beginning of the run: %s", r.Torn)
	}
	p.WriteString("\n")
}

// longerDelays returns the best of the predictions that change the delay of links alone; nil: none helps.
func (r *Report) longerDelays() *predict.Prediction {
	for i := range r.WhatIfs {
		isDelay := func(change string) bool {
			return strings.HasPrefix(change, "link") && strings.Contains(change, ".delay=")
		}
		if p := &r.WhatIfs[i]; r.ranked && !slices.ContainsFunc(pieces(p.Change), func(c string) bool { return !isDelay(c) }) {
			return p
		}
	}
	return nil
}
