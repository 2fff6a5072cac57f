package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"metasim/run"
	"metasim/run/launch"
	"metasim/run/sweep/lease"
	"metasim/wire/transport"
)

const (
	// starts is how many times in a row a worker may end without a result. If only one worker is left, runs may end it
	// starts*retries + 1 times. So the sweep goes on even if it has starts runs that kill every worker: each is given up.
	starts = 3
	// beats is how many answers are asked for in the time after which a worker that says nothing is lost.
	beats = 6
	// leastSilence is the least such time: on a busy host an answer may take a while.
	leastSilence = 3 * time.Second
	// endWait is how long workers may take to end.
	endWait = 10 * time.Second
)

var errTaken = errors.New("the hosts of the sweep were taken away")

// A coordinator has the workers of a sweep, and what it knows of them. One goroutine has it.
type coordinator struct {
	sweep   *Sweep
	options *Cluster
	job     launch.Launcher
	queue   *lease.Queue
	hosts   []string // one for each worker that has a processor there
	workers []*member
	news    chan news
	work    []byte // the first order
	silence time.Duration
	ended   func(*Row)
	running int
	failure error
}

// A member is a worker, as the coordinator sees it.
type member struct {
	id     int // its number
	host   int // of coordinator.hosts
	cmd    *exec.Cmd
	orders chan []byte // written one after the other, to its standard input
	said   *lastWords
	ready  bool
	silent int  // beats without an answer
	lost   bool // its runs were given to others
	closed bool // its orders are
	barren int  // how often it ended since its last result
	over   bool // it is not started again
	why    string
}

// lastWords keep the end of what a worker writes on its standard error, however much that is. It is read when the worker has ended.
type lastWords struct{ text []byte }

func (w *lastWords) Write(b []byte) (int, error) {
	const most = 4 << 10
	w.text = append(w.text, b[max(0, len(b)-most):]...)
	w.text = append(w.text[:0], w.text[max(0, len(w.text)-most):]...)
	return len(b), nil
}

// news is what came from a worker; report is nil when it has ended.
type news struct {
	from   *member
	report *report
	err    error
}

// runCluster carries out the runs that have not ended, with workers on other hosts.
func (s *Sweep) runCluster(ctx context.Context, ended func(*Row)) error {
	var todo []lease.Lease
	for id := range s.Plan.Runs() {
		if !s.isDone(id) {
			todo = append(todo, lease.Lease{ID: id, Attempt: int(s.results.places[id].attempt) + 1})
		}
	}
	if len(todo) == 0 {
		return writeTable(s.Dir, s.Plan, s.results)
	}
	c := s.options.Cluster
	w := &coordinator{sweep: s, options: c, queue: lease.NewQueue(todo, retries), news: make(chan news, 64), ended: ended, silence: c.Silence}
	if w.silence = max(cmp.Or(w.silence, transport.DefaultPeerTimeout), leastSilence); c.Silence < 0 {
		w.silence = 0 // never
	}
	job := launch.NewJob(launch.Request{Workers: min(c.Workers, len(todo)), Options: c.LaunchOptions, Say: c.Say})
	w.job = job
	hosts, err := job.Open(ctx)
	if err != nil {
		return err
	}
	for i := 0; len(w.hosts) < min(c.Workers, len(todo)); i = (i + 1) % len(hosts) { // the processors of a host, and then the next one
		for range job.Tasks()[i] {
			w.hosts = append(w.hosts, hosts[i])
		}
	}
	if err = w.firstOrder(); err == nil {
		err = w.carryOut(ctx, min(c.Workers, len(todo)))
	}
	switch why, taken := job.Why(context.Background()); {
	case !taken || err == nil || ctx.Err() != nil:
	case errors.Is(err, errTaken):
		err = fmt.Errorf("%s: %w", why, err)
	default:
		err = fmt.Errorf("%s: %w; first, %w", why, errTaken, err)
	}
	return errors.Join(err, job.Close(), writeTable(s.Dir, s.Plan, s.results))
}

// firstOrder writes what each worker is told first.
func (c *coordinator) firstOrder() error {
	given := work{Plan: c.sweep.Plan, Text: c.sweep.text, Transport: c.sweep.options.How.Transport}
	if c.sweep.options.Keep {
		dir, err := filepath.Abs(filepath.Join(c.sweep.Dir, attemptsDir))
		if err != nil {
			return err
		}
		given.Attempts = dir
	}
	var err error
	c.work, err = json.Marshal(order{Work: &given})
	return err
}

// carryOut carries out the sweep with some workers, and ends them.
func (c *coordinator) carryOut(ctx context.Context, workers int) error {
	for i := range workers {
		m := &member{id: i, host: i}
		c.workers = append(c.workers, m)
		c.start(m)
	}
	beat := time.NewTicker(cmp.Or(c.silence, time.Hour) / beats)
	defer beat.Stop()
	for c.failure == nil && !c.queue.Over() {
		select {
		case n := <-c.news:
			c.take(n)
		case <-beat.C:
			c.beat()
		case <-c.job.Over():
			c.failure = errTaken
		case <-ctx.Done():
			c.failure = context.Cause(ctx)
		}
	}
	c.end()
	return c.failure
}

// start starts a worker.
func (c *coordinator) start(m *member) {
	argv := c.job.Command(c.hosts[m.host], c.options.Remote, "sweep", "worker")
	m.cmd, m.said = exec.Command(argv[0], argv[1:]...), &lastWords{}
	m.cmd.Env, m.cmd.Stderr = launch.Environment(), m.said
	launch.OwnGroup(m.cmd) // Ctrl-C is for the coordinator
	m.orders, m.ready, m.silent, m.lost, m.closed = make(chan []byte, 4*depth), false, 0, false, false
	in, err := m.cmd.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		out, err = m.cmd.StdoutPipe()
	}
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		c.failure = fmt.Errorf("no worker can be started: %w", err)
		m.over = true
		return
	}
	c.running++
	orders, cmd := m.orders, m.cmd
	go func() {
		for text := range orders {
			_, _ = in.Write(append(text, '\n')) // fails only if it has ended
		}
		_ = in.Close() // likewise
	}()
	go func() {
		for d := json.NewDecoder(out); ; {
			r := new(report)
			if err := d.Decode(r); err != nil {
				break
			}
			c.news <- news{from: m, report: r}
		}
		_, _ = io.Copy(io.Discard, out) // else it may wait
		c.news <- news{from: m, err: cmd.Wait()}
	}()
}

// take takes what came from a worker.
func (c *coordinator) take(n news) {
	m := n.from
	m.silent = 0
	switch r := n.report; {
	case r == nil:
		c.gone(m, n.err)
	case r.Ready != "":
		if r.Ready != run.BuildVersion() {
			c.failure = fmt.Errorf("host %s has metasim %s, and this is %s; install the same version there, or name it with --remote", c.hosts[m.host], r.Ready, run.BuildVersion())
			return
		}
		m.ready = true
		c.tell(m, c.work)
		if c.silence > 0 {
			c.say(m, order{Within: c.silence})
		}
		c.fill()
	case r.Broken != "":
		m.why = r.Broken
	case r.Row != nil:
		m.barren = 0
		c.finish(m, r.Row)
		c.fill()
	default:
		c.fill() // one that was silent may be there again
	}
	m.lost = m.lost && n.report == nil
}

// fill gives runs to the workers that have few.
func (c *coordinator) fill() {
	for held := range depth { // nobody has a second one before all have one
		for _, m := range c.workers {
			if !m.ready || m.over || m.silent > beats || c.queue.Held(m.id) > held {
				continue
			}
			if l, ok := c.queue.Take(m.id); ok {
				m.lost = false
				c.say(m, order{Lease: &l})
			}
		}
	}
}

// finish takes what came of a run.
func (c *coordinator) finish(m *member, row *Row) {
	s := c.sweep
	l := lease.Lease{ID: row.ID, Attempt: row.Attempt}
	switch c.queue.Finish(m.id, l, row.worth()) {
	case lease.Counts:
		c.failure = errors.Join(c.failure, s.publishAndPut(filepath.Join(s.Dir, attemptsDir, attemptName(l)), row, c.ended))
	case lease.Differs:
		c.failure = errors.Join(c.failure, s.differs(row))
	}
}

// gone takes the end of a worker. Another one takes its place, on another host.
func (c *coordinator) gone(m *member, err error) {
	c.running--
	c.hangUp(m)
	m.ready = false
	m.why = fmt.Sprintf("the worker on host %s ended: %s", c.hosts[m.host], cmp.Or(m.why, launch.Reason(string(m.said.text)), fmt.Sprint(err)))
	if c.queue.Over() || c.failure != nil {
		return
	}
	most := starts
	if c.queue.Held(m.id) > 0 && c.alone(m) {
		most = starts*retries + 1
	}
	c.giveUp(m)
	if c.queue.Over() || c.failure != nil {
		return
	}
	if m.barren++; m.barren < most {
		if m.host++; m.host == len(c.hosts) {
			m.host = 0
		}
		why := m.why
		m.why = ""
		c.start(m)
		c.options.say(why + "; another one takes its place")
		c.fill()
		return
	}
	if m.over = true; !c.alone(m) {
		c.options.say(m.why)
		return
	}
	c.failure = fmt.Errorf("no worker is left: %s", m.why)
}

// alone reports whether all other workers have ended for good.
func (c *coordinator) alone(m *member) bool {
	return !slices.ContainsFunc(c.workers, func(other *member) bool { return other != m && !other.over })
}

// giveUp takes the runs of a worker back. One that has cost several workers their lives is not tried any more.
func (c *coordinator) giveUp(m *member) {
	for _, l := range c.queue.Lost(m.id) {
		row := c.sweep.rowOf(l)
		row.giveUp(cmp.Or(m.why, silentWhy))
		c.failure = errors.Join(c.failure, c.sweep.put(row, c.ended))
	}
}

// beat asks all workers for an answer. Others take the runs of one that has not answered for long; if it does not come back at all, its process is ended.
func (c *coordinator) beat() {
	if c.silence == 0 {
		return // they may be silent for any time
	}
	for _, m := range c.workers {
		if m.over || m.closed {
			continue
		}
		m.silent++
		if m.silent > beats && !m.lost && m.ready {
			c.options.say(fmt.Sprintf("the worker on host %s has not said anything for %v; others take its runs", c.hosts[m.host], c.silence))
			m.lost = true
			c.giveUp(m)
			c.fill()
		}
		if m.silent > 3*beats {
			_ = m.cmd.Process.Kill() // it may have ended
			continue
		}
		if m.ready {
			c.say(m, order{Within: c.silence})
		}
	}
}

// say sends an order.
func (c *coordinator) say(m *member, o order) {
	text, err := json.Marshal(o)
	c.failure = errors.Join(c.failure, err)
	c.tell(m, text)
}

// tell sends text to a worker, unless that does not read.
func (c *coordinator) tell(m *member, text []byte) {
	select {
	case m.orders <- text:
	default:
	}
}

// hangUp tells a worker that no more orders come.
func (c *coordinator) hangUp(m *member) {
	if !m.closed {
		m.closed = true
		close(m.orders)
	}
}

// end ends all workers, and takes what they say last.
func (c *coordinator) end() {
	for _, m := range c.workers {
		if m.cmd != nil {
			c.hangUp(m)
		}
		if m.silent > beats && !m.over && m.cmd.Process != nil { // its host was lost: it would not hear of the end
			_ = m.cmd.Process.Kill() // it may have ended
		}
	}
	late := time.After(endWait)
	for c.running > 0 {
		select {
		case n := <-c.news:
			if n.report == nil {
				c.running--
			} else if n.report.Row != nil {
				c.finish(n.from, n.report.Row) // a late attempt is compared
			}
		case <-late:
			for _, m := range c.workers {
				if m.cmd != nil && m.cmd.Process != nil {
					_ = m.cmd.Process.Kill() // it may have ended
				}
			}
		}
	}
}

// say tells what happens beside the sweep.
func (c *Cluster) say(text string) {
	if c.Say != nil {
		c.Say(text)
	}
}
