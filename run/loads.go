package run

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/delay"
	"metasim/metasim"
)

// loads are the delays of a run, which remember the links with a bandwidth.
type loads struct {
	*delay.Table
	lines []line
}

// A line is a link with a bandwidth.
type line struct {
	delay.Line
	from, to, channel string
}

// Link implements metasim.Delays.
func (l *loads) Link(from, to, channel string) metasim.Link {
	link := l.Table.Link(from, to, channel)
	if has, ok := link.(delay.Line); ok && has.Load().Bandwidth > 0 {
		l.lines = append(l.lines, line{has, from, to, channel})
	}
	return link
}

// saturated names the lines that got more than they can carry, in a run that came to an end, the worst first.
func (l *loads) saturated(end metasim.Time) []Warning {
	type found struct {
		share float64
		Warning
	}
	var all []found
	for i := range l.lines {
		line := &l.lines[i]
		load := line.Load()
		share, lasts := load.Share()
		if lasts < end/leastPart || share <= 1 {
			continue
		}
		offered := share * float64(load.Bandwidth)
		text := fmt.Sprintf("the link %s -> %s on %s is saturated: %s a second on a line for %s, a load of %.0f %%", line.from, line.to, name(line.channel),
			bits(offered), bits(float64(load.Bandwidth)), 100*share)
		if behind := load.Free - end; behind > 0 {
			text += fmt.Sprintf("; at %v the line is %v behind, with about %.0f messages", end, behind, float64(behind)/float64(load.Busy)*float64(load.Messages))
		}
		all = append(all, found{share, Warning{saturatedLink, text + "; send less on it, or give it more bandwidth"}})
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.share, a.share) })
	var warnings []Warning
	for _, f := range all {
		warnings = append(warnings, f.Warning)
	}
	return warnings
}

// A link is looked at only if messages were sent on it during at least 1/leastPart of the run: a short burst is no saturation.
const leastPart = 10

// bits writes a number of bits as scenarios do.
func bits(n float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}} {
		if n >= unit.size {
			return fmt.Sprintf("%.3g%s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0fbit", n)
}
