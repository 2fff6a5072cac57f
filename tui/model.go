package tui

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"metasim/live"
)

// every is how often a new view is shown.
const every = 250 * time.Millisecond

// A model is what is on the screen, and what is being typed.
type model struct {
	run           Run
	notes         func() []string
	view          live.View
	width, height int
	first         int // the row on top
	filter        string
	typing        prompt
	text          string // that is being typed
	said          string // what the last command came to
}

// A prompt is what is being asked for.
type prompt uint8

const (
	nothing prompt = iota
	untilWhen
	whichRows
	reallyQuit
)

// A Run is what is shown: a live.Monitor.
type Run interface {
	View() live.View
	Control(command, at string) (done string, err error)
}

// looked is a new view.
type looked live.View

func (m *model) look() tea.Msg { return looked(m.run.View().Page(m.filter, 0)) }

// Init asks for the first view.
func (m *model) Init() tea.Cmd { return m.look }

// Update takes a key, a view or a size.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case looked:
		m.view = live.View(msg)
		if m.view.State == "over" {
			return m, tea.Quit
		}
		return m, tea.Tick(every, func(time.Time) tea.Msg { return m.look() })
	case tea.KeyPressMsg:
		m.said = ""
		if m.typing != nothing {
			m.edit(msg)
		} else {
			m.press(msg.String())
		}
	}
	m.first = max(0, min(m.first, len(m.view.Clients)-1))
	return m, nil
}

// press takes a key that stands for something.
func (m *model) press(key string) {
	switch key {
	case "p", "space":
		if m.view.State == "paused" || m.view.State == "pausing" {
			m.command("resume", "")
		} else {
			m.command("pause", "")
		}
	case "s":
		m.command("step", "")
	case "u":
		m.typing, m.text = untilWhen, ""
	case "/":
		m.typing, m.text = whichRows, m.filter
	case "q", "ctrl+c":
		m.typing, m.text = reallyQuit, ""
	case "down", "j":
		m.first++
	case "up", "k":
		m.first--
	case "pgdown":
		m.first += max(1, m.height/2)
	case "pgup":
		m.first -= max(1, m.height/2)
	case "home":
		m.first = 0
	}
}

// edit takes a key that is part of an answer.
func (m *model) edit(key tea.KeyPressMsg) {
	switch key.String() {
	case "esc":
		m.typing = nothing
	case "ctrl+c":
		m.command("quit", "")
		m.typing = nothing
	case "enter":
		m.answer()
	case "backspace":
		_, last := utf8.DecodeLastRuneInString(m.text)
		m.text = m.text[:len(m.text)-last]
	default:
		m.text += key.Text
		if m.typing == reallyQuit {
			m.answer()
		}
	}
	if m.typing == whichRows {
		m.filter, m.first = m.text, 0
	}
}

// answer takes what was typed.
func (m *model) answer() {
	asked := m.typing
	m.typing = nothing
	switch {
	case asked == untilWhen:
		m.command("until", m.text)
	case asked == reallyQuit && (m.text == "y" || m.text == "q"):
		m.command("quit", "")
	}
}

func (m *model) command(name, at string) {
	done, err := m.run.Control(name, at)
	if m.said = done; err != nil {
		m.said = err.Error()
	}
}

// maxNotes is how many lines of notes are shown.
const maxNotes = 3

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	return v
}

func (m *model) lines() []string {
	if m.width == 0 || m.view.Scenario == "" {
		return []string{"looking at the run ..."}
	}
	lines := append(headline(&m.view, m.width), blame(&m.view, m.width)...)
	const least = 6 // rows that are shown in any case, before the chain is
	if room := m.height - 2 - least; len(lines) > room {
		lines = lines[:max(0, room)]
	}
	notes := m.notes()
	notes = notes[max(0, len(notes)-maxNotes):]
	lines = append(lines, table(m.view.Clients, m.first, m.height-len(lines)-len(notes)-1, m.width)...)
	for len(lines) < m.height-1-len(notes) {
		lines = append(lines, "")
	}
	for _, note := range notes {
		lines = append(lines, faint.of(fit(note, m.width, false)))
	}
	return append(lines[:max(0, min(len(lines), m.height-1))], bar.of(fit(m.foot(), m.width, false)))
}

// foot is the last line: what is asked, what was said, or the keys.
func (m *model) foot() string {
	switch m.typing {
	case untilWhen:
		return " pause at (as 2.5s): " + m.text + "_"
	case whichRows:
		return " show clients with: " + m.text + "_"
	case reallyQuit:
		return " end the run? it counts as failed; y or n"
	}
	keys := " p pause  s step  u until  / filter  q quit"
	if n := len(m.view.Clients); n > 0 {
		keys += fmt.Sprintf("   %d of %d", min(m.first+1, n), n)
	}
	if m.said != "" {
		return " " + m.said + "  " + keys
	}
	return keys
}
