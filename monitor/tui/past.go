package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"metasim/monitor"
)

// maxShown is how many clients of the past have a letter and a colour of their own.
const maxShown = 5

var pastStyles = [maxShown]style{"1;31", "33", "36", "35", "34"}

// past shows who held up the others in the last minutes. One line has a letter for each part of the time, the latest at the right: it
// stands for the client that was waited for most. The legend says how much of all waiting was for each client.
func past(v *monitor.View, width int) []string {
	parts := v.History[max(0, len(v.History)-width):]
	if len(parts) < 2 {
		return nil
	}
	sums := map[string]float64{}
	var names []string
	waited := 0.0
	for _, p := range parts {
		for _, h := range p.Holders {
			if _, known := sums[h.Name]; !known {
				names = append(names, h.Name)
			}
			sums[h.Name] += h.Blame * (p.ToS - p.FromS)
			waited += h.Blame * (p.ToS - p.FromS)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case sums[a] > sums[b]:
			return -1
		case sums[a] < sums[b]:
			return 1
		}
		return 0
	})
	total := parts[len(parts)-1].ToS - parts[0].FromS
	look := func(name string) (string, style) {
		if i := slices.Index(names[:min(len(names), maxShown)], name); i >= 0 {
			return string(rune('A' + i)), pastStyles[i]
		}
		return "o", faint
	}
	legend := []string{faint.of("Who held up the others, in the last " + since(total) + ":")}
	for _, name := range names[:min(len(names), maxShown)] {
		letter, s := look(name)
		legend = append(legend, fmt.Sprintf("%s %s %.0f %%", s.of(letter), name, 100*sums[name]/waited))
	}
	if len(names) > maxShown {
		legend = append(legend, faint.of("o others"))
	}
	if len(names) == 0 {
		legend = append(legend, "nobody")
	}
	var strip strings.Builder
	for _, p := range parts {
		if len(p.Holders) == 0 {
			strip.WriteString(faint.of("·"))
			continue
		}
		letter, s := look(p.Holders[0].Name)
		strip.WriteString(s.of(letter))
	}
	return []string{row(legend, 2, width), strings.Repeat(" ", width-ansi.StringWidth(ansi.Strip(strip.String()))) + strip.String(), ""}
}

// helpLines say what the keys do, and what the columns mean.
func helpLines(width int) []string {
	lines := []string{bold.of("Keys")}
	entry := func(key, text string) {
		const room = 16
		for i, line := range wrap(text, max(width-room-2, 8)) {
			lines = append(lines, cut("  "+bold.of(fit([]string{key, ""}[min(i, 1)], room-2, false))+line, width))
		}
	}
	entry("p or space", "pause, or resume")
	entry("s", "step: everything at the next time")
	entry("u", "go on until a time, and pause there")
	entry("/", "show the clients whose name or state has some words in it")
	entry("< and >", "sort by the column to the left or right; r turns the order round")
	entry("a", "show alike clients, as robot-0 and robot-1, as one row")
	entry("arrows, j, k", "select a row; page keys, g and G go further; return asks why it does not go on; escape lets go of it")
	entry("q", "end the run, after a question")
	lines = append(lines, "", bold.of("Columns"))
	entry("at", "its last activity that it has reported")
	entry("safe until", "every message that reaches it before this is known")
	entry("blocked", "share of the last three seconds in which it waited to be authorized")
	entry("holds up", "how many clients waited for it in the last three seconds, on average; for the root of their chain only")
	entry("held", "for how long clients have waited for it since the start, summed over them")
	entry("waits for", "the client whose message it may have to wait for … the root, which does not wait")
	return lines
}
