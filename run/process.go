package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"metasim/server"
)

// A process runs the clients of one group. It is the leader of a process group, so that the processes that it starts end
// with it. Its output goes to two files.
type process struct {
	clients []string // their names
	cmd     *exec.Cmd
	stdout  string // the name of the file
	stderr  string // the name of the other file
	ending
}

// An ending is how a process, or a group of models in this process, ends.
type ending struct {
	done chan struct{} // closed when it has ended
	err  error         // how it ended; valid after done is closed
}

const (
	// exitWait is how long to wait for a process whose connection broke, to learn its exit status.
	exitWait = 2 * time.Second
	// defaultPatience is how long a process may go on after its client has left, if Options.Patience is 0.
	defaultPatience = 10 * time.Second
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

// startProcess starts the process of some clients. The files of its output are in the directory logs, named after the first
// client.
func startProcess(clients []string, argv []string, workDir string, env []string, logs string) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = workDir
	cmd.Env = environment(workDir, env)
	ownGroup(cmd)
	log := filepath.Join(logs, clients[0])
	p := &process{clients: clients, cmd: cmd, stdout: log + ".stdout", stderr: log + ".stderr", ending: ending{done: make(chan struct{})}}
	stdout, err := os.Create(p.stdout)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := os.Create(p.stderr)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("client %q cannot be started: %w", clients[0], err)
	}
	return p, nil
}

// environment is this process's environment for a process in another directory, empty for the same one, with more behind it.
// Go sets PWD itself only where nothing is added.
func environment(workDir string, more []string) []string {
	env := os.Environ()
	if workDir != "" {
		env = append(env, "PWD="+workDir)
	}
	return append(env, more...)
}

// wait waits for the end of the process. It is called once.
func (p *process) wait() {
	p.err = p.cmd.Wait()
	close(p.done)
}

// end gives the process some time to end, then asks it to end (SIGTERM), then kills it. It reports whether it had to ask.
func (p *process) end(patience time.Duration) (forced bool) {
	if p.within(patience) {
		return false
	}
	terminate(p.cmd.Process)
	if !p.within(termWait) {
		kill(p.cmd.Process)
		<-p.done
	}
	return true
}

// within reports whether it ends within d.
func (e *ending) within(d time.Duration) bool {
	select {
	case <-e.done:
		return true
	case <-time.After(d):
		return false
	}
}

// lossReport waits a moment for the end of a process whose client was lost, and says how it ended.
func (p *process) lossReport() server.ProcessEnd {
	r := server.ProcessEnd{Exit: fmt.Sprintf("nothing yet: process %d still runs", p.cmd.Process.Pid)}
	if p.within(exitWait) {
		r.Exit = p.exit()
	}
	r.Output = p.lastOutput()
	return r
}

// exit says how the process ended: "exit status 0", "signal: killed".
func (p *process) exit() string {
	var status *exec.ExitError
	switch {
	case p.err == nil:
		return "exit status 0"
	case errors.As(p.err, &status):
		return status.Error()
	}
	return p.err.Error()
}

// lastOutput returns the last lines of a process that has ended: of its standard error, or of its output if that is empty.
func (p *process) lastOutput() []string {
	if lines := tail(p.stderr, lastLines); len(lines) > 0 {
		return lines
	}
	return tail(p.stdout, lastLines)
}

// lastLine returns the last line that a process wrote to either of its outputs; empty if there is none.
func (p *process) lastLine() string {
	older, newer := p.stdout, p.stderr
	if modified(older).After(modified(newer)) {
		older, newer = newer, older
	}
	for _, file := range []string{newer, older} {
		if lines := tail(file, 1); len(lines) > 0 {
			return strings.TrimSpace(lines[0])
		}
	}
	return ""
}

// modified returns when a file was last written to; zero if it cannot be read.
func modified(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// tail returns the last lines of a file as plain text, without empty lines at the end. If the file cannot be read, it
// returns the error as its only line.
func tail(file string, lines int) []string {
	text, err := tailText(file)
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, plainText(line))
	}
	for len(all) > 0 && strings.TrimSpace(all[len(all)-1]) == "" {
		all = all[:len(all)-1]
	}
	return all[max(0, len(all)-lines):]
}

// tailText returns the last tailSize bytes of a file, after "…" if the file has more.
func tailText(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	cut := ""
	if info, err := f.Stat(); err == nil && info.Size() > tailSize {
		if _, err := f.Seek(-tailSize, io.SeekEnd); err != nil {
			return "", err
		}
		cut = "…"
	}
	text, err := io.ReadAll(io.LimitReader(f, tailSize))
	return cut + string(text), err
}

// controlSequences match what a terminal takes as a command (ECMA-48): CSI, OSC and other strings, and the short ones.
var controlSequences = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// plainText returns what a person would see of a line of output on a terminal, without its commands to the terminal. Output
// may hold anything: colours, a progress bar that overwrites itself (the last version is returned), binary data. A long line
// is cut.
func plainText(line string) string {
	line = controlSequences.ReplaceAllString(strings.ToValidUTF8(line, "?"), "")
	line = strings.TrimRight(line, "\r")
	for versions := strings.Split(line, "\r"); len(versions) > 0; versions = versions[:len(versions)-1] {
		if line = versions[len(versions)-1]; strings.TrimSpace(line) != "" {
			break
		}
	}
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, line)
	line = strings.TrimRight(line, " ")
	if r := []rune(line); len(r) > maxLine {
		line = string(r[:maxLine-1]) + "…"
	}
	return line
}
