package tui

import (
	"fmt"
	"strings"

	"metasim/live"
)

// A style is how a piece of text looks: an SGR sequence, from the sixteen colours that the terminal's user has chosen.
type style string

const (
	plain style = ""
	bold  style = "1"
	faint style = "2"
	good  style = "32"
	slow  style = "33"
	bad   style = "1;31"
	bar   style = "7"
)

func (s style) of(text string) string {
	if s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// A column is one of the table. Those that are worth less are left out where the terminal is narrow.
type column struct {
	title string
	width int
	right bool
	least int // the width of the terminal from which on it is shown
	cell  func(c *live.Client) (string, style)
}

func columns() []column {
	number := func(value func(c *live.Client) string) func(c *live.Client) (string, style) {
		return func(c *live.Client) (string, style) { return value(c), plain }
	}
	return []column{
		{"client", 18, false, 0, func(c *live.Client) (string, style) {
			if c.Blame >= 0.05 {
				return c.Name, bad
			}
			return c.Name, bold
		}},
		{"does", 12, false, 0, func(c *live.Client) (string, style) { return c.State, states[c.State] }},
		{"since", 8, true, 110, number(func(c *live.Client) string { return seconds(c.SinceS) })},
		{"at", 12, true, 0, number(func(c *live.Client) string { return at(c.At) })},
		{"safe until", 12, true, 90, number(func(c *live.Client) string { return at(c.Safe) })},
		{"queue", 6, true, 120, number(func(c *live.Client) string { return fmt.Sprint(c.Queued) })},
		{"messages/s", 11, true, 100, number(func(c *live.Client) string { return short(c.MessagesS) })},
		{"blocked", 8, true, 0, number(func(c *live.Client) string { return fmt.Sprintf("%.0f %%", 100*c.Blocked) })},
		{"holds up", 9, true, 0, number(func(c *live.Client) string {
			if c.Blame < 0.05 {
				return ""
			}
			return fmt.Sprintf("%.1f", c.Blame)
		})},
		{"waits for", 0, false, 0, number(func(c *live.Client) string { // the rest of the line
			if c.Root != c.Holder {
				return c.Holder + " … " + c.Root
			}
			return c.Holder
		})},
	}
}

var states = map[string]style{
	"computing": good, "initializing": good, "waiting": slow, "absent": slow, "left": faint, "lost": bad,
	"running": good, "paused": slow, "pausing": slow, "joining": slow, "over": faint,
}

func at(i live.Instant) string {
	if i.Seconds > 9e9 {
		return "for ever"
	}
	return fmt.Sprintf("%.3f s", i.Seconds)
}

func seconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

// short writes a number in five characters or less.
func short(x float64) string {
	for _, unit := range []string{"", "k", "M", "G"} {
		if x < 1000 {
			if x >= 100 || x == 0 {
				return fmt.Sprintf("%.0f%s", x, unit)
			}
			return fmt.Sprintf("%.3g%s", x, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.3gT", x)
}

// fit cuts text or fills it up, so that it takes a number of cells. Names are in ASCII, and so is nearly all else.
func fit(text string, width int, right bool) string {
	r := []rune(text)
	switch {
	case len(r) > width && width > 0:
		return string(r[:width-1]) + "…"
	case right:
		return strings.Repeat(" ", max(0, width-len(r))) + text
	}
	return text + strings.Repeat(" ", max(0, width-len(r)))
}

// headline is how far the run is, and how fast.
func headline(v *live.View, width int) []string {
	end := ""
	if v.End != nil {
		end = " of " + at(*v.End)
	}
	first := bold.of("metasim "+v.Scenario) + "  " + states[v.State].of(v.State)
	second := fmt.Sprintf("%s%s   %s x real time   %s messages/s   %s grants/s", bold.of(at(v.Now)), end, short(v.Factor),
		short(v.MessagesS), short(v.GrantsS))
	lines := []string{first, second}
	if v.End != nil && v.End.Seconds > 0 {
		done := int(float64(width) * min(1, v.Now.Seconds/v.End.Seconds))
		lines = append(lines, good.of(strings.Repeat("━", done))+faint.of(strings.Repeat("━", max(0, width-done))))
	}
	return append(lines, "")
}

// blame is why somebody waits for the slowest, wrapped.
func blame(v *live.View, width int) []string {
	if len(v.Chain) == 0 {
		return nil
	}
	lines := []string{"Who holds the others up: " + bad.of(v.Slowest)}
	for _, sentence := range v.Chain {
		for i, line := range wrap(sentence, width-4) {
			lines = append(lines, []string{"  - ", "    "}[min(i, 1)]+line)
		}
	}
	return append(lines, "")
}

// wrap breaks a sentence into lines between words.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// table is the title of the columns, and as many rows from a first one on as there is room for.
func table(rows []live.Client, first, room, width int) []string {
	var shown []column
	rest := width
	for _, c := range columns() {
		if width >= c.least {
			shown = append(shown, c)
			rest -= c.width + 1
		}
	}
	shown[len(shown)-1].width = max(rest, 8)
	line := func(cell func(c *column) (string, style)) string {
		var s strings.Builder
		for i := range shown {
			text, look := cell(&shown[i])
			s.WriteString(look.of(fit(text, shown[i].width, shown[i].right)) + " ")
		}
		return strings.TrimRight(s.String(), " ")
	}
	lines := []string{line(func(c *column) (string, style) { return c.title, faint })}
	for i := first; i < min(len(rows), first+room-1); i++ {
		lines = append(lines, line(func(c *column) (string, style) { return c.cell(&rows[i]) }))
	}
	return lines
}
