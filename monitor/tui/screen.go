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

	underlined style = "1;4"
)

func (s style) of(text string) string {
	if s == normal || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

var states = map[string]style{
	"computing": good, "initializing": good, "waiting": slow, "absent": slow, "nested": faint, "left": faint, "lost": bad,
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
	second := []string{bold.of(at(v.Now)) + end}
	if v.EtaS != nil && v.State != "over" {
		second = append(second, since(*v.EtaS)+" to go")
	}
	second = append(second, since(v.WallS)+" so far", short(v.Factor)+" × real time", short(v.MessagesS)+" messages/s", short(v.GrantsS)+" grants/s")
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
	for _, s := range []string{"computing", "initializing", "waiting", "absent", "nested", "left", "lost"} {
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
	return append(append([]string{cut(first, width)}, sentences(v.Chain, width)...), "")
}

// sentences writes a chain as a list.
func sentences(chain []string, width int) (lines []string) {
	for i, sentence := range chain {
		look := normal
		if i == len(chain)-1 {
			look = bold
		}
		for n, line := range wrap(sentence, max(width-4, 8)) {
			lines = append(lines, cut([]string{"  - ", "    "}[min(n, 1)]+look.of(line), width))
		}
	}
	return lines
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

// A column is one of the table. A narrow terminal shows only the important ones.
type column struct {
	key   string // as Rows.Sort; empty: rows cannot be sorted by it
	title string
	width int // 0: the rest of the line
	right bool
	least int // width of a terminal that shows it
	cell  func(c *monitor.Client) (string, style)
}

const (
	narrow = 14 // width of the names on a small terminal
	usual  = 18 // width of the names on another one
	meters = 130
)

// columns returns the columns of a terminal with a width.
func columns(v *monitor.View, width int) []column {
	text := func(value func(c *monitor.Client) string) func(c *monitor.Client) (string, style) {
		return func(c *monitor.Client) (string, style) { return value(c), normal }
	}
	blame := func(c *monitor.Client, otherwise style) style {
		if c.Name == v.Slowest {
			return bad
		}
		return otherwise
	}
	all := []column{
		{key: "client", title: "client", width: nameWidth(v, width), cell: func(c *monitor.Client) (string, style) { return groupName(c), blame(c, bold) }},
		{key: "does", title: "does", width: 12, cell: func(c *monitor.Client) (string, style) { return c.State, states[c.State] }},
		{title: "for", width: 7, right: true, least: 110, cell: text(func(c *monitor.Client) string {
			if c.SinceS < 1 { // of a client that acts all the time it says nothing
				return ""
			}
			return since(c.SinceS)
		})},
		{key: "at", title: "at", width: 12, right: true, least: narrow + 26, cell: text(func(c *monitor.Client) string { return at(c.At) })},
		{key: "safe", title: "safe until", width: 12, right: true, least: 94, cell: text(func(c *monitor.Client) string { return at(c.Safe) })},
		{key: "queue", title: "queue", width: 6, right: true, least: 124, cell: text(func(c *monitor.Client) string { return fmt.Sprint(c.Queued) })},
		{key: "rate", title: "messages/s", width: 10, right: true, least: 105, cell: text(func(c *monitor.Client) string { return short(c.MessagesS) })},
		{key: "factor", title: "× real time", width: 11, right: true, least: 140, cell: text(func(c *monitor.Client) string { return short(c.Factor) })},
		{key: "blocked", title: "blocked", width: 7, right: true, least: 54, cell: text(func(c *monitor.Client) string { return fmt.Sprintf("%.0f %%", 100*c.Blocked) })},
		{width: 10, least: meters, cell: text(func(c *monitor.Client) string { return meter(c.Blocked, 10, slow) })},
		{key: "holds", title: "holds up", width: 8, right: true, least: 64, cell: func(c *monitor.Client) (string, style) {
			if c.Blame < 0.05 {
				return "", normal
			}
			return fmt.Sprintf("%.1f", c.Blame), blame(c, normal)
		}},
		{key: "held", title: "held", width: 8, right: true, least: 150, cell: text(func(c *monitor.Client) string {
			if c.HeldS < 0.05 {
				return ""
			}
			return since(c.HeldS)
		})},
		{title: "busy", width: 8, right: true, least: 165, cell: text(func(c *monitor.Client) string { return since(c.BusyS) })},
		{title: "sent", width: 7, right: true, least: 178, cell: text(func(c *monitor.Client) string { return short(float64(c.Sent)) })},
		{title: "process", width: 8, right: true, least: 190, cell: text(func(c *monitor.Client) string {
			if c.PID == 0 {
				return ""
			}
			return fmt.Sprint(c.PID)
		})},
		{key: "waits", title: "waits for", least: 74, cell: text(waits)},
	}
	var shown []column
	rest := width
	for _, c := range all {
		if width >= c.least {
			shown = append(shown, c)
			rest -= c.width + gap
		}
	}
	if last := &shown[len(shown)-1]; last.width == 0 {
		last.width = max(0, rest+gap)
	}
	return shown
}

// groupName is the name of a client, or of a group and how many it has.
func groupName(c *monitor.Client) string {
	if c.Count > 0 {
		return fmt.Sprintf("%s × %d", c.Name, c.Count)
	}
	return c.Name
}

// gap is the space between two columns.
const gap = 2

// nameWidth is the width of the longest name, if the terminal has it.
func nameWidth(v *monitor.View, width int) int {
	if width < 54 {
		return narrow
	}
	longest := usual
	for i := range v.Clients {
		longest = max(longest, ansi.StringWidth(groupName(&v.Clients[i])))
	}
	return min(longest, usual+max(0, width-90)/4)
}

// waits says which client or what else a client waits for.
func waits(c *monitor.Client) string {
	switch {
	case c.Halted == "paused":
		return "the pause"
	case c.Halted == "credit":
		return "the outer run"
	case c.Halted != "":
		return "real time"
	}
	held := c.Holder
	if c.Root != c.Holder {
		held += " … " + c.Root
	}
	if c.Short {
		return "memory, " + held
	}
	return held
}

// table returns the titles of the columns, and as many rows from first on as have room. One row may be selected, and one column sorts.
func table(v *monitor.View, first, room, width int, selected, sorted string) []string {
	shown := columns(v, width)
	line := func(cell func(c *column) (string, style)) string {
		var s strings.Builder
		for i := range shown {
			c := &shown[i]
			text, look := cell(c)
			s.WriteString(look.of(fit(text, c.width, c.right)) + strings.Repeat(" ", gap))
		}
		return cut(strings.TrimRight(s.String(), " "), width)
	}
	lines := []string{line(func(c *column) (string, style) {
		if c.key != "" && c.key == sorted {
			return c.title, underlined
		}
		return c.title, faint
	})}
	if len(v.Clients) == 0 && v.Count > 0 {
		return append(lines, faint.of(fit("no client matches: / and return shows all", width, false)))
	}
	for i := first; i < min(len(v.Clients), first+room-1); i++ {
		text := line(func(c *column) (string, style) { return c.cell(&v.Clients[i]) })
		if v.Clients[i].Name == selected {
			text = bar.of(fit(ansi.Strip(text), width, false))
		}
		lines = append(lines, text)
	}
	return lines
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
