package report

import (
	"cmp"
	"slices"

	"metasim/analysis/trace"
)

// A BlameReport is how long one client waited for another. HeldBy is empty if the run was paced or paused, or was nested and waited for the run around it.
type BlameReport struct {
	Waiting  string  `json:"waiting"`
	HeldBy   string  `json:"held_by"`
	BlockedS float64 `json:"blocked_s"`
	// WaitingHost and HeldByHost are their hosts, where metasim has started them elsewhere.
	WaitingHost string `json:"waiting_host,omitempty"`
	HeldByHost  string `json:"held_by_host,omitempty"`
}

// Holder returns what a client waited for: another client, the pace of the run, or the run around it.
func (r *Report) Holder(b BlameReport) string { return cmp.Or(b.HeldBy, r.pace()) }

// pace is what a client waits for that waits for no other.
func (r *Report) pace() string {
	if r.Nested {
		return "the run around it"
	}
	return "the pace of the run"
}

// maxBlame is how many rows of Blame a Report has.
const maxBlame = 4096

// blame fills in which client waited for which, and returns for how long others waited for each client, in nanoseconds.
func (r *Report) blame(t *trace.Timeline) []int64 {
	held := make([]int64, len(t.Names))
	r.pairs = []BlameReport{}
	var rest int64
	for _, p := range t.Totals.Pairs {
		b := BlameReport{Waiting: t.Names[p.Waiting], BlockedS: trace.Seconds(p.Blocked)}
		if p.HeldBy != trace.NoClient {
			b.HeldBy = t.Names[p.HeldBy]
			held[p.HeldBy] += p.Blocked
		} else {
			r.PacedS += trace.Seconds(p.Blocked) / float64(len(t.Names))
		}
		if r.pairs = append(r.pairs, b); len(r.pairs) > maxBlame {
			rest += p.Blocked
		}
	}
	r.Blame = slices.Clone(r.pairs[:min(len(r.pairs), maxBlame)])
	r.BlameRestS = trace.Seconds(rest)
	return held
}

func (r *Report) blameTable(p *printer) {
	if len(r.Blame) == 0 {
		return
	}
	t := table{title: "Who waited for whom", more: len(r.Blame) - maxRows, columns: []column{
		{head: "waiting", word: true}, {head: "on", word: true, rank: 2, hidden: len(r.Hosts) == 0}, {head: "for", word: true},
		{head: "on", word: true, rank: 2, hidden: len(r.Hosts) == 0}, {head: "time"}, {head: "of the run", rank: 1},
	}}
	for _, p := range r.Blame[:min(len(r.Blame), maxRows)] {
		t.add(p.Waiting, p.WaitingHost, r.Holder(p), p.HeldByHost, Span(p.BlockedS), percent(trace.Ratio(p.BlockedS, r.WallS)))
	}
	if r.BlameResolutionS > 0 {
		t.note = "the chains of waiting clients are so long that they were looked up only every " + Span(r.BlameResolutionS)
	}
	t.write(p)
}
