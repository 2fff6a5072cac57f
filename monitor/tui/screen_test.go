package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
	"metasim/monitor"
)

// A stub is a run that stands still, and notes what it is told.
type stub struct {
	view monitor.View
	told []string
}

func (s *stub) View() monitor.View { return s.view }
func (s *stub) Control(command, at string) (string, error) {
	s.told = append(s.told, strings.TrimSpace(command+" "+at))
	return "done", nil
}

func (s *stub) Why(_ context.Context, client string) (string, error) {
	s.told = append(s.told, "why "+client)
	return client + " waits for camera; camera computes", nil
}

// crowd is a run of n robots that wait for a planner, which waits for a camera.
func crowd(n int) monitor.View {
	v := monitor.View{
		Scenario: "depot", State: "running", Now: monitor.Instant{Text: "1.1s", Seconds: 1.1}, End: &monitor.Instant{Text: "3s", Seconds: 3},
		Factor: 0.5, MessagesS: 12345, GrantsS: 7.25, Count: n + 2, Slowest: "camera", Chain: []string{
			"planner at 1.102s waits for camera: camera has its next event at 1.2s, + 2ms of delay on IMAGE",
			"camera at 1.1s has been computing for 41 s, process 8123, 98 % of a core, last line of its output: relaxing the mesh, residual 0.3",
		},
		States: map[string]int{"computing": 1, "waiting": n + 1},
		Clients: []monitor.Client{
			{Name: "camera", State: "computing", SinceS: 41, At: monitor.Instant{Seconds: 1.1}, Safe: monitor.Instant{Seconds: 9.2e9}, Blame: float64(n) + 1, MessagesS: 10, Factor: 0.02},
			{Name: "planner", State: "waiting", SinceS: 40.9, At: monitor.Instant{Seconds: 1.102}, Safe: monitor.Instant{Seconds: 1.202}, Blocked: 0.97, Holder: "camera", Root: "camera"},
		},
	}
	eta := 190.0
	v.WallS, v.EtaS = 110, &eta
	for i := range 120 {
		p := monitor.Past{FromS: 2 * float64(i), ToS: 2 * float64(i+1), Holders: []monitor.Holder{}}
		if i%10 > 0 {
			p.Holders = append(p.Holders, monitor.Holder{Name: []string{"camera", "planner", "robot-with-a-long-name-1"}[min(i%10/4, 2)], Blame: 3})
		}
		v.History = append(v.History, p)
	}
	for i := range n {
		v.Clients = append(v.Clients, monitor.Client{
			Name: fmt.Sprintf("robot-with-a-long-name-%d", i), State: "waiting", SinceS: 0.1, At: monitor.Instant{Seconds: 1.2}, Safe: monitor.Instant{Seconds: 1.204},
			Blocked: 1, Queued: i, Holder: "planner", Root: "camera",
		})
	}
	return v
}

func screen(m *model) string {
	return ansi.Strip(m.View().Content)
}

func at80(width, height int, v monitor.View) (*model, *stub) {
	s := &stub{view: v}
	m := &model{run: s, notes: func() []string { return []string{"live: http://127.0.0.1:1/"} }}
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.Update(m.next())
	return m, s
}

// What a person sees, on a small terminal and on a wide one.
func TestScreen(t *testing.T) {
	for _, width := range []int{80, 200} {
		m, _ := at80(width, 24, crowd(40))
		got := screen(m)
		golden.Equal(t, fmt.Sprintf("testdata/%d.txt", width), got+"\n")
	}
}

// Whatever the size, nothing is wider or higher than the terminal, and there is always a foot.
func TestSizes(t *testing.T) {
	for width := 1; width < 210; width += 9 {
		for height := 1; height < 60; height += 7 {
			m, _ := at80(width, height, crowd(30))
			lines := strings.Split(screen(m), "\n")
			require.LessOrEqual(t, len(lines), height)
			for _, line := range lines {
				require.LessOrEqual(t, len([]rune(line)), width, "%d by %d: %q", width, height, line)
			}
		}
	}
}

// Keys tell the run what to do.
func TestKeys(t *testing.T) {
	m, s := at80(80, 24, crowd(40))
	press := func(keys ...string) {
		for _, k := range keys {
			switch k {
			case "enter":
				m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
			case "ask":
				_, ask := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
				m.Update(ask())
			case "esc":
				m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
			case "back":
				m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
			case "down":
				m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
			default:
				m.Update(tea.KeyPressMsg{Code: []rune(k)[0], Text: k})
			}
		}
	}
	press("p", "s", "u", "2", "x", "back", "s", "enter", "u", "9", "esc", "q", "n", "q", "y")
	require.Equal(t, []string{"pause", "step", "until 2s", "quit"}, s.told)
	s.view.State = "paused"
	m.Update(m.next())
	require.Contains(t, screen(m), "p resume")
	press("p")
	require.Equal(t, "resume", s.told[len(s.told)-1])
	require.Contains(t, screen(m), " done ")
	for range answerViews + 1 {
		m.Update(m.next())
	}
	require.NotContains(t, screen(m), " done ", "the answer to a command is shown for some seconds")
	press("down", "j", "j", "k")
	require.Equal(t, "planner", m.selected)
	require.Contains(t, m.View().Content, "\x1b[7mplanner ")
	press("G")
	require.Contains(t, screen(m), "32–42 of 42", "there is nothing below the last row")
	press("k", "k")
	require.Contains(t, screen(m), "32–42 of 42", "the selection moves, and what is shown stays")
	press("g")
	require.Contains(t, screen(m), "1–11 of 42")
	press("esc")
	require.Empty(t, m.selected)
	press("/", "-", "3", "9", "enter")
	m.Update(m.next())
	require.Contains(t, screen(m), "with -39: 1–1 of 1 ")
	press("/", "x", "enter")
	m.Update(m.next())
	require.Contains(t, screen(m), "no client matches")
	require.Contains(t, screen(m), "with -39x: 0–0 of 0 ")
	s.view.State = "over"
	_, quit := m.Update(m.next())
	require.Equal(t, tea.Quit(), quit())
}

// Rows are sorted, turned round and put together by keys; a row that is selected answers why it does not go on.
func TestArrange(t *testing.T) {
	m, s := at80(200, 40, crowd(40))
	press := func(keys ...string) {
		for _, k := range keys {
			m.Update(tea.KeyPressMsg{Code: []rune(k)[0], Text: k})
		}
	}
	enter := func() tea.Cmd { _, c := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); return c }
	require.Nil(t, enter(), "no row is selected")
	press("a")
	require.Contains(t, screen(m), "robot-with-a-long-name-* × 40")
	require.Contains(t, screen(m), "1–3 of 3")
	press("G")
	require.Nil(t, enter(), "a group does not wait")
	press("a", ">", ">", ">", ">", ">", "r")
	require.Contains(t, screen(m), "by queue, turned round: 1–")
	press("r")
	require.Equal(t, "robot-with-a-long-name-39", m.view.Clients[0].Name)
	require.Contains(t, m.View().Content, "\x1b[1;4m queue")
	press("<", "<", "<", "<", "<", "<")
	require.Equal(t, "waits", m.rows.Sort, "it goes round")
	press(">", "g", "j")
	ask := enter()
	m.Update(ask())
	require.Equal(t, []string{"why planner"}, s.told)
	require.Contains(t, screen(m), "Why does planner not go on?")
	require.Contains(t, screen(m), "  - camera computes")
	m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	require.Contains(t, screen(m), "Held up by: camera")
	press("?")
	require.Contains(t, screen(m), "show alike clients")
	require.NotContains(t, screen(m), "Held up by")
	press("q")
	require.Contains(t, screen(m), "Held up by: camera", "any key goes back, and does nothing else")
	require.Equal(t, nothing, m.typing)
}

// Who held up the others before has a letter of its own, and an hour takes one line.
func TestPast(t *testing.T) {
	v := crowd(3)
	for _, width := range []int{80, 120, 200} {
		m, _ := at80(width, 40, v)
		golden.Equal(t, fmt.Sprintf("testdata/past-%d.txt", width), screen(m)+"\n")
	}
	require.Empty(t, past(&monitor.View{History: v.History[:1]}, 80))
	for i := range v.History {
		v.History[i].Holders = []monitor.Holder{{Name: fmt.Sprint("robot-", i), Blame: 1}}
	}
	lines := past(&v, 80)
	require.Contains(t, ansi.Strip(lines[1]), "ABCDEooo")
	for i := range v.History {
		v.History[i].Holders = []monitor.Holder{{Name: "plant", Blame: 2}, {Name: "camera", Blame: 1}}
	}
	lines = past(&v, 80)
	require.Contains(t, ansi.Strip(lines[0]), "A plant 67 %  B camera 33 %", "of all that was waited")
	require.NotContains(t, ansi.Strip(lines[1]), "B", "plant was waited for most, all the time")
}

// The name of a scenario leaves room for what the run does.
func TestLongName(t *testing.T) {
	v := crowd(1)
	v.Scenario = strings.Repeat("long", 30)
	m, _ := at80(80, 24, v)
	require.Contains(t, screen(m), "longlo…  running")
}

// Numbers take the same room as they change, and no digit too many.
func TestShort(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.004: "0.00", 0.471: "0.47", 2.5: "2.50", 9.996: "10.0", 48: "48.0", 99.96: "100", 452: "452", 999.6: "1.00k", 12345: "12.3k",
		5e5: "500k", 1e6: "1.00M", 2.5e9: "2.50G", 3e15: "3000T",
	} {
		require.Equal(t, want, short(x), "%v", x)
	}
}

// What is above the table keeps its room while it is shorter for a moment, so that rows stay where they are.
func TestSteady(t *testing.T) {
	m, s := at80(80, 40, crowd(40))
	row := func() int {
		for i, line := range strings.Split(screen(m), "\n") {
			if strings.HasPrefix(line, "client ") {
				return i
			}
		}
		return -1
	}
	before := row()
	require.Positive(t, before)
	s.view.Slowest, s.view.Chain = "", nil
	m.Update(m.next())
	require.Contains(t, screen(m), "No client holds the others up.")
	require.Equal(t, before, row())
	_, again := m.Update(tea.WindowSizeMsg{Width: 80, Height: 41})
	require.Equal(t, tea.ClearScreen(), again(), "what the library leaves of another size is wiped out")
	require.Less(t, row(), before, "another size is another picture")
}

// A client that waits for no other waits for something else.
func TestWaits(t *testing.T) {
	require.Equal(t, "camera", waits(&monitor.Client{Holder: "camera", Root: "camera"}))
	require.Equal(t, "planner … camera", waits(&monitor.Client{Holder: "planner", Root: "camera"}))
	require.Equal(t, "the pause", waits(&monitor.Client{Halted: "paused"}))
	require.Equal(t, "the outer run", waits(&monitor.Client{Halted: "credit"}))
	require.Equal(t, "real time", waits(&monitor.Client{Halted: "pace"}))
	require.Empty(t, waits(&monitor.Client{}))
}
