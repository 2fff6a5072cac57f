package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"metasim/record/output"
)

// ErrGone is how the processes of a supervisor end that has ended itself.
var ErrGone = errors.New("the supervisor of the programs of this run was ended; do not end it, it ends with the run")

// A Supervisor is the caller's end of a supervisor.
type Supervisor struct {
	host     string // empty: this one
	cmd      *exec.Cmd
	said     *lastWords  // of a supervisor on another host, and of what leads there
	ready    chan string // its version
	notice   chan struct{}
	requests io.WriteCloser
	warn     func(client, text string)
	over     chan struct{} // closed when it has ended
	exit     error         // how it ended; valid then
	caller   string        // the address of metasim, as a host of a cluster sees it
	heard    atomic.Bool   // something came since the last beat
	closing  atomic.Bool   // it was asked to end
	silent   atomic.Bool   // nothing came from it, so it was given up
	mark     string        // of what it starts on another host
	trips    trips         // there and back, of beats

	asking sync.Mutex // to write a request

	mu        sync.Mutex
	processes []*Process // by their numbers
	ended     []Stray
	finished  bool // it has ended all that was left
}

// A Process is a program that a supervisor has started.
type Process struct {
	of     *Supervisor
	client string
	pid    int
	begun  chan error    // how it began
	done   chan struct{} // closed when it has ended
	alone  chan struct{} // closed when what it has started has ended too
	err    error
	strays []Stray

	id      int
	outputs [2]*output.Writer // on another host: what comes back of its standard output, and its standard error
	heard   func([]byte)      // may be nil
	lossy   bool              // and it was said that it cannot be kept
}

// Start starts a supervisor: self is the command that starts this program as a supervisor, which calls [Serve]. warn is told of output that
// cannot be kept.
func Start(self []string, warn func(client, text string)) (*Supervisor, error) {
	_ = becomeSubreaper() // of what the supervisor leaves behind if it is killed: where that cannot be had, the programs are ended
	return start("", self, nil, warn)
}

func start(host string, command, env []string, warn func(client, text string)) (*Supervisor, error) {
	k := &Supervisor{host: host, cmd: exec.Command(command[0], command[1:]...), warn: warn, over: make(chan struct{}), ready: make(chan string, 1), notice: make(chan struct{}, 1), said: &lastWords{}}
	k.cmd.Stderr, k.cmd.Env = os.Stderr, env
	if host != "" {
		k.cmd.Stderr = k.said
	}
	ownGroup(k.cmd) // what ends the caller by its group does not end the supervisor
	var err error
	if k.requests, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	events, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	go k.read(events)
	return k, nil
}

// gone is how the processes of a supervisor end that has ended itself. It is valid once over is closed, or is about to be.
func (k *Supervisor) gone() error {
	if k.host == "" {
		return ErrGone
	}
	return &LostHostError{Host: k.host, Cause: k.said.last()}
}

// read takes the events until the supervisor has ended.
func (k *Supervisor) read(events io.Reader) {
	d := json.NewDecoder(events)
	for {
		var e event
		if err := d.Decode(&e); err != nil {
			if !errors.Is(err, io.EOF) {
				k.said.add("what it sends is not from a supervisor: " + err.Error())
			}
			break
		}
		k.heard.Store(true)
		if e.Kind == wrote {
			k.keep(&e)
		} else {
			k.take(e)
		}
	}
	if k.host != "" {
		_ = k.requests.Close() // so that what leads to the host ends, if it has not yet
		k.exit = k.cmd.Wait()  // now all is there that it said last
		if k.exit != nil {
			k.said.add(k.exit.Error())
		}
	}
	k.mu.Lock()
	for _, p := range k.processes {
		if p.running() {
			if p.pid > 0 && k.host == "" {
				kill(p.pid)
			}
			p.end(k.gone())
		}
		p.endAll()
	}
	killed := !k.finished
	k.mu.Unlock()
	if k.host == "" {
		k.exit = k.cmd.Wait() // the system hands its programs on when it has ended
		if killed {
			k.endOrphans()
		}
	}
	close(k.over)
}

// keep keeps what a process on another host wrote. While its disk hangs, the programs there wait.
func (k *Supervisor) keep(e *event) {
	k.mu.Lock()
	p := k.processes[e.ID]
	k.mu.Unlock()
	to := p.outputs[0]
	if e.Error {
		to = p.outputs[1]
	}
	if _, err := to.Write(e.Data); err != nil && !p.lossy {
		p.lossy = true
		k.warn(p.client, err.Error())
	}
	if p.heard != nil {
		p.heard(e.Data)
	}
}

// endOrphans ends what the programs have started, after the supervisor was killed: this process inherits that, see Start.
func (k *Supervisor) endOrphans() {
	ours := map[int]bool{} // a process that has ended tells neither its client nor its command
	for late := time.Now().Add(killWait); time.Now().Before(late); <-time.After(lookEvery) {
		found := false
		for _, pid := range children() {
			if !ours[pid] && !ours[group(pid)] && !k.isOrphan(pid) {
				continue
			}
			ours[pid], found = true, true
			if !reap(pid) {
				kill(pid)
			}
		}
		if !found {
			return // also nothing that one of these has left behind
		}
	}
}

// isOrphan reports whether a child of this process was started by a program of the supervisor: it is in the group of one, or has its
// environment.
func (k *Supervisor) isOrphan(pid int) bool {
	if pid == k.cmd.Process.Pid {
		return false
	}
	leader, client := group(pid), variable(pid, "METASIM_CLIENT")
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.processes, func(p *Process) bool {
		return p.pid > 0 && (leader == p.pid || pid == p.pid) || client != "" && client == p.client
	})
}

func (k *Supervisor) take(e event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e.Kind {
	case alive:
		k.trips.answered(time.Now())
		return
	case ready:
		k.caller = e.Caller
		select {
		case k.ready <- e.Text:
		default: // it was told before
		}
		return
	case noticed:
		select {
		case k.notice <- struct{}{}:
		default: // nobody has taken the one before
		}
		return
	case ended:
		k.ended, k.finished = e.Strays, true
		return
	}
	switch p := k.processes[e.ID]; e.Kind {
	case started:
		p.pid = e.PID
		p.begun <- nil
	case refused:
		err := errors.New(e.Text)
		if e.Errno != 0 {
			err = &os.PathError{Op: "fork/exec", Path: e.Text, Err: e.Errno}
		}
		p.end(err)
	case lossy:
		k.warn(p.client, e.Text)
	case exited:
		p.strays = e.Strays
		if e.Text == "" {
			p.end(nil)
		} else {
			p.end(errors.New(e.Text))
		}
	case alone:
		p.endAll()
	}
}

// Launch starts a program. The files for its output are made: where their disk hangs, Launch waits until ctx is done.
func (k *Supervisor) Launch(ctx context.Context, program Program) (*Process, error) {
	return k.LaunchHeard(ctx, program, nil)
}

// LaunchHeard does so on another host, and calls heard with what the program writes, as it comes.
func (k *Supervisor) LaunchHeard(ctx context.Context, program Program, heard func([]byte)) (*Process, error) {
	p := &Process{of: k, client: program.Client, begun: make(chan error, 1), done: make(chan struct{}), alone: make(chan struct{}), heard: heard}
	if k.host != "" {
		for i, path := range []string{program.Stdout, program.Stderr} {
			var err error
			if p.outputs[i], err = output.Create(path, program.Limit); err != nil {
				return nil, err
			}
		}
	}
	k.mu.Lock()
	p.id = len(k.processes)
	k.processes = append(k.processes, p)
	k.mu.Unlock()
	select {
	case <-k.over:
		return nil, k.gone()
	default:
	}
	if err := k.send(request{ID: p.id, Remote: k.host != "", Program: marked(program, k.mark)}); err != nil {
		return nil, errors.Join(k.gone(), err)
	}
	select {
	case err := <-p.begun:
		return p, err
	case <-p.done:
		return nil, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send sends a request.
func (k *Supervisor) send(r request) error {
	k.asking.Lock() // a request may be longer than a pipe takes at once
	defer k.asking.Unlock()
	return json.NewEncoder(k.requests).Encode(r)
}

// Far reports whether the supervisor is on another host.
func (k *Supervisor) Far() bool { return k.host != "" }

// Gone says how the supervisor has ended; nil: it goes on.
func (k *Supervisor) Gone() error {
	select {
	case <-k.over:
		return k.gone()
	default:
		return nil
	}
}

// Close ends every process that is left. It returns the strays that it had to end.
func (k *Supervisor) Close() ([]Stray, error) {
	k.closing.Store(true)
	err := k.requests.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil // the supervisor has ended before
	}
	hung := time.AfterFunc(strayGrace+termWait+2*killWait, func() { _ = k.cmd.Process.Kill() }) // it has ended already, if this fails
	defer hung.Stop()
	<-k.over
	if k.exit != nil && k.host != "" {
		return k.ended, errors.Join(err, k.gone())
	}
	return k.ended, errors.Join(err, k.exit)
}

func (p *Process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *Process) end(err error) {
	p.err = err
	close(p.done)
}

// endAll notes that nothing is left of the process. The supervisor may have said so, or have ended since.
func (p *Process) endAll() {
	select {
	case <-p.alone:
		return
	default:
		close(p.alone)
	}
	for _, to := range p.outputs {
		if to == nil {
			continue
		}
		if err := to.Close(); err != nil && !p.lossy {
			p.of.warn(p.client, err.Error())
		}
	}
}

// PID is the number that the system knows the process by.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has ended. Err and Strays are valid then.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alone is closed when the process has ended and all that it had started, as far as the system tells which that is; or the supervisor has.
func (p *Process) Alone() <-chan struct{} { return p.alone }

// Err says how the process ended: nil is exit status 0.
func (p *Process) Err() error { return p.err }

// Strays are the processes that go on without this one, by which they were started.
func (p *Process) Strays() []Stray { return p.strays }

// Terminate asks the process and its group to end.
func (p *Process) Terminate() { p.signal(ask) }

// Kill ends the process and its group, and returns when Done is closed. A supervisor that does not tell of the end, as it was stopped,
// is ended too: nobody would ever hear of this process.
func (p *Process) Kill() {
	p.signal(force)
	stopped := time.AfterFunc(killWait, func() { _ = p.of.cmd.Process.Kill() }) // it has ended already, if this fails
	defer stopped.Stop()
	<-p.done
}

// signal signals the process: itself, as a local supervisor may have been stopped; on another host by its supervisor.
func (p *Process) signal(s demand) {
	switch {
	case p.of.host != "":
		_ = p.of.send(request{ID: p.id, Signal: s}) // fails only if the supervisor has ended, and so has the process
	case s == ask:
		terminate(p.pid)
	default:
		kill(p.pid)
	}
}

// Host is the host of the process; empty: this one.
func (p *Process) Host() string { return p.of.host }

// RoundTrip is the least time in which the supervisor of its host has answered: over the network, ssh or srun, and the processes on the way. 0: it has not, or
// is on this host.
func (p *Process) RoundTrip() time.Duration { return p.of.trips.roundTrip() }
