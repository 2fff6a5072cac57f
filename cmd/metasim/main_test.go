package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
	"metasim/internal/testprogram"
)

// This test binary is one of the programs when it is started as such, or metasim itself: see raced. So metasim and the clients of its scenarios are real
// processes, and os.Executable, which metasim starts again for its models, is metasim.
func TestMain(m *testing.M) { os.Exit(testprogram.Main(m, programs)) }

// A stage is a directory in which a person works, and what metasim is started with there.
type stage struct {
	*testing.T
	dir, temp string
	program   string        // metasim
	patience  time.Duration // for each program
}

// newStage makes a stage, and lets the test run beside others: most of them wait for processes. Metasim is that which ships.
func newStage(t *testing.T) *stage {
	t.Helper()
	t.Parallel()
	return &stage{T: t, dir: t.TempDir(), temp: shortdir.Make(t), program: testprogram.Shipped(t), patience: patience}
}

// raced makes a stage in which metasim is this test binary, so that the race detector watches it. It takes several times as long: it is for tests in which
// metasim itself does several things at once.
func raced(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	self, err := os.Executable()
	require.NoError(t, err)
	s.program = self
	return s
}

// file writes a file, and replaces BIN in it by the path of this program.
func (s *stage) file(name, text string) string {
	s.Helper()
	self, err := os.Executable()
	require.NoError(s, err)
	require.NoError(s, os.WriteFile(filepath.Join(s.dir, name), []byte(strings.ReplaceAll(text, "BIN", self)), 0o644))
	return name
}

// An ending is how a program ended.
type ending struct {
	status   int // -1: by a signal
	out, err string
}

// patience is how long any of these programs may take, where its test says nothing else: a hang is a failure, with what was said until then.
const patience = 4 * time.Minute

// metasim runs metasim to its end, and sees that it leaves no temporary file.
func (s *stage) metasim(args ...string) ending {
	s.Helper()
	p := s.start(nil, args...)
	return p.wait()
}

// A running is a metasim that was started.
type running struct {
	*stage
	cmd      *exec.Cmd
	args     []string
	out, err written
	cancel   context.CancelFunc
}

// A written is what a program has written so far.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *written) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *written) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// environment makes this program metasim, with temporary and configuration files of its own.
func (s *stage) environment() []string {
	return []string{testprogram.Env("metasim"), "TMPDIR=" + s.temp, "TMP=" + s.temp,
		"XDG_CONFIG_HOME=" + filepath.Join(s.dir, "config")}
}

// isForTests reports whether a variable is read by a test, so that metasim would say that it knows none of this name.
func isForTests(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return slices.Contains([]string{"METASIM_AXE", "METASIM_PICTURES", "METASIM_GRAFANA"}, name)
}

func (s *stage) start(env []string, args ...string) *running {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	p := &running{stage: s, cmd: exec.CommandContext(ctx, s.program, args...), args: args, cancel: cancel}
	p.cmd.Dir = s.dir
	p.cmd.Env = append(append(slices.DeleteFunc(os.Environ(), isForTests), s.environment()...), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.WaitDelay = time.Second
	require.NoError(s, p.cmd.Start())
	s.Cleanup(cancel)
	return p
}

func (p *running) wait() ending {
	p.Helper()
	err := p.cmd.Wait()
	p.cancel()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		p.Fatalf("metasim %v: %v\n%s", p.args, err, p.err.String())
	}
	e := ending{p.cmd.ProcessState.ExitCode(), p.out.String(), p.err.String()}
	p.Logf("metasim %s: status %d\n%s%s", strings.Join(p.args, " "), e.status, head(e.out), head(e.err))
	return e
}

// clean fails if a run has left a socket, or anything else, in the directory of temporary files.
func (s *stage) clean() {
	s.Helper()
	left, err := os.ReadDir(s.temp)
	require.NoError(s, err)
	require.Empty(s, left, "temporary files are left")
}

// object reads stdout, which must be one JSON object and nothing else.
func (e ending) object(t require.TestingT, v any) {
	d := json.NewDecoder(strings.NewReader(e.out))
	require.NoError(t, d.Decode(v), "stdout: %s", e.out)
	require.False(t, d.More(), "stdout has more than one object: %s", e.out)
}

// says fails unless the error is told in one line that has all of these in it.
func (e ending) says(t *testing.T, parts ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(e.err, "\n"), "\n")
	require.Len(t, lines, 1, "one sentence is wanted: %s", e.err)
	for _, part := range parts {
		require.Contains(t, lines[0], part)
	}
	for _, ism := range []string{"goroutine", "strconv", "%!", "0x", "journal: ", "stream: ", "client: ", "wire: "} {
		require.NotContains(t, lines[0], ism, "nobody's business")
	}
}

// head is as much of an output as a person wants to see of a test that failed.
func head(s string) string {
	const enough = 4000
	if len(s) > enough {
		return s[:enough] + "...\n"
	}
	return s
}
