package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/metasim"
)

func (r *Report) clientTable(b *strings.Builder, width int) {
	rows := slices.Clone(r.Clients)
	slices.SortStableFunc(rows, func(x, y ClientReport) int { return cmp.Compare(y.HeldS+y.CriticalS, x.HeldS+x.CriticalS) })
	t := table{title: "Clients, those who cost most first", columns: []column{
		{head: "client", word: true},
		{head: "work"},
		{head: "busy", note: "its work / the run"},
		{head: "blocked", note: "it waited to be authorized"},
		{head: "no core", note: "it was to compute, and waited for a core", rank: 1},
		{head: "other", note: "transport, dispatcher, or not there", rank: 5},
		{head: "held", note: "how long others waited for it, summed up"},
		{head: "critical", note: "its share of the critical path in the run"},
		{head: "grants", rank: 2},
		{head: "reports/grant", rank: 4},
		{head: "released", note: "reports that let somebody go on", rank: 6},
		{head: "promised", note: "of the time in which it sent nothing", rank: 3},
		{head: "announced", note: "likewise, unless a message came", rank: 7},
		{head: "sends", rank: 8},
		{head: "cpu", note: "processor time", rank: 9},
	}}
	t.leaveOut("no core", r.CoreWaitS == 0)
	t.leaveOut("cpu", r.CPUS == 0)
	for _, c := range rows[:min(len(rows), shownRows)] {
		promised, announced := "-", "-"
		if c.Sends > 0 {
			promised, announced = percent(c.PromisedShare), percent(c.AnnouncedShare)
		}
		t.add(c.Name, span(c.WorkS), percent(c.Utilisation), span(c.BlockedS), span(c.CoreWaitS), span(c.OverheadS-c.CoreWaitS), span(c.HeldS),
			percent(c.CriticalShare), count(c.Grants), fmt.Sprintf("%.1f", c.ReportsPerGrant), count(c.Released), promised, announced, count(c.Sends),
			span(c.CPUS))
	}
	t.write(b, width)
	others(b, len(rows))
}

func (r *Report) blameTable(b *strings.Builder, width int) {
	if len(r.Blame) == 0 {
		return
	}
	t := table{title: "Who waited for whom", columns: []column{
		{head: "waiting", word: true}, {head: "for", word: true}, {head: "time"}, {head: "of the run"},
	}}
	for _, p := range r.Blame[:min(len(r.Blame), shownRows)] {
		by := p.HeldBy
		if by == "" {
			by = "(the pace of the run)"
		}
		t.add(p.Waiting, by, span(p.BlockedS), percent(ratio(p.BlockedS, r.WallS)))
	}
	if r.BlameResolutionS > 0 {
		t.note = "the chains are so long that they were looked up every " + span(r.BlameResolutionS) + " at most"
	}
	t.write(b, width)
	others(b, len(r.Blame))
}

func (r *Report) linkTable(b *strings.Builder, width int) {
	if len(r.Links) == 0 {
		return
	}
	t := table{title: "Links, those that cost most first", columns: []column{
		{head: "link", word: true},
		{head: "channel", word: true},
		{head: "delay", note: "the least that is declared, in simulated time"},
		{head: "seen", note: "the least that there was"},
		{head: "held", note: "how long somebody waited behind it"},
		{head: "ends half", note: "so much more delay would end half of that"},
		{head: "critical", note: "the work that the critical path has behind it", rank: 1},
		{head: "messages", rank: 2},
		{head: "reaction", note: "declared by the sender", rank: 4},
		{head: "reacted", note: "how soon after a message it sent, at the least", rank: 3},
		{head: "lost", rank: 5},
		{head: "bytes", rank: 6},
	}}
	for _, l := range r.Links[:min(len(r.Links), shownRows)] {
		t.add(l.From+" -> "+l.To, l.Channel, lookahead(l.DeclaredNS), seen(l.ObservedNS), span(l.HeldS), more(l.HalfNS), span(l.CriticalS),
			count(l.Messages), metasim.Time(l.DeclaredReactionNS).String(), seen(l.ReactionNS), count(l.Lost), size(float64(l.Bytes)))
	}
	t.write(b, width)
	others(b, len(r.Links))
}

func (r *Report) boundTable(b *strings.Builder, width int) {
	if len(r.Bounds) < 2 {
		return // of one client
	}
	t := table{title: "Cores", columns: []column{
		{head: "cores"},
		{head: "predicted", note: "what the run would take on so many"},
		{head: "loses", note: "by having no more"},
		{head: "at least", note: "what its work takes"},
		{head: "at most", note: "likewise, if no core idles while somebody could compute"},
		{word: true},
	}}
	best := r.Bounds[len(r.Bounds)-1].PlayedS
	t.leaveOut("predicted", best == 0)
	t.leaveOut("loses", best == 0)
	enough := false
	for i, bound := range r.Bounds {
		mark := ""
		if bound.Cores == min(r.Cores, len(r.Clients)) {
			mark = "as it was"
		}
		if enough && mark == "" && i < len(r.Bounds)-1 {
			continue // more are no better
		}
		enough = enough || best > 0 && bound.PlayedS < 1.005*best
		t.add(fmt.Sprint(bound.Cores), span(bound.PlayedS), percent(ratio(bound.PlayedS-best, best)), span(bound.LeastS), span(bound.MostS), mark)
	}
	t.write(b, width)
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
		t.add(p.Change, span(p.WallS), percent(p.GainShare), mark)
	}
	t.write(b, width)
	if changes {
		wrap(b, "* ", "  ", "this changes the model too: its messages arrive at other times, so its results may differ", width)
	}
}

func others(b *strings.Builder, rows int) {
	if rows > shownRows {
		fmt.Fprintf(b, "... and %d more: see --json\n", rows-shownRows)
	}
}
