package report

import (
	"fmt"
	"strings"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// Paced reports whether the pace of the run, or a pause, took most of the wall-clock time. Then nothing else makes the run faster.
func (r *Report) Paced() bool { return r.PacedS >= 0.5*r.WallS && r.PacedS > 0 }

// machine says what lies between the conservative critical path and the wall-clock time.
func (r *Report) machine() string {
	const rest = "transport and dispatcher"
	switch {
	case r.Paced():
		return "the pace of the run, " + rest
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
		all[2].Words = "delays and promises cost almost nothing"
	}
	if r.CorePrice < little {
		all[3].Words = "cores, transport and dispatcher cost almost nothing"
	}
	return all
}

func (r *Report) headline(b *strings.Builder, width int) {
	for _, f := range r.Headline() {
		unit := " "
		if f.Factor {
			unit = "x"
		}
		wrap(b, fmt.Sprintf("%7s%s ", Number(f.Number), unit), "         ", strings.ToLower(f.Name[:1])+f.Name[1:]+": "+f.Words, width)
	}
}

// opening says which run it was, and how much it did.
func (r *Report) opening(b *strings.Builder, width int) {
	say := func(format string, args ...any) { wrap(b, "", "", fmt.Sprintf(format, args...), width) }
	on := ""
	if r.Cores > 0 {
		on = " on " + plural(uint64(r.Cores), "core")
	}
	say("%s: %v of simulated time in %s%s", r.Scenario, metasim.Time(r.SimNS), Span(r.WallS), on)
	traffic := ""
	if r.Traffic != nil && r.Grants > 0 {
		traffic = fmt.Sprintf(", with %s frames and %s each", Number(r.FramesPerGrant), size(r.BytesPerGrant))
	}
	say("%s of work in %s%s", Span(r.WorkS), plural(r.Grants, "grant"), traffic)
	switch {
	case r.Digest != "" && r.Deterministic:
		say("digest: %s", r.Digest)
	case r.Digest != "":
		say("deterministic: no, the next run may come out differently")
	}
	switch {
	case r.Error != "" && r.Digest == "":
		say("It has not ended, or was killed: this report covers what it did before.")
	case r.Error != "":
		say("It failed: %s", r.Error)
	}
	if r.Torn != "" {
		say("This report covers only the beginning of the run: %s", r.Torn)
	}
	b.WriteString("\n")
}
