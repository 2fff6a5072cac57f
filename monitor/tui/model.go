package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"metasim/internal/plain"
	"metasim/monitor"
)

// Show shows a run on a terminal until it is over or ctx is done. Then it restores the terminal. notes returns what the program would
// print elsewhere; the last lines of it are shown too.
func Show(ctx context.Context, r Run, notes func() []string, in io.Reader, out io.Writer) error {
	p := tea.NewProgram(&model{run: r, notes: notes, ctx: ctx}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
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
	ctx           context.Context
	whole         monitor.View // the last one
	view          monitor.View // of the clients that match the filter
	width, height int
	first, room   int          // the first row that is shown, and how many have room
	headHeight    int          // the largest height so far of what is above the table: rows must not jump
	rows          monitor.Rows // which are shown, and how
	selected      string       // the row that is selected, by its name; empty: none
	help          bool         // what the keys do is shown
	why           *why         // the answer that is shown instead of what the run waits for; nil: none
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
	Why(ctx context.Context, client string) (string, error)
}

// A why is the answer to why a client does not go on.
type why struct{ client, text string }

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
		m.whole = plainView(monitor.View(msg))
		m.choose()
		if m.shown++; m.shown > answerViews {
			m.answered = ""
		}
		if m.view.State == "over" {
			return m, tea.Quit
		}
		return m, tea.Tick(interval, func(time.Time) tea.Msg { return m.next() })
	case *why:
		m.why = &why{plain.Text(msg.client), plain.Text(msg.text)}
	case tea.KeyPressMsg:
		m.answered = ""
		switch {
		case m.typing != nothing:
			m.edit(msg)
		case m.help:
			m.help = false
		case msg.String() == "enter":
			return m, m.ask(m.selected)
		default:
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
		m.typing, m.text = whichRows, m.rows.Filter
	case "q", "ctrl+c":
		m.typing, m.text = reallyQuit, ""
	case "?":
		m.help = true
	case "esc":
		m.selected, m.why = "", nil
	case "<", ">", "r", "a":
		m.arrange(key)
	case "down", "j":
		m.move(1)
	case "up", "k":
		m.move(-1)
	case "pgdown", "ctrl+f":
		m.move(max(1, m.room-1))
	case "pgup", "ctrl+b":
		m.move(-max(1, m.room-1))
	case "home", "g":
		m.move(-len(m.view.Clients))
	case "end", "G":
		m.move(len(m.view.Clients))
	}
}

// ask asks why a client does not go on, beside the program: it takes a moment.
func (m *model) ask(client string) tea.Cmd {
	if client == "" || strings.HasSuffix(client, "-*") {
		return nil
	}
	return func() tea.Msg {
		text, err := m.run.Why(m.ctx, client)
		if err != nil {
			text = err.Error()
		}
		return &why{client, text}
	}
}

// arrange takes a key that changes which rows there are, and their order. The columns by which rows can be sorted are those that are shown.
func (m *model) arrange(key string) {
	keys := []string{""}
	for _, c := range columns(&m.view, m.width) {
		if c.key != "" {
			keys = append(keys, c.key)
		}
	}
	at := max(0, slices.Index(keys, m.rows.Sort))
	switch key {
	case "<":
		m.rows.Sort = keys[(at+len(keys)-1)%len(keys)]
	case ">":
		m.rows.Sort = keys[(at+1)%len(keys)]
	case "r":
		m.rows.Back = !m.rows.Back
	case "a":
		m.rows.Group = !m.rows.Group
	}
	m.first = 0
	m.choose()
}

// move moves the selection, and scrolls so far that it is shown.
func (m *model) move(by int) {
	if len(m.view.Clients) == 0 {
		return
	}
	at := slices.IndexFunc(m.view.Clients, func(c monitor.Client) bool { return c.Name == m.selected })
	if at < 0 && by > 0 {
		by--
	}
	at = max(0, min(max(at, 0)+by, len(m.view.Clients)-1))
	m.selected = m.view.Clients[at].Name
	m.first = max(min(m.first, at), at-max(1, m.room)+1)
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
		m.rows.Filter, m.first = m.text, 0
		m.choose()
	}
}

// choose makes the view of the clients that match the filter.
func (m *model) choose() { m.view = m.whole.Page(m.rows) }

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
	m.answered = plain.Text(m.answered)
	m.shown = 0
}

const (
	// maxNotes is how many lines of notes are shown.
	maxNotes = 3
	// answerViews is in how many views the answer to a command is shown: for some seconds.
	answerViews = 20
	// maxHeadHeight is how many lines above the table are reserved, even if fewer are needed for a moment.
	maxHeadHeight = 11
	// pastHeight is the least height of a terminal on which the past is shown.
	pastHeight = 30
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
	if m.help {
		return m.helpScreen()
	}
	lines := append(headline(&m.view, m.width), m.explanation()...)
	if most := max(0, m.height-2-minRows); len(lines) > most {
		lines = lines[:most]
	}
	m.headHeight = max(m.headHeight, min(len(lines), maxHeadHeight))
	for len(lines) < m.headHeight {
		lines = append(lines, "")
	}
	if m.height >= pastHeight {
		lines = append(lines, past(&m.view, m.width)...)
	}
	notes := plainTexts(m.notes())
	notes = notes[max(0, len(notes)-maxNotes):]
	m.room = max(0, m.height-len(lines)-len(notes)-2)
	m.scroll(0)
	lines = append(lines, table(&m.view, m.first, m.room+1, m.width, m.selected, m.rows.Sort)...)
	for len(lines) < m.height-1-len(notes) {
		lines = append(lines, "")
	}
	for _, note := range notes {
		lines = append(lines, faint.of(fit(note, m.width, false)))
	}
	return append(lines[:max(0, min(len(lines), m.height-1))], bar.of(fit(m.foot(), m.width, false)))
}

// explanation is what the run waits for, or the answer to a question.
func (m *model) explanation() []string {
	if m.why == nil {
		return explanation(&m.view, m.width)
	}
	lines := []string{cut("Why does "+bold.of(m.why.client)+" not go on? When you asked (escape closes this):", m.width)}
	return append(lines, append(sentences(strings.Split(m.why.text, "; "), m.width), "")...)
}

// helpScreen is the screen while what the keys do is shown.
func (m *model) helpScreen() []string {
	lines := helpLines(m.width)
	lines = lines[:max(0, min(len(lines), m.height-1))]
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return append(lines[:max(0, min(len(lines), m.height-1))], bar.of(fit(" any key goes back", m.width, false)))
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
	keys := " " + pause + "  s step  u until  / filter  ? help  q quit"
	if m.answered != "" {
		keys = " " + m.answered + "  " + keys
	}
	n := len(m.view.Clients)
	where := fmt.Sprintf("%d–%d of %d ", min(m.first+1, n), min(m.first+m.room, n), n)
	if m.rows.Filter != "" {
		where = "with " + m.rows.Filter + ": " + where
	}
	switch {
	case m.rows.Sort != "" && m.rows.Back:
		where = "by " + m.rows.Sort + ", turned round: " + where
	case m.rows.Sort != "":
		where = "by " + m.rows.Sort + ": " + where
	case m.rows.Back:
		where = "turned round: " + where
	}
	room := m.width - len([]rune(where))
	if room <= len([]rune(keys)) && m.answered == "" {
		keys = " ? help  q quit"
	}
	if room > len([]rune(keys)) {
		return fit(keys, room, false) + where
	}
	return keys
}
