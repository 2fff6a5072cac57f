package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"metasim/server"
)

// A process is a party in a process of its own.
type process struct {
	clients []string // its names
	cmd     *exec.Cmd
	stdout  string        // the file of what it prints
	stderr  string        // likewise
	done    chan struct{} // closed when it has ended
	err     error         // how; valid after done
}

const (
	// deathTime is how long to wait for a process whose connection broke, to learn its exit status.
	deathTime = 2 * time.Second
	// leaveTime is how long a process may go on after its client has left, where Options does not say; abortTime after the run has failed.
	leaveTime = 10 * time.Second
	abortTime = time.Second
	// termTime is how long a process has between the request to end and the end.
	termTime = time.Second
	// lastLines is how many lines of a dead client's output are shown.
	lastLines = 20
)

// start starts the process of some clients, with its output in the run directory, named after the first. It is the leader of a process group, so that
// what it starts ends with it.
func start(clients []string, argv []string, workDir string, env []string, logs string) (*process, error) {
	client := clients[0]
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = workDir
	cmd.Env = append(os.Environ(), env...)
	ownGroup(cmd)
	log := filepath.Join(logs, client)
	p := &process{clients: clients, cmd: cmd, stdout: log + ".stdout", stderr: log + ".stderr", done: make(chan struct{})}
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
		return nil, fmt.Errorf("client %q cannot be started: %w", client, err)
	}
	return p, nil
}

// wait waits for the end of the process, once.
func (p *process) wait() {
	p.err = p.cmd.Wait()
	close(p.done)
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

// obituary waits a moment for the process to end, and says how it did.
func (p *process) obituary() server.Obituary {
	timer := time.NewTimer(deathTime)
	defer timer.Stop()
	var o server.Obituary
	select {
	case <-p.done:
		o.Exit = p.exit()
	case <-timer.C:
		o.Exit = fmt.Sprintf("nothing yet: process %d still runs", p.cmd.Process.Pid)
	}
	o.Output = p.lastWords()
	return o
}

// end waits for the process for some time, and then ends it: politely, then not. It reports whether it had to.
func (p *process) end(patience time.Duration) (forced bool) {
	if p.within(patience) {
		return false
	}
	terminate(p.cmd.Process)
	if !p.within(termTime) {
		kill(p.cmd.Process)
		<-p.done
	}
	return true
}

func (p *process) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
