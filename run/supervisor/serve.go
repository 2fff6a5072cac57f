package supervisor

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"metasim/record/output"
	"metasim/run/launch"
)

// A server is the supervisor's own process.
type server struct {
	changed <-chan os.Signal // a process below this one has ended
	copies  sync.WaitGroup   // of output

	saying sync.Mutex // to write an event, which waits while the connection to metasim is full
	events *json.Encoder

	mu      sync.Mutex
	reaped  chan struct{}  // closed, and replaced, when a process below this one has ended
	leaders map[int]leader // the processes that were started and have not ended, by process number
	groups  map[int]string // the clients of all processes that were started, by the number of their group
	pids    map[int]int    // of the processes that have not ended, by the number of the request
	left    []Stray        // by another supervisor, and ended by this one
}

// A leader is a process that was started, and has not ended.
type leader struct {
	request int
	ended   chan string // is told how
}

// Serve is the supervisor: it says that it is there, and which version it is; it starts programs until its input ends, and then ends all that is
// left below it.
func Serve(in io.Reader, out io.Writer, version string) error {
	if err := becomeSubreaper(); err != nil {
		return err
	}
	// A signal that is for metasim, or for everybody, does not end the supervisor. It is not ignored either, as programs would inherit that.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	s := &server{changed: notifyExits(), events: json.NewEncoder(out), reaped: make(chan struct{}), leaders: map[int]leader{}, groups: map[int]string{}, pids: map[int]int{}}
	requests := make(chan request)
	go func() {
		defer close(requests)
		for d := json.NewDecoder(in); ; {
			var r request
			if d.Decode(&r) != nil {
				return // metasim has ended, or wants no more
			}
			requests <- r
		}
	}()
	go s.reapAlways()
	s.tell(event{Kind: ready, Text: version, Caller: launch.Caller()})
	var lost <-chan time.Time // metasim is lost then
	leaves := notices()
	for {
		select {
		case <-leaves:
			s.tell(event{Kind: noticed})
		case r, more := <-requests:
			if !more {
				s.tell(event{Kind: ended, Strays: append(s.endAll(), s.left...)})
				s.finishCopies()
				return nil
			}
			if r.Within > 0 {
				lost = time.After(r.Within)
			}
			s.serve(&r)
		case <-lost:
			s.endAll() // nobody hears of it
			return errSilence
		}
	}
}

// errSilence tells that metasim was lost.
var errSilence = errors.New("metasim, which has started this supervisor, has not said anything for too long; all that it had started here was ended")

// serve does what a request asks for.
func (s *server) serve(r *request) {
	switch r.Signal {
	case "":
		s.launch(*r)
	case beat:
		s.tell(event{Kind: alive})
	case sweep:
		s.left = endMarked(r.Mark)
	default:
		s.signal(r)
	}
}

// signal signals a process, if it has not ended.
func (s *server) signal(r *request) {
	s.mu.Lock()
	pid, runs := s.pids[r.ID]
	s.mu.Unlock()
	if !runs {
		return
	}
	if r.Signal == ask {
		terminate(pid)
	} else {
		kill(pid)
	}
}

// finishCopies waits until all output is written. A process that the system does not end may keep a pipe.
func (s *server) finishCopies() {
	done := make(chan struct{})
	go func() {
		s.copies.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(termWait):
	}
}

// tell writes an event to metasim.
func (s *server) tell(e event) {
	s.saying.Lock()
	defer s.saying.Unlock()
	_ = s.events.Encode(e) // fails only if metasim has ended, and then nobody reads
}

func (s *server) launch(r request) {
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...)
	cmd.Dir = r.Dir
	cmd.Env = r.Env
	if r.Remote {
		cmd.Env = append(os.Environ(), r.Env...)
	}
	ownGroup(cmd)
	ended := make(chan string, 1)
	pid := 0
	var outputs []*copier
	err := func() error {
		for _, o := range []struct {
			path string
			to   *io.Writer
		}{{r.Stdout, &cmd.Stdout}, {r.Stderr, &cmd.Stderr}} {
			to, err := s.output(&r, o.path)
			if err != nil {
				return err
			}
			c, write, err := newCopier(to, func(err error) { s.tell(event{Kind: lossy, ID: r.ID, Text: err.Error()}) })
			if err != nil {
				return err
			}
			defer write.Close()
			*o.to = write
			outputs = append(outputs, c)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := cmd.Start(); err != nil {
			return err
		}
		pid = cmd.Process.Pid
		s.leaders[pid], s.groups[pid], s.pids[r.ID] = leader{r.ID, ended}, r.Client, pid
		return nil
	}()
	for _, c := range outputs {
		s.copies.Go(c.copy)
	}
	if err != nil {
		refusal := event{Kind: refused, ID: r.ID, Text: err.Error()}
		if path := new(os.PathError); errors.As(err, &path) && errors.As(err, &refusal.Errno) {
			refusal.Text = path.Path
		}
		s.tell(refusal)
		return
	}
	s.tell(event{Kind: started, ID: r.ID, PID: pid})
	go s.wait(r, ended, outputs)
	await(cmd, func(how string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over(pid, how)
	})
}

// output is where one of the outputs of a program goes: into a file, or back to metasim.
func (s *server) output(r *request, path string) (io.WriteCloser, error) {
	if r.Remote {
		return &sender{s, event{Kind: wrote, ID: r.ID, Error: path == r.Stderr}}, nil
	}
	return output.Create(path, r.Limit)
}

// A sender sends what a program writes to metasim.
type sender struct {
	to *server
	as event
}

func (w *sender) Write(b []byte) (int, error) {
	e := w.as
	e.Data = b
	w.to.tell(e)
	return len(b), nil
}

func (w *sender) Close() error { return nil }

// wait tells how a process ended, when what it wrote is on disk.
func (s *server) wait(r request, ended <-chan string, outputs []*copier) {
	text := <-ended
	for _, c := range outputs {
		c.drain()
	}
	var strays []Stray
	for late := time.Now().Add(strayGrace); ; <-time.After(lookEvery) {
		if strays = s.strays(r.Client); len(strays) == 0 || time.Now().After(late) {
			break
		}
	}
	s.tell(event{Kind: exited, ID: r.ID, Text: text, Strays: strays})
	for len(strays) > 0 {
		s.mu.Lock()
		reaped := s.reaped
		s.mu.Unlock()
		if strays = s.strays(r.Client); len(strays) > 0 {
			<-reaped
		}
	}
	s.tell(event{Kind: alone, ID: r.ID})
}

// strays finds the processes that were started by the program of a client and go on without it. An empty name finds all.
func (s *server) strays(client string) (found []Stray) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reap()
	for _, pid := range children() {
		if _, leads := s.leaders[pid]; leads {
			continue
		}
		if owner := s.owner(pid); client == "" || owner == client {
			found = append(found, Stray{owner, pid, command(pid)})
		}
	}
	return found
}

// owner tells whose program started a process: by its group, else by its environment.
func (s *server) owner(pid int) string {
	if client, known := s.groups[group(pid)]; known {
		return client
	}
	return variable(pid, "METASIM_CLIENT")
}

// reap takes the exit status of each child that has ended. No goroutine waits for a single child: it would need a thread, and there may be thousands of children.
// The search for strays asks each thread for its children, so it would be slow. The caller holds mu.
func (s *server) reap() {
	for {
		pid, how := reapNext()
		if pid == 0 {
			return
		}
		s.over(pid, how)
	}
}

// over notes that a process has ended. mu is held.
func (s *server) over(pid int, how string) {
	if l, leads := s.leaders[pid]; leads {
		delete(s.leaders, pid)
		delete(s.pids, l.request)
		l.ended <- how
	}
}

// reapAlways reaps what ends.
func (s *server) reapAlways() {
	for range s.changed {
		s.mu.Lock()
		s.reap()
		close(s.reaped)
		s.reaped = make(chan struct{})
		s.mu.Unlock()
	}
}

// endAll ends all processes. It returns the strays among them.
func (s *server) endAll() (found []Stray) {
	began := time.Now()
	asked := map[int]bool{}
	for ; ; <-time.After(lookEvery) {
		strays := s.strays("")
		s.mu.Lock()
		running := make([]int, 0, len(s.leaders))
		for pid := range s.leaders {
			running = append(running, pid)
		}
		s.mu.Unlock()
		waited := time.Since(began)
		if len(running)+len(strays) == 0 || waited > strayGrace+termWait+killWait {
			return found
		}
		if waited < strayGrace && len(running) == 0 {
			continue
		}
		if len(asked) == 0 {
			found = strays // what turns up later was started by one of these
		}
		for _, stray := range strays {
			running = append(running, stray.PID)
		}
		for _, pid := range running {
			switch {
			case waited > strayGrace+termWait:
				kill(pid)
			case !asked[pid]:
				terminate(pid)
			}
			asked[pid] = true
		}
	}
}
