package analysis

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"metasim/metasim"
)

// shownRows is how many rows a table shows; the JSON has all.
const shownRows = 12

// WriteText prints the report for people, in lines of at most width characters as far as that can be: 80 at least.
func (r *Report) WriteText(w io.Writer, width int) error {
	width = max(width, 80)
	var b strings.Builder
	r.headline(&b, width)
	r.clientTable(&b, width)
	r.blameTable(&b, width)
	r.linkTable(&b, width)
	r.timeChart(&b, width)
	r.boundTable(&b, width)
	r.whatIfTable(&b, width)
	r.adviceList(&b, width)
	_, err := io.WriteString(w, b.String())
	return err
}

// headline says in words what the four numbers of a run mean.
func (r *Report) headline(b *strings.Builder, width int) {
	on := ""
	if r.Cores > 0 {
		on = " on " + plural(r.Cores, "core")
	}
	wrap(b, "", "", fmt.Sprintf("%s: %v of simulated time in %s%s, %s of work in %s grants", r.Scenario, metasim.Time(r.SimNS), span(r.WallS),
		on, span(r.WorkS), count(r.Grants)), width)
	if t := r.Traffic; t != nil {
		wrap(b, "", "", fmt.Sprintf("%s frames with %s went over connections, %s and %s for each grant", count(t.FramesIn+t.FramesOut),
			size(float64(t.BytesIn+t.BytesOut)), factor(r.FramesPerGrant), size(r.BytesPerGrant)), width)
	}
	switch {
	case r.Digest != "" && r.Deterministic:
		fmt.Fprintf(b, "digest: %s\n", r.Digest)
	case r.Digest != "":
		wrap(b, "", "", "deterministic: no; another time it may come out differently", width)
	}
	if r.Error != "" {
		wrap(b, "", "", "What is told is of a run that is not whole: "+r.Error, width)
	}
	if r.Torn != "" {
		wrap(b, "", "", "Only the beginning is told: "+r.Torn, width)
	}
	b.WriteString("\n")
	n := len(r.Clients)
	item := func(number float64, unit, format string, args ...any) {
		wrap(b, fmt.Sprintf("%7s%s ", factor(number), unit), "         ", fmt.Sprintf(format, args...), width)
	}
	more := ""
	if r.Cores > 0 && r.Parallelism > 1.01*float64(r.Cores) {
		more = "; that is more than there are cores: some of it was waiting for one, or sleep"
	}
	item(r.Parallelism, " ", "parallelism: so many of %s computed at once, on average%s", plural(n, "client"), more)
	item(ratio(r.WorkS, r.CriticalIdealS), " ", "possible: what follows from messages alone takes %s", span(r.CriticalIdealS))
	item(r.LookaheadPrice, "x", "for lookahead: short delays and missing promises make that %s", span(r.CriticalConservativeS))
	item(r.CorePrice, "x", "for the machine: %s make that %s", r.Machine(), span(r.WallS))
}

func (r *Report) clientTable(b *strings.Builder, width int) {
	rows := slices.Clone(r.Clients)
	slices.SortStableFunc(rows, func(x, y ClientReport) int { return cmp.Compare(y.HeldS+y.CriticalS, x.HeldS+x.CriticalS) })
	t := table{columns: []column{
		{"client", true, 0}, {"work", false, 0}, {"busy", false, 0}, {"blocked", false, 0}, {"no core", false, 1}, {"other", false, 5},
		{"held", false, 0}, {"critical", false, 0}, {"grants", false, 2}, {"reports/grant", false, 4}, {"released", false, 6},
		{"promised", false, 3}, {"announced", false, 7}, {"sends", false, 8}, {"cpu", false, 9},
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
	noCore := ""
	if r.CoreWaitS > 0 {
		noCore = "; no core: how long it was to compute, and waited for one"
	}
	r.section(b, "Clients", "those who cost most first; held: how long others waited for it; critical: its share of the critical path in the run"+noCore, width)
	t.write(b, width)
	others(b, len(rows))
}

func (r *Report) blameTable(b *strings.Builder, width int) {
	if len(r.Blame) == 0 {
		return
	}
	t := table{columns: []column{{"waiting", true, 0}, {"for", true, 0}, {"time", false, 0}, {"of the run", false, 0}}}
	for _, p := range r.Blame[:min(len(r.Blame), shownRows)] {
		by := p.HeldBy
		if by == "" {
			by = "(the pace of the run)"
		}
		t.add(p.Waiting, by, span(p.BlockedS), percent(ratio(p.BlockedS, r.WallS)))
	}
	note := ""
	if r.BlameResolutionS > 0 {
		note = "the chains are so long that they were looked up every " + span(r.BlameResolutionS) + " at most"
	}
	r.section(b, "Who waited for whom", note, width)
	t.write(b, width)
	others(b, len(r.Blame))
}

func (r *Report) linkTable(b *strings.Builder, width int) {
	if len(r.Links) == 0 {
		return
	}
	t := table{columns: []column{
		{"link", true, 0}, {"channel", true, 0}, {"delay", false, 0}, {"seen", false, 0}, {"held", false, 0}, {"ends half", false, 0},
		{"critical", false, 1}, {"messages", false, 2}, {"reaction", false, 4}, {"reacted", false, 3}, {"lost", false, 5}, {"bytes", false, 6},
	}}
	for _, l := range r.Links[:min(len(r.Links), shownRows)] {
		t.add(l.From+" -> "+l.To, l.Channel, lookahead(l.DeclaredNS), seen(l.ObservedNS), span(l.HeldS), more(l.HalfNS), span(l.CriticalS),
			count(l.Messages), metasim.Time(l.DeclaredReactionNS).String(), seen(l.ReactionNS), count(l.Lost), size(float64(l.Bytes)))
	}
	r.section(b, "Links", "delay: the least that is declared, and the least that was seen, in simulated time; held: how long "+
		"somebody waited behind it, and ends half: so much more delay would end half of that; critical: the work of the critical path that "+
		"came over it; reacted: how soon its sender sent after a message", width)
	t.write(b, width)
	others(b, len(r.Links))
}

// timeChart draws how many clients computed at once, over simulated time.
func (r *Report) timeChart(b *strings.Builder, width int) {
	if len(r.Profile) < 2 || r.SimNS <= 0 {
		return
	}
	const rows = 10
	bars := make([]float64, rows) // client-seconds
	spans := make([]float64, rows)
	begin := 0.0
	for _, p := range r.Profile {
		row := min(rows-1, int(float64(p.EndNS)/float64(r.SimNS)*rows))
		bars[row] += p.Computing * (p.EndS - begin)
		spans[row] += p.EndS - begin
		begin = p.EndS
	}
	most := 1.0
	for i := range bars {
		bars[i] = ratio(bars[i], spans[i])
		most = max(most, bars[i])
	}
	r.section(b, "Parallelism over simulated time", "", width)
	for i := range bars {
		at := metasim.Time(float64(r.SimNS) * float64(i) / rows)
		bar := int(math.Round(bars[i] / most * float64(min(width, 120)-32)))
		line := fmt.Sprintf("%12s %6s %8s  %s", coarse(at), factor(bars[i]), span(spans[i]), strings.Repeat("#", bar))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func (r *Report) boundTable(b *strings.Builder, width int) {
	t := table{columns: []column{
		{"cores", false, 0}, {"predicted", false, 0}, {"loses", false, 0}, {"at least", false, 0}, {"at most", false, 0}, {"", true, 0},
	}}
	best := r.Bounds[len(r.Bounds)-1].PlayedS
	t.leaveOut("predicted", best == 0)
	t.leaveOut("loses", best == 0)
	for _, bound := range r.Bounds {
		mark := ""
		if bound.Cores == min(r.Cores, len(r.Clients)) {
			mark = "as it was"
		}
		t.add(fmt.Sprint(bound.Cores), span(bound.PlayedS), percent(ratio(bound.PlayedS-best, best)), span(bound.LeastS), span(bound.MostS), mark)
	}
	r.section(b, "Cores", "what the run takes on so many, as predicted, and what it loses by that; at least and at most without transport, for sure", width)
	t.write(b, width)
}

func (r *Report) whatIfTable(b *strings.Builder, width int) {
	if len(r.WhatIfs) == 0 {
		return
	}
	t := table{columns: []column{{"change", true, 0}, {"run", false, 0}, {"saves", false, 0}, {"", true, 0}}}
	changes := false
	for _, p := range r.WhatIfs {
		mark := ""
		if p.ChangesModel {
			mark, changes = "*", true
		}
		t.add(p.Change, span(p.WallS), percent(p.GainShare), mark)
	}
	r.section(b, "What if", "", width)
	t.write(b, width)
	if changes {
		wrap(b, "* ", "  ", "this changes the model too: its messages arrive at other times, so its results may differ", width)
	}
}

func (r *Report) adviceList(b *strings.Builder, width int) {
	if len(r.Advice) == 0 {
		return
	}
	r.section(b, "Advice", "", width)
	for _, a := range r.Advice {
		cost := ""
		if a.CostS > 0 {
			cost = " (" + span(a.CostS) + ")"
		}
		wrap(b, "- ", "  ", a.Text+cost, width)
	}
}

func (r *Report) section(b *strings.Builder, title, note string, width int) {
	b.WriteString("\n")
	if note != "" {
		title += " (" + note + ")"
	}
	wrap(b, "", "  ", title, width)
}

func others(b *strings.Builder, rows int) {
	if rows > shownRows {
		fmt.Fprintf(b, "... and %d more: see --json\n", rows-shownRows)
	}
}

// span writes a wall-clock time with three digits that matter.
func span(s float64) string {
	d := time.Duration(math.Round(s * 1e9))
	switch abs := d.Abs(); {
	case abs >= time.Minute:
		return d.Round(time.Second).String()
	case abs >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case abs >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d == 0:
		return "-"
	}
	return strings.Replace(d.Round(100*time.Nanosecond).String(), "\u00b5", "u", 1)
}

// coarse writes a simulated time in few digits.
func coarse(t metasim.Time) string {
	step := metasim.Time(1)
	for t/step >= 10_000 {
		step *= 10
	}
	return (t / step * step).String()
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// factor writes a number with three digits that matter.
func factor(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

func count(n uint64) string { return fmt.Sprint(n) }

// plural counts things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// size writes an amount of bytes with three digits that matter.
func size(bytes float64) string {
	for _, unit := range []struct {
		bytes float64
		name  string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if bytes >= unit.bytes {
			return factor(bytes/unit.bytes) + " " + unit.name
		}
	}
	return fmt.Sprintf("%.0f B", bytes)
}

func lookahead(ns int64) string {
	if ns == 0 {
		return "one step"
	}
	return metasim.Time(ns).String()
}

// more writes by how much longer a delay had to be.
func more(ns int64) string {
	if ns < 0 {
		return "-"
	}
	step := int64(1)
	for ns/step >= 1000 {
		step *= 10
	}
	return "+" + metasim.Time((ns+step-1)/step*step).String()
}

func seen(ns int64) string {
	if ns < 0 {
		return "-"
	}
	return metasim.Time(ns).String()
}
