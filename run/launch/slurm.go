package launch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// askEvery is the time between two looks at a job that waits for its hosts.
	askEvery = time.Second
	// stuckFor is how long a job may wait for a reason that only a person changes.
	stuckFor = 10 * time.Second
	// endingFor is how long a job may be about to end, until that is all that is said of it.
	endingFor = 5 * time.Second
	// closeWait is how long Slurm may take to end a job.
	closeWait = 10 * time.Second
)

// A Request says which hosts of a cluster are wanted.
type Request struct {
	// Nodes is how many hosts; 0: those of the job in which this program runs, or as many as Slurm gives.
	Nodes int
	// Hosts names them. Empty: any.
	Hosts []string
	// Workers is how many processors are wanted, on however many hosts; 0: hosts are, each with what Options say.
	Workers int
	// Options are more words for salloc, or inside of a job for srun.
	Options []string
	// Say is told, while it waits, why.
	Say func(text string)
}

// A Job is a job of Slurm, or the one in which this program runs: a step is started on each of its hosts. A job of its own ends with this program, also if
// this is killed: salloc keeps it until a program ends that waits for this one.
type Job struct {
	request Request
	inside  bool // this program runs in the job, which therefore is not ours to end
	id      string
	tasks   []int // how many processors there are for workers on each host

	cmd  *exec.Cmd
	hold io.WriteCloser
	said said
	over chan struct{} // closed when salloc has ended
}

// NewJob returns a job that has no hosts yet.
func NewJob(r Request) *Job { return &Job{request: r, over: make(chan struct{})} }

// Over is closed when the job has ended: it was cancelled, its time is over, or a host of it has failed. It is nil inside of a job, which is the end of this
// program too.
func (j *Job) Over() <-chan struct{} {
	if j.inside {
		return nil
	}
	return j.over
}

// Tasks returns, for each host, how many workers its processors are enough for. It is valid after Open, and only if the Request asked for workers.
func (j *Job) Tasks() []int { return j.tasks }

// Command is what starts metasim on a host, as a step of the job. It shares the processors of the job there with all others.
func (j *Job) Command(host, metasim string, args ...string) []string {
	argv := []string{"srun", "--jobid=" + j.id, "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=" + host, "--cpu-bind=none", "--mpi=none", "--job-name=metasim"}
	if j.inside {
		argv = append(argv, j.request.Options...)
	}
	return append(append(argv, metasim), args...)
}

// Open waits for the hosts of the job.
func (j *Job) Open(ctx context.Context) ([]string, error) {
	nodelist, tasks := os.Getenv("SLURM_JOB_NODELIST"), os.Getenv("SLURM_TASKS_PER_NODE")
	if j.id = os.Getenv("SLURM_JOB_ID"); j.id != "" {
		j.inside = true
		close(j.over)
	} else {
		var err error
		if nodelist, tasks, err = j.allocate(ctx); err != nil {
			return nil, errors.Join(err, j.Close())
		}
	}
	hosts, err := j.hosts(ctx, nodelist, tasks)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return hosts, nil
}

// hosts chooses the hosts of the job that are wanted.
func (j *Job) hosts(ctx context.Context, nodelist, tasks string) ([]string, error) {
	out, err := command(ctx, "scontrol", "show", "hostnames", nodelist)
	if err != nil {
		return nil, fmt.Errorf("the hosts of job %s: %w", j.id, err)
	}
	all := strings.Fields(out)
	if j.tasks, err = counts(tasks, len(all)); err != nil {
		return nil, fmt.Errorf("the processors of job %s: %w", j.id, err)
	}
	for _, host := range j.request.Hosts {
		if !slices.Contains(all, host) {
			return nil, fmt.Errorf("job %s has the hosts %s, and --hosts names %s; name hosts of the job, or start metasim outside of it", j.id, strings.Join(all, ","), host)
		}
	}
	n := cmp.Or(max(j.request.Nodes, len(j.request.Hosts)), len(all))
	if n > len(all) {
		return nil, fmt.Errorf("job %s has %d hosts, and --nodes asks for %d; ask for more when you start the job, or start metasim outside of it", j.id, len(all), n)
	}
	named := slices.Clone(j.request.Hosts)
	for _, host := range all { // those that are named come first
		if !slices.Contains(j.request.Hosts, host) {
			named = append(named, host)
		}
	}
	return named[:n], nil
}

// counts reads SLURM_TASKS_PER_NODE: "2(x3),1" is 2, 2, 2, 1. Where it says nothing, each host has one.
func counts(text string, hosts int) (all []int, err error) {
	for part := range strings.SplitSeq(cmp.Or(text, fmt.Sprintf("1(x%d)", hosts)), ",") {
		number, times, repeated := strings.Cut(strings.TrimSuffix(part, ")"), "(x")
		n, err := strconv.Atoi(number)
		repeat := 1
		if err == nil && repeated {
			repeat, err = strconv.Atoi(times)
		}
		if err != nil || n < 1 || repeat < 1 || repeat > hosts-len(all) {
			return nil, fmt.Errorf("SLURM_TASKS_PER_NODE is %q, for %d hosts; report this with the version of Slurm", text, hosts)
		}
		all = append(all, slices.Repeat([]int{n}, repeat)...)
	}
	if len(all) != hosts {
		return nil, fmt.Errorf("SLURM_TASKS_PER_NODE is %q, for %d hosts; report this with the version of Slurm", text, hosts)
	}
	return all, nil
}

// allocated is what a shell says in the job, before it waits for the end of this program.
const allocated = `echo "$SLURM_JOB_ID $SLURM_JOB_NODELIST $SLURM_TASKS_PER_NODE"; exec cat >/dev/null`

// allocate has salloc make a job, and waits until it has its hosts.
func (j *Job) allocate(ctx context.Context) (nodelist, tasks string, err error) {
	argv := []string{"--job-name=metasim"}
	r := &j.request
	switch {
	case r.Workers > 0:
		argv = append(argv, fmt.Sprintf("--ntasks=%d", r.Workers), "--no-kill") // the other hosts go on when one fails
	default:
		argv = append(argv, "--ntasks-per-node=1")
	}
	if r.Nodes > 0 {
		argv = append(argv, fmt.Sprintf("--nodes=%d", r.Nodes))
	}
	if len(r.Hosts) > 0 {
		argv = append(argv, "--nodelist="+strings.Join(r.Hosts, ","))
	}
	j.cmd = exec.Command("salloc", append(append(argv, r.Options...), "sh", "-c", allocated)...)
	j.cmd.Env = Environment()
	j.cmd.Stderr = &j.said
	OwnGroup(j.cmd) // Ctrl-C is for this program, which ends the job
	out, err := j.cmd.StdoutPipe()
	if err == nil {
		j.hold, err = j.cmd.StdinPipe()
	}
	if err == nil {
		err = j.cmd.Start()
	}
	if err != nil {
		j.cmd = nil
		close(j.over)
		return "", "", fmt.Errorf("no hosts can be asked for: %w; install Slurm's client programs, or see metasim doctor --launch slurm", err)
	}
	granted := make(chan []string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n') // without a line salloc has ended, and says why
		if words := strings.Fields(line); len(words) == 3 {
			granted <- words
		}
		_, _ = io.Copy(io.Discard, out) // nothing more comes
		_ = j.cmd.Wait()                // likewise: what it said is known
		close(j.over)
	}()
	return j.wait(ctx, granted)
}

// wait waits until the job has its hosts, and tells why it waits.
func (j *Job) wait(ctx context.Context, granted <-chan []string) (nodelist, tasks string, err error) {
	every := time.NewTicker(askEvery)
	defer every.Stop()
	told, stuck := "", time.Time{}
	for {
		select {
		case words := <-granted:
			j.id = words[0]
			return words[1], words[2], nil
		case <-j.over:
			return "", "", fmt.Errorf("no hosts come from Slurm: %s", cmp.Or(j.said.reason(), "salloc ended"))
		case <-ctx.Done():
			return "", "", fmt.Errorf("no hosts until then: %w; %s", context.Cause(ctx), cmp.Or(told, "Slurm had not said why"))
		case <-every.C:
		}
		j.id = j.said.job()
		reason := j.reason(ctx)
		if reason == "" {
			continue
		}
		text := fmt.Sprintf("job %s waits for its hosts: %s", j.id, reason)
		if text != told && j.request.Say != nil {
			j.request.Say(text)
		}
		told = text
		if !isStuck(reason) {
			stuck = time.Time{}
		} else if stuck.IsZero() {
			stuck = time.Now()
		} else if time.Since(stuck) > stuckFor {
			return "", "", fmt.Errorf("job %s got no hosts: %s; see sinfo, or ask for fewer or other hosts", j.id, reason)
		}
	}
}

// reason asks why the job waits; empty: that is not known.
func (j *Job) reason(ctx context.Context) string {
	if j.id == "" {
		return ""
	}
	out, err := command(ctx, "squeue", "--noheader", "--jobs="+j.id, "--states=PENDING", "--format=%r")
	if reason := strings.TrimSpace(out); err == nil && reason != "None" {
		return reason
	}
	return ""
}

// isStuck reports whether a job that waits for this reason waits until a person does something.
func isStuck(reason string) bool {
	return slices.ContainsFunc([]string{
		"ReqNodeNotAvail", "Nodes required for job are DOWN", "PartitionConfig", "PartitionDown", "PartitionInactive", "PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints",
		"JobHeldUser", "JobHeldAdmin", "NodeDown", "AccountNotAllowed", "InvalidAccount", "InvalidQOS", "QOSNotAllowed", "NonZeroExitCode",
	}, func(stuck string) bool { return strings.HasPrefix(strings.ReplaceAll(reason, "_", " "), stuck) })
}

// stateOf finds the state of a job, and its reason, in what scontrol shows.
var stateOf = regexp.MustCompile(`JobState=(\S+) Reason=(\S+)`)

// Why says how the job has ended, where Slurm says that it has, and else which one it is. It says so once the programs in it have ended, which may take a
// moment.
func (j *Job) Why(ctx context.Context) (words string, taken bool) {
	if j.id == "" {
		return "", false
	}
	for late := time.Now().Add(endingFor); ; time.Sleep(askEvery / 10) {
		out, err := command(ctx, "scontrol", "--oneliner", "show", "job", j.id)
		m := stateOf.FindStringSubmatch(out)
		switch {
		case err != nil || m == nil || m[1] == "RUNNING":
			return fmt.Sprintf("it ran in job %s of Slurm", j.id), false
		case m[1] == "COMPLETING" && time.Now().Before(late):
			continue
		case m[2] == "None" || m[2] == m[1]:
			return fmt.Sprintf("job %s is %s", j.id, m[1]), true
		}
		return fmt.Sprintf("job %s is %s (%s)", j.id, m[1], m[2]), true
	}
}

// Close ends the job, unless this program runs in it.
func (j *Job) Close() error {
	if j.cmd == nil {
		return nil
	}
	_ = j.hold.Close() // the shell in the job ends, and so the job does
	if j.ended(closeWait / 10) {
		return nil
	}
	var err error
	if id := cmp.Or(j.id, j.said.job()); id != "" {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		_, err = command(ctx, "scancel", id)
	}
	_ = j.cmd.Process.Signal(os.Interrupt) // it may have ended
	if !j.ended(closeWait) {
		_ = j.cmd.Process.Kill() // likewise
		<-j.over
	}
	return err
}

// ended reports whether salloc ends within d.
func (j *Job) ended(d time.Duration) bool {
	select {
	case <-j.over:
		return true
	case <-time.After(d):
		return false
	}
}

// Environment is that of this program for the programs of a cluster: what they get there goes over the network as it is, so it has no secret of ours.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "METASIM_TOKEN=") || strings.HasPrefix(entry, "METASIM_HTTP_TOKEN=")
	})
}

// command runs a program of Slurm to its end. An error says why it has failed.
func command(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second // what it has started may hold its output
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %s", argv[0], cmp.Or(Reason(string(exit.Stderr)), exit.Error()))
	}
	return string(out), err
}

// said is what salloc says.
type said struct {
	mu    sync.Mutex
	lines []string
	rest  string
}

// Write takes whole lines, of which it keeps the last ten.
func (s *said) Write(b []byte) (int, error) {
	const most = 10
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest += string(b)
	for {
		line, rest, whole := strings.Cut(s.rest, "\n")
		if !whole {
			return len(b), nil
		}
		s.rest = rest
		s.lines = append(s.lines, strings.TrimSpace(line))
		s.lines = s.lines[max(0, len(s.lines)-most):]
	}
}

// reason is why salloc has ended, as far as it has said that.
func (s *said) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Reason(strings.Join(append(s.lines, s.rest), "\n"))
}

// jobOf finds the number of the job in a line of salloc.
var jobOf = regexp.MustCompile(`job allocation (\d+)`)

// job is the number of the job, once it is known.
func (s *said) job() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if m := jobOf.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}
