package analysis

import (
	"fmt"
	"io"
	"math"
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
	r.opening(&b, width)
	if r.WallS == 0 {
		wrap(&b, "", "", "There is nothing to tell: the run was over before all had joined.", width)
		_, err := io.WriteString(w, b.String())
		return err
	}
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

// opening says which run it was, and how much.
func (r *Report) opening(b *strings.Builder, width int) {
	say := func(format string, args ...any) { wrap(b, "", "", fmt.Sprintf(format, args...), width) }
	on := ""
	if r.Cores > 0 {
		on = " on " + plural(uint64(r.Cores), "core")
	}
	say("%s: %v of simulated time in %s%s", r.Scenario, metasim.Time(r.SimNS), span(r.WallS), on)
	talk := ""
	if r.Traffic != nil && r.Grants > 0 {
		talk = fmt.Sprintf(", with %s frames and %s each", factor(r.FramesPerGrant), size(r.BytesPerGrant))
	}
	say("%s of work in %s%s", span(r.WorkS), plural(r.Grants, "grant"), talk)
	switch {
	case r.Digest != "" && r.Deterministic:
		say("digest: %s", r.Digest)
	case r.Digest != "":
		say("deterministic: no, another time it may come out differently")
	}
	switch {
	case r.Error != "" && r.Digest == "":
		say("It has not ended, or was killed: what is told is of what it did before.")
	case r.Error != "":
		say("It failed: %s", r.Error)
	}
	if r.Torn != "" {
		say("Only the beginning is told: %s", r.Torn)
	}
	b.WriteString("\n")
}

// headline says in words what the four numbers of a run mean.
func (r *Report) headline(b *strings.Builder, width int) {
	item := func(number float64, unit, format string, args ...any) {
		wrap(b, fmt.Sprintf("%7s%s ", factor(number), unit), "         ", fmt.Sprintf(format, args...), width)
	}
	most := ""
	if r.Cores > 0 && r.Parallelism > 1.01*float64(r.Cores) {
		most = "; that is more than there are cores: some of it was waiting for one, or sleep"
	}
	item(r.Parallelism, " ", "parallelism: so many of %s computed at once, on average%s", plural(uint64(len(r.Clients)), "client"), most)
	item(ratio(r.WorkS, r.CriticalIdealS), " ", "possible: if messages alone made anybody wait, it would take %s", span(r.CriticalIdealS))
	const little = 1.005
	if r.LookaheadPrice < little {
		item(r.LookaheadPrice, "x", "for lookahead: delays and promises cost next to nothing")
	} else {
		item(r.LookaheadPrice, "x", "for lookahead: short delays and missing promises make it %s", span(r.CriticalConservativeS))
	}
	if r.CorePrice < little {
		item(r.CorePrice, "x", "for the machine: cores, transport and dispatcher cost next to nothing")
	} else {
		item(r.CorePrice, "x", "for the machine: %s make it %s", r.Machine(), span(r.WallS))
	}
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
	b.WriteString("\nParallelism over simulated time\n        from  clients     wall\n")
	for i := range bars {
		if spans[i] == 0 {
			continue // it was passed over
		}
		at := metasim.Time(float64(r.SimNS) * float64(i) / rows)
		bar := int(math.Round(bars[i] / most * float64(min(width, 120)-34)))
		line := fmt.Sprintf("%12s %8s %8s  %s", coarse(at), factor(bars[i]), span(spans[i]), strings.Repeat("#", bar))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func (r *Report) adviceList(b *strings.Builder, width int) {
	if len(r.Advice) == 0 {
		return
	}
	b.WriteString("\nAdvice\n")
	for _, a := range r.Advice {
		cost := ""
		if a.CostS > 0 {
			cost = " (" + span(a.CostS) + ")"
		}
		wrap(b, "- ", "  ", a.Text+cost, width)
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
func plural(n uint64, what string) string {
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
	return coarse(metasim.Time(ns))
}
