package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"metasim/monitor"
)

// A column is one of the table. A narrow terminal shows only the important ones.
type column struct {
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
		{title: "client", width: nameWidth(v, width), cell: func(c *monitor.Client) (string, style) { return c.Name, blame(c, bold) }},
		{title: "does", width: 12, cell: func(c *monitor.Client) (string, style) { return c.State, states[c.State] }},
		{title: "since", width: 7, right: true, least: 110, cell: text(func(c *monitor.Client) string { return since(c.SinceS) })},
		{title: "at", width: 12, right: true, least: narrow + 26, cell: text(func(c *monitor.Client) string { return at(c.At) })},
		{title: "safe until", width: 12, right: true, least: 94, cell: text(func(c *monitor.Client) string { return at(c.Safe) })},
		{title: "queue", width: 6, right: true, least: 124, cell: text(func(c *monitor.Client) string { return fmt.Sprint(c.Queued) })},
		{title: "messages/s", width: 10, right: true, least: 105, cell: text(func(c *monitor.Client) string { return short(c.MessagesS) })},
		{title: "× real time", width: 11, right: true, least: 140, cell: text(func(c *monitor.Client) string { return short(c.Factor) })},
		{title: "blocked", width: 7, right: true, least: 54, cell: text(func(c *monitor.Client) string { return fmt.Sprintf("%.0f %%", 100*c.Blocked) })},
		{width: 10, least: meters, cell: text(func(c *monitor.Client) string { return meter(c.Blocked, 10, slow) })},
		{title: "holds up", width: 8, right: true, least: 64, cell: func(c *monitor.Client) (string, style) {
			if c.Blame < 0.05 {
				return "", normal
			}
			return fmt.Sprintf("%.1f", c.Blame), blame(c, normal)
		}},
		{title: "waits for", least: 74, cell: text(waits)},
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

// gap is the space between two columns.
const gap = 2

// nameWidth is the width of the longest name, if the terminal has it.
func nameWidth(v *monitor.View, width int) int {
	if width < 54 {
		return narrow
	}
	longest := usual
	for i := range v.Clients {
		longest = max(longest, ansi.StringWidth(v.Clients[i].Name))
	}
	return min(longest, usual+max(0, width-90)/4)
}

// waits says which client or what else a client waits for.
func waits(c *monitor.Client) string {
	switch {
	case c.Halted == "paused":
		return "the pause"
	case c.Halted != "":
		return "real time"
	case c.Root != c.Holder:
		return c.Holder + " … " + c.Root
	}
	return c.Holder
}

// table returns the titles of the columns, and as many rows from first on as have room.
func table(v *monitor.View, first, room, width int) []string {
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
	lines := []string{line(func(c *column) (string, style) { return c.title, faint })}
	if len(v.Clients) == 0 && v.Count > 0 {
		return append(lines, faint.of(fit("no client matches: / and return shows all", width, false)))
	}
	for i := first; i < min(len(v.Clients), first+room-1); i++ {
		lines = append(lines, line(func(c *column) (string, style) { return c.cell(&v.Clients[i]) }))
	}
	return lines
}
