package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"metasim/monitor"
)

// A style is an SGR sequence for a piece of text. It uses only the sixteen colours that the user of the terminal has chosen.
type style string

const (
	normal style = ""
	bold   style = "1"
	faint  style = "2"
	good   style = "32"
	slow   style = "33"
	bad    style = "1;31"
	bar    style = "7"
)

func (s style) of(text string) string {
	if s == normal || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

var states = map[string]style{
	"computing": good, "initializing": good, "waiting": slow, "absent": slow, "left": faint, "lost": bad,
	"running": good, "paused": slow, "pausing": slow, "joining": slow, "over": faint,
}

// headline says how far the run is and how fast. What has no room is left out from the end.
func headline(v *monitor.View, width int) []string {
	state := v.State
	if v.State == "over" && v.Error != "" {
		state = "failed"
	}
	name := ansi.Truncate("metasim "+v.Scenario, max(width-2-len(state), 8), "…") // the state is more important
	first := []string{bold.of(name), states[v.State].of(state), faint.of(mix(v))}
	end := ""
	if v.End != nil {
		end = " of " + at(*v.End)
	}
	second := []string{bold.of(at(v.Now)) + end, short(v.Factor) + " × real time", short(v.MessagesS) + " messages/s", short(v.GrantsS) + " grants/s"}
	lines := []string{row(first, 2, width), row(second, 3, width)}
	if v.End != nil && v.End.Seconds > 0 {
		lines = append(lines, progress(min(1, v.Now.Seconds/v.End.Seconds), width))
	}
	return append(lines, "")
}

// row puts parts side by side, as many as have room; the first in any case.
func row(parts []string, gap, width int) string {
	line := parts[0]
	for _, p := range parts[1:] {
		if ansi.StringWidth(line)+gap+ansi.StringWidth(p) > width {
			break
		}
		line += strings.Repeat(" ", gap) + p
	}
	return cut(line, width)
}

// mix says how many clients are in each state.
func mix(v *monitor.View) string {
	var parts []string
	for _, s := range []string{"computing", "initializing", "waiting", "absent", "left", "lost"} {
		if n := v.States[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// progress is a bar of the share of the run that is done.
func progress(share float64, width int) string {
	const number = 6 // " 100 %"
	if width < 4*number {
		return meter(share, width, good)
	}
	return meter(share, width-number, good) + fit(fmt.Sprintf("%.0f %%", 100*share), number, true)
}

// meter is a bar of a share.
func meter(share float64, width int, look style) string {
	full := max(0, min(width, int(math.Round(share*float64(width)))))
	return look.of(strings.Repeat("━", full)) + faint.of(strings.Repeat("━", width-full))
}

// explanation says why a client waits for the slowest, or what else the run waits for, wrapped.
func explanation(v *monitor.View, width int) []string {
	first := "No client holds the others up."
	switch {
	case v.Slowest != "":
		first = "Held up by: " + bad.of(v.Slowest)
	case len(v.Chain) > 0:
		first = "What the run waits for:"
	}
	lines := []string{cut(first, width)}
	for i, sentence := range v.Chain {
		look := normal
		if i == len(v.Chain)-1 {
			look = bold
		}
		for n, line := range wrap(sentence, max(width-4, 8)) {
			lines = append(lines, cut([]string{"  - ", "    "}[min(n, 1)]+look.of(line), width))
		}
	}
	return append(lines, "")
}

// wrap breaks a sentence into lines between words; a word that is too long for a line, within it.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && ansi.StringWidth(line)+1+ansi.StringWidth(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for ansi.StringWidth(line) > width {
			head := ansi.Truncate(line, width, "")
			lines, line = append(lines, head), line[len(head):]
		}
	}
	return append(lines, line)
}

// at writes simulated time to the millisecond, so that its width stays the same.
func at(i monitor.Instant) string {
	if i.Seconds > 9e9 {
		return "for ever"
	}
	return fmt.Sprintf("%.3f s", i.Seconds)
}

// since writes real time.
func since(s float64) string {
	switch {
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 600:
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.0f min", time.Duration(s*float64(time.Second)).Minutes())
}

// short writes a number with three digits, so that its width stays about the same: 0.47, 48.0, 1.33k.
func short(x float64) string {
	for _, unit := range []string{"", "k", "M", "G"} {
		switch {
		case x == 0:
			return "0"
		case x < 9.995:
			return fmt.Sprintf("%.2f%s", x, unit)
		case x < 99.95:
			return fmt.Sprintf("%.1f%s", x, unit)
		case x < 999.5:
			return fmt.Sprintf("%.0f%s", x, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.0fT", x)
}

// cut shortens a line to a width, and keeps its styles.
func cut(text string, width int) string { return ansi.Truncate(text, width, "") }

// fit cuts or pads a text to a number of cells.
func fit(text string, width int, right bool) string {
	text = ansi.Truncate(text, width, "…")
	padding := strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
	if right {
		return padding + text
	}
	return text + padding
}
