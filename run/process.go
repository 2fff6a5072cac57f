package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"metasim/internal/plain"
	"metasim/record/output"
	"metasim/run/supervisor"
	"metasim/server"
)

// A process runs the clients of one group. Its supervisor sees that what it starts ends with it.
type process struct {
	clients []string // their names
	stdout  string   // where its output is: see record/output
	stderr  string
	*supervisor.Process
	output glance       // of what it wrote, when it has ended
	hung   atomic.Int64 // its hang_timeout, where it was ended because of that
	nests  bool         // it is a nested run, so what it has started ends by itself, soon after it
	line   glance       // of its last line. Its own: who watches a run at that moment must not take the last words away
}

const (
	// exitWait is how long to wait for a process whose connection broke, to learn its exit status.
	exitWait = 2 * time.Second
	// defaultPatience is how long a process may go on after its client has left, if Options.Patience is 0.
	defaultPatience = 10 * time.Second
	// replacedPatience is how long a process may go on that is to be replaced, as its connection has ended.
	replacedPatience = 100 * time.Millisecond
	// abortPatience is how long a process may go on after the run has failed.
	abortPatience = time.Second
	// termWait is the time between the request to end (SIGTERM) and the kill.
	termWait = time.Second
	// lastLines is how many lines of the output of a lost client are shown.
	lastLines = 20
	// maxLine is how many characters of a line of output are shown.
	maxLine = 200
	// tailSize is how many bytes of a file are read to find its last lines.
	tailSize = 16 << 10
)

// startProcess starts the process of some clients. The files of its output are in the directory logs and called
// logName; each has half of the limit.
func startProcess(ctx context.Context, k *supervisor.Supervisor, clients []string, logName string, argv []string, workDir string, env []string, logs string, limit int64) (*process, error) {
	log := filepath.Join(logs, logName)
	p := &process{clients: clients, stdout: log + ".stdout", stderr: log + ".stderr"}
	if env = behind(workDir, env); !k.Far() {
		env = append(os.Environ(), env...)
	}
	started, err := k.Launch(ctx, supervisor.Program{
		Client: clients[0], Argv: argv, Dir: workDir, Env: env, Stdout: p.stdout, Stderr: p.stderr, Limit: limit / 2,
	})
	if err != nil {
		return nil, fmt.Errorf("client %q cannot be started: %w", clients[0], err)
	}
	p.Process = started
	return p, nil
}

// environment is this process's environment for a process in another directory, empty for the same one, with more behind it.
func environment(workDir string, more []string) []string {
	return append(os.Environ(), behind(workDir, more)...)
}

// behind is what stands behind the environment that a process gets, here or on another host. Go sets PWD itself only where nothing is added.
func behind(workDir string, more []string) (env []string) {
	if workDir != "" {
		env = append(env, "PWD="+workDir)
	}
	return append(env, more...)
}

// end gives the process some time to end, then asks it to end (SIGTERM), then kills it. It reports whether it had to ask.
func (p *process) end(patience time.Duration) (forced bool) {
	if within(p.Done(), patience) {
		return false
	}
	p.Terminate()
	if !within(p.Done(), termWait) {
		p.Kill()
	}
	return true
}

// within reports whether something ends within d.
func within(done <-chan struct{}, d time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// isClosed reports whether something has ended.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// lossReport waits a moment for the end of a process whose client was lost, and says how it ended.
func (p *process) lossReport() server.ProcessEnd {
	r := server.ProcessEnd{Exit: fmt.Sprintf("nothing yet: process %d still runs", p.PID())}
	if within(p.Done(), exitWait) {
		r.Exit = p.exit()
	}
	if host := p.Host(); host != "" && !(isClosed(p.Done()) && errors.As(p.Err(), new(*supervisor.LostHostError))) {
		r.Exit = "on host " + host + ": " + r.Exit
	}
	r.Output = p.lastOutput()
	return r
}

// exit says how the process ended: "exit status 0", "signal: killed". It names what goes on without it.
func (p *process) exit() string {
	text := "exit status 0"
	if err := p.Err(); err != nil {
		text = err.Error()
	}
	if limit := p.hung.Load(); limit > 0 {
		text = fmt.Sprintf("it was ended, as it computed for %v, its hang_timeout, and said nothing: %s", time.Duration(limit), text)
	}
	if p.nests {
		return text
	}
	goes := "goes"
	if isClosed(p.Alone()) {
		goes = "went"
	}
	for _, s := range p.Strays() {
		text += fmt.Sprintf("; %s, which it started, %s on without it: start what is the client in the foreground, or with exec", plain.Text(s.String()), goes)
	}
	return text
}

// livePID is the process, or the first one that goes on without it.
func (p *process) livePID() int {
	if isClosed(p.Done()) && len(p.Strays()) > 0 {
		return p.Strays()[0].PID
	}
	return p.PID()
}

// lastOutput returns the last lines of a process that has ended: of its standard error, or of its output if that is empty.
func (p *process) lastOutput() []string { return p.output.take(p.readOutput) }

func (p *process) readOutput() []string {
	if lines := tail(p.stderr, lastLines); len(lines) > 0 {
		return lines
	}
	return tail(p.stdout, lastLines)
}

// lastLine returns the last line that a process wrote to either of its outputs; empty if there is none.
func (p *process) lastLine() string {
	if lines := p.line.take(p.readLine); len(lines) > 0 {
		return strings.TrimSpace(lines[0])
	}
	return ""
}

// readLine reads that line.
func (p *process) readLine() []string {
	older, newer := p.stdout, p.stderr
	if modified(older).After(modified(newer)) {
		older, newer = newer, older
	}
	for _, file := range []string{newer, older} {
		if lines := tail(file, 1); len(lines) > 0 {
			return lines
		}
	}
	return nil
}

// modified returns when a file was last written to; zero if it cannot be read.
func modified(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// tail returns the last lines of an output as plain text, without empty lines at the end. If the file cannot be read, it
// returns the error as its only line.
func tail(file string, lines int) []string {
	text, err := tailText(file)
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, plain.Line(line, maxLine))
	}
	for len(all) > 0 && strings.TrimSpace(all[len(all)-1]) == "" {
		all = all[:len(all)-1]
	}
	return all[max(0, len(all)-lines):]
}

// tailText returns the last tailSize bytes of an output, after "…" if it has more.
func tailText(file string) (string, error) {
	text, more, err := output.Tail(file, tailSize)
	if more {
		return "…" + string(text), err
	}
	return string(text), err
}
