//go:build unix

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/record/journal"
	"metasim/run"
)

const survivors = `name: survivors
until: 150ms
clients:
  - {name: a, external: true}
  - {name: b, external: true}
  - {name: c, external: true}
MORE
links:
  - {delay: {uniform: {min: 500us, max: 2ms}}, order: fifo}
`

// The styles of the clients a, b and c.
var survivorStyles = []string{"run", "step", "next"}

// outlast begins a run, and starts its clients elsewhere, of which one holds at 50 and at 100 ms. There metasim is killed, if it is to be, and resumed. It returns the
// outcome, and what the clients have said. programs has the commands of the clients a, b and c, or of one program that is all of them.
// With a relay they reach metasim through that.
func (s *stage) outlast(programs [][]string, args []string, kills []string, relayed bool) (out run.Outcome, said string) {
	s.Helper()
	files := s.TempDir()
	release := func(ms string) { require.NoError(s, os.WriteFile(filepath.Join(files, ms), nil, 0o600)) }
	if kills == nil {
		release("50")
		release("100")
	}
	require.NoError(s, os.RemoveAll(filepath.Join(s.dir, "run")))
	const token = "a-token-of-which-nobody-tells-metasim-resume"
	p := s.start([]string{"METASIM_TOKEN=" + token}, append(args, "--out", "run", "--ready-file", "ready", "--json")...)
	var url []byte
	for len(url) == 0 {
		<-time.After(5 * time.Millisecond)
		url, _ = os.ReadFile(filepath.Join(s.dir, "ready")) // until it is there
	}
	require.NoError(s, os.Remove(filepath.Join(s.dir, "ready")))
	address := strings.TrimSpace(string(url))
	if relayed {
		relay := s.start(nil, "relay", address, "--ready-file", "near")
		address = relay.readyURL(filepath.Join(s.dir, "near"))
		require.NoError(s, os.Remove(filepath.Join(s.dir, "near")))
		defer func() { require.Equal(s, 0, relay.wait().status) }()
	}
	var clients []*exec.Cmd
	var output written
	for i, program := range programs {
		client := ""
		if len(programs) > 1 { // else it is all of them
			client, program = "abc"[i:i+1], append(slices.Clip(program), survivorStyles[i])
		}
		c := exec.CommandContext(s.Context(), program[0], append(slices.Clip(program[1:]), files)...)
		c.Env = append(os.Environ(), "METASIM_SERVER="+address, "METASIM_TOKEN="+token, "METASIM_CLIENT="+client)
		c.Stdout, c.Stderr = &output, &output
		require.NoError(s, c.Start())
		clients = append(clients, c)
	}
	for n, at := range kills {
		require.Eventually(s, func() bool { return strings.Count(output.String(), "holds") == n+1 }, patience/2, time.Millisecond)
		require.NoError(s, p.cmd.Process.Kill())
		require.Equal(s, -1, p.wait().status, "it was killed while the run went on")
		release(at)
		resume := func() { p = s.start(nil, "resume", "run", "--json", "--verbose") }
		if n == 0 { // at once: over QUIC another server has the port before anybody can ask
			resume()
		}
		require.Eventually(s, func() bool {
			return len(lostServer.FindAllString(output.String(), -1)) == (n+1)*len(survivorStyles)
		}, patience/2, 5*time.Millisecond, "not all clients have lost their server")
		if n > 0 {
			resume()
		}
	}
	e := p.wait()
	e.object(s, &out)
	for _, c := range clients {
		require.NoError(s, c.Wait(), output.String())
	}
	require.Equal(s, 0, e.status)
	return out, output.String() + e.err
}

// lostServer is said by a client that has lost its server, and waits.
var lostServer = regexp.MustCompile(`client "[abc]"(: lost the| lost its) server at [^\n]*waits [^\n]* for metasim resume`)

// TestSurvivors: clients of others outlive metasim, which is killed twice, and come back to the one that is resumed. The run ends as one that was not
// disturbed.
func TestSurvivors(t *testing.T) {
	s := newStage(t)
	program := []string{embedder(t, "survivor.go.txt")}
	programs := [][]string{program, program, program}
	s.file("run.yaml", strings.Replace(survivors, "MORE", "  - {name: tick, model: source, with: {channel: TICK, period: 1ms}}", 1))
	s.file("serve.yaml", strings.Replace(survivors, "MORE\n", "", 1))
	var want journal.Digests
	for _, args := range [][]string{{"run", "run.yaml"}, {"serve", "serve.yaml", "--transport", "tcp"}, {"serve", "serve.yaml", "--transport", "quic"}} {
		quiet, said := s.outlast(programs, args, nil, false)
		require.NotContains(t, said, "lost its server")
		out, said := s.outlast(programs, args, []string{"50", "100"}, false)
		require.Equal(t, quiet.Digests, out.Digests, args)
		want = out.Digests
		for _, name := range []string{"a", "b", "c"} {
			require.Equal(t, 2, strings.Count(said, `metasim: client "`+name+`" lost its server at `), said)
			require.Contains(t, said, "came back")
			require.Contains(t, said, "client="+name+" messages_that_the_journal_lacks=")
		}
		left, err := os.ReadDir(filepath.Join(s.dir, "run"))
		require.NoError(t, err)
		for _, file := range left {
			text, err := os.ReadFile(filepath.Join(s.dir, "run", file.Name()))
			require.NoError(t, err)
			require.False(t, bytes.Contains(text, []byte("a-token-of-which")), file.Name())
		}
		e := s.metasim("replay", "run")
		require.Equal(t, 0, e.status, e.err)
		if slices.Contains(args, "tcp") {
			s.outlastTogether(program, want)
		}
	}
	s.clean()
	t.Run("elsewhere", func(t *testing.T) {
		other := *s
		other.T = t
		other.elsewhere(program, want)
	})
}

// outlastTogether: so do three clients of one process, over one connection, as goroutines and as coroutines.
func (s *stage) outlastTogether(program []string, want journal.Digests) {
	for _, style := range []string{"shared", "scheduled"} {
		out, said := s.outlast([][]string{append(program, style)}, []string{"serve", "serve.yaml"}, []string{"50", "100"}, false)
		require.Equal(s, want, out.Digests, said)
		require.Equal(s, 3, strings.Count(said, "came back"), "to the one that was resumed last: %s", said)
	}
}

var inAllStyles = flag.Bool("survivors", false, "clients in C, C++ and Python outlive metasim in each style, over unix and tcp too")

// elsewhere: so do clients in C, C++ and Python, and those that reach a server over QUIC through a relay. Their run is that of clients in Go.
func (s *stage) elsewhere(inGo []string, want journal.Digests) {
	library, err := filepath.Abs("../../clients")
	require.NoError(s, err)
	python := []string{"env", "PYTHONPATH=" + filepath.Join(library, "python"), s.tool("python3"), "-B", filepath.Join(library, "python", "tests", "survivor.py")}
	object := filepath.Join(s.dir, "metasim.o")
	build := func(compiler string, args ...string) {
		out, err := exec.CommandContext(s.Context(), s.tool(compiler), append(args, "-I", filepath.Join(library, "c"), "-I", filepath.Join(library, "cpp"))...).CombinedOutput()
		require.NoError(s, err, "%s", out)
	}
	inC, inCpp := []string{filepath.Join(s.dir, "in-c")}, []string{filepath.Join(s.dir, "in-cpp")}
	build("gcc", "-std=c99", "-c", "-o", object, filepath.Join(library, "c", "metasim.c"))
	build("gcc", "-std=c99", "-o", inC[0], filepath.Join(library, "c", "test", "survivor.c"), object)
	build("g++", "-std=c++17", "-o", inCpp[0], filepath.Join(library, "cpp", "test", "survivor.cpp"), object)
	shared := "unix"
	if runtime.GOOS == "linux" {
		shared = "shm"
	}
	type round struct {
		transport string
		programs  [][]string
	}
	rounds := []round{{shared, [][]string{python, inC, inCpp}}, {"quic", [][]string{inC, inGo, python}}}
	if *inAllStyles {
		rounds = append(rounds, round{"unix", [][]string{inC, inCpp, python}}, round{"tcp", [][]string{inCpp, python, inC}})
	}
	for _, r := range rounds {
		out, said := s.outlast(r.programs, []string{"serve", "serve.yaml", "--transport", r.transport}, []string{"50", "100"}, r.transport == "quic")
		require.Equal(s, want, out.Digests, "%s: %s", r.transport, said)
		for _, name := range []string{"a", "b", "c"} {
			require.Contains(s, said, "client="+name+" messages_that_the_journal_lacks=")
		}
	}
	killed := []round{{"unix", [][]string{python, inC, inCpp}}}
	if *inAllStyles {
		killed = append(killed, round{"unix", [][]string{inC, inCpp, python}}, round{"quic", [][]string{inCpp, python, inGo}}, round{"tcp", [][]string{inGo, inC, python}})
	}
	for _, r := range killed {
		require.Equal(s, want, s.killRelay(r.programs, r.transport).Digests, "%s, and the relay is killed", r.transport)
	}
}

// tool returns a program of the system, or skips.
func (s *stage) tool(name string) string {
	s.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		s.Skipf("SKIPPED LOUDLY: there is no %s, so no client in another language has outlived its server; install it", name)
	}
	return path
}
