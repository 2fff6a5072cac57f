package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/browser"
)

// ahead is a run in which a source is far ahead of a sink that hears a clock too. One of these two is a client in another language, which
// waits until the FIFO is opened.
const ahead = `name: ahead
until: 9s
memory: 1MiB
clients:
  - {name: source, model: source, with: {channel: DATA, period: 1ms, size: 1000}}
  - {name: sink, SINK}
  - {name: clock, CLOCK}
links: [{delay: 1ms}]
`

// waitsForMemory is what is said of the source.
const waitsForMemory = " waits for memory: sink is "

// isAhead makes that run, in which a client of this name waits. It returns the path of the FIFO.
func (s *stage) isAhead(slow string) (fifo string) {
	s.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		s.Skip("SKIPPED LOUDLY: there is no python3, so nobody waits for a client in another language")
	}
	fifo = filepath.Join(s.dir, "fifo")
	require.NoError(s, syscall.Mkfifo(fifo, 0o600))
	command := []string{python, "-B"}
	for _, file := range []string{"testdata/slow.py", "../../wire/testdata/client.py"} {
		path, err := filepath.Abs(file)
		require.NoError(s, err)
		command = append(command, path)
	}
	clients := map[string]string{"sink": "model: sink, with: {channels: [DATA, TICK]}", "clock": "model: source, with: {channel: TICK, period: 100ms}"}
	channels := map[string]string{"sink": "DATA, TICK", "clock": "TICK"}
	clients[slow] = "run: [" + strings.Join(append(command, fifo, slow, channels[slow]), ", ") + "]"
	s.file("m.yaml", strings.NewReplacer("SINK", clients["sink"], "CLOCK", clients["clock"]).Replace(ahead))
	return fifo
}

// letGo lets the client go on that waits for the FIFO.
func (s *stage) letGo(fifo string) {
	s.Helper()
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	require.NoError(s, err)
	require.NoError(s, f.Close())
}

// Whoever is asked says that the source waits for memory, for whom, and what that one does: a sink that waits for this test, or a clock
// that holds up the sink. The report counts the wait as the run did.
func TestWaitsForMemory(t *testing.T) {
	address := regexp.MustCompile(`http://\S+`)
	for _, slow := range []string{"sink", "clock"} {
		t.Run(slow, func(t *testing.T) {
			s := newStage(t)
			fifo := s.isAhead(slow)
			p := s.start(nil, "run", "m.yaml", "--out", "out", "--json", "--http", ":0", "--stall", "0")
			s.why("out", "source", waitsForMemory, slow+" at ", "FIFO "+fifo)
			var answer struct{ Chain []string }
			s.metasim("why", "source", "--run", "out", "--json").object(t, &answer)
			require.Regexp(t, `^source at \S+s waits for memory: sink is [0-9.]+m?s behind$`, answer.Chain[0])
			last := answer.Chain[len(answer.Chain)-1]
			require.Contains(t, last, slow+" at ")
			require.Contains(t, last, "FIFO "+fifo)
			if slow == "clock" {
				require.Len(t, answer.Chain, 3)
				require.Regexp(t, `^sink at \S+s waits for clock: `, answer.Chain[1])
			}

			b := browser.Open(t)
			b.Goto(address.FindString(p.err.String()))
			row := "memory, sink"
			if slow == "clock" {
				row += " … clock"
			}
			b.Until(`[...document.querySelectorAll("#rows .waits")].some(e => e.textContent === ` + strconv.Quote(row) + `)`)
			b.Until(`document.querySelector("#slowest").textContent === ` + strconv.Quote(slow))
			b.ClickUntil(".ask[data-client=source]", `document.querySelector("#answer").textContent.includes(`+strconv.Quote(waitsForMemory)+`)`)
			require.NotEmpty(t, b.Picture("live-memory-"+slow))

			s.letGo(fifo)
			e := p.wait()
			require.Zero(t, e.status, e.err)
			var bound, free outcome
			e.object(t, &bound)
			s.reportsMemory(bound)
			require.Contains(t, e.out, `"memory_s"`)
			p = s.start(nil, "run", "m.yaml", "--json", "--memory", "off")
			s.letGo(fifo)
			p.wait().object(t, &free)
			require.Equal(t, free.Digest, bound.Digest)
			s.clean()
		})
	}
}

// The terminal says it too.
func TestTerminalMemory(t *testing.T) {
	s := newStage(t)
	fifo := s.isAhead("sink")
	x := s.terminal(200, "run", "m.yaml", "--tui", "--stall", "0")
	x.shows("metasim ahead running", "Held up by: sink", waitsForMemory, "memory, sink", "FIFO "+fifo)
	s.letGo(fifo)
	x.shows("status 0")
}
