package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"metasim/monitor"
)

// Show shows a run on a terminal until it is over or ctx is done. Then it restores the terminal. notes returns what the program would
// print elsewhere; the last lines of it are shown too.
func Show(ctx context.Context, r Run, notes func() []string, in io.Reader, out io.Writer) error {
	p := tea.NewProgram(&model{run: r, notes: notes}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// interval is how often a new view is shown.
const interval = 250 * time.Millisecond

// drawTime is how long the library needs at most to draw a frame.
const drawTime = 50 * time.Millisecond

// A model is what the screen shows, and what is being typed.
type model struct {
	run           Run
	notes         func() []string
	whole         monitor.View // the last one
	view          monitor.View // of the clients that match the filter
	width, height int
	first, room   int // the first row that is shown, and how many have room
	headHeight    int // the largest height so far of what is above the table: rows must not jump
	filter        string
	typing        prompt
	text          string // that is being typed
	answered      string // the answer to the last command
	shown         int    // in how many views the answer was shown
}

// A prompt is a question whose answer is being typed.
type prompt uint8

const (
	nothing prompt = iota
	untilWhen
	whichRows
	reallyQuit
)

// A Run is a run that is shown: a monitor.Monitor.
type Run interface {
	View() monitor.View
	Control(command, at string) (done string, err error)
}

// newView is a message with the next view.
type newView monitor.View

// next gets the next view. It runs on a goroutine of its own, and reads nothing of the model that changes.
func (m *model) next() tea.Msg { return newView(m.run.View()) }

// Init asks for the first view.
func (m *model) Init() tea.Cmd { return m.next }

// Update takes a key, a view or a size.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height, m.headHeight = msg.Width, msg.Height, 0
		// The first frame that the library draws in a new size does not cover the new cells: shorter text leaves old text there. So
		// another frame is drawn from an empty screen.
		return m, tea.Tick(drawTime, func(time.Time) tea.Msg { return tea.ClearScreen() })
	case newView:
		m.whole = monitor.View(msg)
		m.choose()
		if m.shown++; m.shown > answerViews {
			m.answered = ""
		}
		if m.view.State == "over" {
			return m, tea.Quit
		}
		return m, tea.Tick(interval, func(time.Time) tea.Msg { return m.next() })
	case tea.KeyPressMsg:
		m.answered = ""
		if m.typing != nothing {
			m.edit(msg)
		} else {
			m.press(msg.String())
		}
	}
	m.scroll(0)
	return m, nil
}

// press takes a key that is a command.
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

// scroll moves the rows, as far as there are more.
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
		m.choose()
	}
}

// choose makes the view of the clients that match the filter.
func (m *model) choose() { m.view = m.whole.Page(monitor.Rows{Filter: m.filter}) }

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
	if m.answered = done; err != nil {
		m.answered = err.Error()
	}
	m.shown = 0
}

const (
	// maxNotes is how many lines of notes are shown.
	maxNotes = 3
	// answerViews is in how many views the answer to a command is shown: for some seconds.
	answerViews = 20
	// maxHeadHeight is how many lines above the table are reserved, even if fewer are needed for a moment.
	maxHeadHeight = 11
	// minRows is how many rows are shown in any case; the lines above the table are cut for them.
	minRows = 6
)

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	return v
}

func (m *model) lines() []string {
	if m.width == 0 || m.view.Scenario == "" {
		return []string{"waiting for the run ..."}
	}
	lines := append(headline(&m.view, m.width), explanation(&m.view, m.width)...)
	if most := max(0, m.height-2-minRows); len(lines) > most {
		lines = lines[:most]
	}
	m.headHeight = max(m.headHeight, min(len(lines), maxHeadHeight))
	for len(lines) < m.headHeight {
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

// foot is the last line: a question, or the answer to the last command and the keys.
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
	if m.answered != "" {
		keys = " " + m.answered + "  " + keys
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
