package tui

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"metasim/monitor"
)

// every is how often a new view is shown.
const every = 250 * time.Millisecond

// settled is after how long a frame has been drawn.
const settled = 50 * time.Millisecond

// A model is what is on the screen, and what is being typed.
type model struct {
	run           Run
	notes         func() []string
	view          monitor.View
	width, height int
	first, room   int // the row on top, and how many there is room for
	high          int // of what is above the table, the most so far: rows must not jump
	filter        string
	typing        prompt
	text          string // that is being typed
	said          string // what the last command came to
	heard         int    // in how many views it was shown
}

// A prompt is what is being asked for.
type prompt uint8

const (
	nothing prompt = iota
	untilWhen
	whichRows
	reallyQuit
)

// A Run is what is shown: a monitor.Monitor.
type Run interface {
	View() monitor.View
	Control(command, at string) (done string, err error)
}

// looked is a new view.
type looked monitor.View

func (m *model) look() tea.Msg { return looked(m.run.View().Page(m.filter, 0)) }

// Init asks for the first view.
func (m *model) Init() tea.Cmd { return m.look }

// Update takes a key, a view or a size.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height, m.high = msg.Width, msg.Height, 0
		// The library's first frame of a new size does not take note of the cells that are new, and leaves in them what was
		// there when something shorter comes: another one, from an empty screen, does.
		return m, tea.Tick(settled, func(time.Time) tea.Msg { return tea.ClearScreen() })
	case looked:
		m.view = monitor.View(msg)
		if m.heard++; m.heard > saidFor {
			m.said = ""
		}
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
	m.scroll(0)
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
		m.scroll(1)
	case "up", "k":
		m.scroll(-1)
	case "pgdown", "ctrl+f":
		m.scroll(max(1, m.room-1))
	case "pgup", "ctrl+b":
		m.scroll(-max(1, m.room-1))
	case "home", "g":
		m.scroll(-len(m.view.Clients))
	case "end", "G":
		m.scroll(len(m.view.Clients))
	}
}

// scroll moves the rows, as far as there are any.
func (m *model) scroll(by int) {
	m.first = max(0, min(m.first+by, len(m.view.Clients)-max(1, m.room)))
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
	m.heard = 0
}

const (
	// maxNotes is how many lines of notes are shown.
	maxNotes = 3
	// saidFor is in how many views the answer to a command is shown: for some seconds.
	saidFor = 20
	// maxHigh is how much room is kept for what is above the table, though it be shorter for a moment.
	maxHigh = 11
	// leastRows are shown in any case, before what is above them is.
	leastRows = 6
)

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
	lines := append(headline(&m.view, m.width), story(&m.view, m.width)...)
	if most := max(0, m.height-2-leastRows); len(lines) > most {
		lines = lines[:most]
	}
	m.high = max(m.high, min(len(lines), maxHigh))
	for len(lines) < m.high {
		lines = append(lines, "")
	}
	notes := m.notes()
	notes = notes[max(0, len(notes)-maxNotes):]
	m.room = max(0, m.height-len(lines)-len(notes)-2)
	m.scroll(0)
	lines = append(lines, table(&m.view, m.first, m.room+1, m.width)...)
	for len(lines) < m.height-1-len(notes) {
		lines = append(lines, "")
	}
	for _, note := range notes {
		lines = append(lines, faint.of(fit(note, m.width, false)))
	}
	return append(lines[:max(0, min(len(lines), m.height-1))], bar.of(fit(m.foot(), m.width, false)))
}

// foot is the last line: what is asked, or what was said, and the keys.
func (m *model) foot() string {
	switch m.typing {
	case untilWhen:
		return " pause at (as 2.5s): " + m.text + "_"
	case whichRows:
		return " show clients with: " + m.text + "_"
	case reallyQuit:
		return " end the run? it counts as failed; y or n"
	}
	pause := "p pause"
	if m.view.State == "paused" || m.view.State == "pausing" {
		pause = "p resume"
	}
	keys := " " + pause + "  s step  u until  / filter  q quit"
	if m.said != "" {
		keys = " " + m.said + "  " + keys
	}
	n := len(m.view.Clients)
	where := fmt.Sprintf("%d–%d of %d ", min(m.first+1, n), min(m.first+m.room, n), n)
	if m.filter != "" {
		where = "with " + m.filter + ": " + where
	}
	if room := m.width - len([]rune(where)); room > len([]rune(keys)) {
		return fit(keys, room, false) + where
	}
	return keys
}
