package report

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// A LinkReport is what a run was for one link.
type LinkReport struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Channel  string `json:"channel"`
	Messages uint64 `json:"messages"`
	Lost     uint64 `json:"lost"`
	Bytes    uint64 `json:"bytes"` // of payloads
	// BytesPerS is how many of them came in a second of wall-clock time; 0 where the run took none.
	BytesPerS float64 `json:"bytes_per_s"`
	// DeclaredNS is the lookahead of the link: 0 is one step. ObservedNS is the least delay of any message, -1 if there was
	// none. A link whose messages always take longer than its lookahead could declare more.
	DeclaredNS int64 `json:"declared_delay_sim_ns"`
	ObservedNS int64 `json:"observed_delay_sim_ns"`
	// ReactionNS is the least time from a message that the sender handled to a send on the channel; -1 if it handled none.
	// DeclaredReactionNS is what the sender declared.
	ReactionNS         int64 `json:"observed_reaction_sim_ns"`
	DeclaredReactionNS int64 `json:"declared_reaction_sim_ns"`
	// HeldS is how long clients waited with this link on the path to the client that they waited for.
	HeldS float64 `json:"held_s"`
	// Critical is how often the critical path goes over the link. CriticalS is the work on the path from there to the next link.
	Critical  uint64  `json:"critical_count"`
	CriticalS float64 `json:"critical_s"`
	// MoreDelay says how much of HeldS would end if the delay were longer, for several lengths, the least first. HalfNS is the least
	// increase that ends half of HeldS; -1: none does. The gain is smaller if another link holds the same clients.
	MoreDelay []DelayReport `json:"more_delay,omitempty"`
	HalfNS    int64         `json:"more_delay_for_half_sim_ns"`
}

// A DelayReport says how much waiting behind a link would end if its delay were longer by MoreNS.
type DelayReport struct {
	MoreNS int64   `json:"more_sim_ns"`
	EndsS  float64 `json:"ends_s"`
}

func (r *Report) links(t *trace.Timeline) {
	r.Links = []LinkReport{}
	for i := range t.Totals.Links {
		l := &t.Totals.Links[i]
		row := LinkReport{
			From: t.Names[l.From], To: t.Names[l.To], Channel: t.Channels[l.Channel],
			Messages: l.Messages, Lost: l.Lost, Bytes: l.Bytes, BytesPerS: trace.Ratio(float64(l.Bytes), r.WallS), DeclaredNS: int64(l.Declared), ObservedNS: -1, ReactionNS: int64(l.Reaction),
			DeclaredReactionNS: int64(t.Totals.Clients[l.From].Reaction),
			HeldS:              trace.Seconds(l.Held), Critical: l.Critical.Entered, CriticalS: trace.Seconds(l.Critical.Work),
		}
		row.MoreDelay, row.HalfNS = curve(l.Short, l.Held)
		if l.Least != metasim.Forever {
			row.ObservedNS = int64(l.Least)
		}
		r.Links = append(r.Links, row)
	}
}

// curve reduces what clients waited behind a link to a few points: the delay increases that end a tenth, a quarter, a half, three
// quarters, nine tenths and all of what a longer delay can end. half is the increase that ends half of held, in simulated nanoseconds.
func curve(short []trace.ShortWait, held int64) (points []DelayReport, half int64) {
	all := int64(0)
	for _, w := range short {
		all += w.Took
	}
	half = -1
	marks := []float64{0.1, 0.25, 0.5, 0.75, 0.9, 1}
	ended := int64(0)
	for _, w := range short {
		ended += w.Took
		if half < 0 && 2*ended >= held {
			half = int64(w.More)
		}
		passed := false
		for len(marks) > 0 && float64(ended) >= marks[0]*float64(all) {
			passed, marks = true, marks[1:]
		}
		if passed {
			points = append(points, DelayReport{int64(w.More), trace.Seconds(ended)})
		}
	}
	return points, half
}

// LinksByCost returns the links, those that the critical path goes over with the most work behind them first, and then those that clients
// waited behind longest.
func (r *Report) LinksByCost() []LinkReport {
	rows := slices.Clone(r.Links)
	slices.SortStableFunc(rows, func(x, y LinkReport) int {
		return cmp.Or(cmp.Compare(y.CriticalS, x.CriticalS), cmp.Compare(y.HeldS, x.HeldS))
	})
	return rows
}

func (r *Report) linkTable(p *printer) {
	if len(r.Links) == 0 {
		return
	}
	t := table{title: "Links, the most critical first", more: len(r.Links) - maxRows, columns: []column{
		{head: "link", word: true},
		{head: "channel", word: true, rank: 3},
		{head: "delay", note: "the least declared, in simulated time", rank: 1},
		{head: "seen", note: "the least of any message", rank: 6},
		{head: "held", note: "how long clients waited behind the link", rank: 2},
		{head: "ends half", note: "so much more delay would end half of that", rank: 5},
		{head: "critical", note: "work that follows it on the critical path", rank: 4, tone: bad},
		{head: "messages", rank: 7},
		{head: "rate", note: "payload bytes in a second of wall-clock time", rank: 8},
		{head: "reaction", note: "declared by the sender", rank: 10},
		{head: "reacted", note: "the least time from a message to a send", rank: 9},
		{head: "lost", rank: 11},
		{head: "bytes", rank: 12},
	}}
	for _, l := range r.LinksByCost()[:min(len(r.Links), maxRows)] {
		t.addSlight(l.CriticalS < leastCritical*r.WallS, l.From+" -> "+l.To, l.Channel, lookahead(l.DeclaredNS), observed(l.ObservedNS), Span(l.HeldS), increase(l.HalfNS), Span(l.CriticalS),
			fmt.Sprint(l.Messages), size(l.BytesPerS)+"/s", metasim.Time(l.DeclaredReactionNS).String(), observed(l.ReactionNS), fmt.Sprint(l.Lost), size(float64(l.Bytes)))
	}
	t.write(p)
}
