package tui

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/monitor"
)

// colours are the only sequences that the screen has.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// hostile is what others may have chosen as a name or written: it clears the screen, sets the title, forges lines, turns text around.
const hostile = "x\x1b[2J\x1b]0;forged\x07\x9b31m\r\nforged: \u202egnorw\x00\x7f"

// Nothing that others chose reaches the terminal as a command.
func TestHostileNames(t *testing.T) {
	v := crowd(3)
	v.Scenario, v.Error, v.Slowest = hostile, hostile, hostile
	v.Chain = []string{hostile + " waits", "for " + hostile}
	v.Warnings = []string{hostile}
	for i := range v.Clients {
		c := &v.Clients[i]
		c.Name, c.Mix, c.State, c.Peer, c.Holder, c.Root, c.Halted = hostile, hostile, hostile, hostile, hostile, hostile, hostile
	}
	for i := range v.History {
		v.History[i].Holders = []monitor.Holder{{Name: hostile, Blame: 3}}
	}
	for _, state := range []string{"running", "over", hostile} {
		v.State = state
		m, _ := at80(120, 40, v)
		check := func() {
			t.Helper()
			content := m.View().Content
			for _, r := range colours.ReplaceAllString(content, "") {
				require.False(t, r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e', "%q", content)
			}
		}
		check()
		m.notes = func() []string { return []string{hostile} }
		m.Update(&why{hostile, hostile})
		m.command("pause", hostile)
		check()
	}
}
