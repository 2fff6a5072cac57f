package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"metasim/internal/outward"
	"metasim/run/launch"
	"metasim/run/supervisor"
	"metasim/wire/transport"
)

// hostPatience is how long a host may take until its supervisor answers, and its relay.
const hostPatience = 30 * time.Second

// How long a host that was lost may take until it ends what is left there. Slurm may let a step wait.
const (
	leftPatience      = 5 * time.Second
	leftPatienceSlurm = time.Minute
)

// relayLives is how many relays a host may have, one after the other.
const relayLives = 4

// leastBeat is the least time after which a host that says nothing is lost: on a busy one an answer may take a while.
const leastBeat = 3 * time.Second

// prepare makes all hosts ready, or none: a supervisor on each, and a relay. The error names each host that is not, and why. The context ends the wait for
// hosts, and nothing that goes on after it.
func (c *clients) prepare(ctx context.Context) error {
	if !c.options.far() {
		return nil
	}
	if err := c.makeLogs(ctx); err != nil {
		return err
	}
	if c.planned == nil { // a run that is resumed
		plan, err := c.plan(ctx)
		if err != nil {
			return err
		}
		c.planned = &plan
	}
	c.launcher = c.options.launcher()
	names, err := c.launcher.Open(ctx)
	if err != nil {
		return err
	}
	c.hosts = make([]*host, len(names))
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, hostPatience, fmt.Errorf("nothing came for %v", hostPatience))
			defer cancel()
			c.hosts[i], errs[i] = c.prepareHost(ctx, name)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("not all hosts are ready: %s; see metasim doctor %s", strings.ReplaceAll(err.Error(), "\n", "; "), c.options.doctor())
	}
	return c.place(c.planned)
}

// watchHosts goes on until the context ends: it replaces relays that are lost, and ends the run when what it needs is taken away.
func (c *clients) watchHosts(ctx context.Context) {
	for _, h := range c.hosts {
		go c.keepRelay(ctx, h)
		go c.watchNotice(ctx, h)
		if limit := cmp.Or(c.scenario.PeerTimeout, transport.DefaultPeerTimeout); limit > 0 {
			go h.supervisor.Beat(max(limit, leastBeat))
		}
	}
	go c.watchLauncher(ctx)
}

// doctor is what says more about hosts that are not ready.
func (o *Options) doctor() string {
	flags, found := "--launch slurm", strings.Join(o.Self, " ")
	if o.Launch == "ssh" {
		flags, found = "--hosts "+strings.Join(o.Hosts, ","), "metasim"
	}
	if o.Remote != found { // the doctor does not find it by itself
		flags += " --remote " + o.Remote
	}
	return flags
}

// watchLauncher ends the run when all its hosts are taken away.
func (c *clients) watchLauncher(ctx context.Context) {
	select {
	case <-c.launcher.Over():
		c.server.Fail(errTaken)
	case <-ctx.Done():
	}
}

// watchNotice ends the run when a host of it is about to be taken away: it goes on elsewhere, or later.
func (c *clients) watchNotice(ctx context.Context, h *host) {
	select {
	case <-h.supervisor.Notice():
		c.noticed.Store(true)
		c.server.Fail(fmt.Errorf("stopped by signal: SIGUSR1 on host %s, which tells that it is about to be taken away", h.name))
	case <-ctx.Done():
	}
}

// prepareHost starts a supervisor and a relay on a host.
func (c *clients) prepareHost(ctx context.Context, name string) (h *host, err error) {
	h = &host{name: name, clients: map[string]bool{}}
	var version string
	if h.supervisor, version, err = supervisor.StartOn(ctx, name, c.launcher.Command(name, c.options.Remote, "supervise"), launch.Environment(), c.lossy); err != nil {
		return nil, err
	}
	if version != BuildVersion() {
		return h, fmt.Errorf("host %s has metasim %s, and this is %s; install the same version there, or name it with --remote", name, version, BuildVersion())
	}
	return h, c.startRelay(ctx, h)
}

// startRelay starts a relay on a host: the first one, or one that takes the place of another at the same address, for its clients come back there.
func (c *clients) startRelay(ctx context.Context, h *host) error {
	addresses := make(chan string, 1)
	relay, err := c.launchRelay(ctx, h, addresses)
	if err != nil {
		return fmt.Errorf("host %s: its relay: %w", h.name, err)
	}
	h.mu.Lock()
	h.relay = relay
	h.relays++
	h.mu.Unlock()
	select {
	case h.server = <-addresses:
		return nil
	case <-relay.Done():
		return fmt.Errorf("host %s: its relay ended: %s", h.name, howRelay(relay))
	case <-ctx.Done():
		return fmt.Errorf("host %s: its relay does not answer: %w", h.name, context.Cause(ctx))
	}
}

// howRelay says how a relay has ended, with what it has said last of what is wrong: it prints the address for its clients, which does not belong there.
func howRelay(p *process) string {
	lines := tail(p.stderr, lastLines)
	if len(lines) == 0 {
		return p.exit()
	}
	return p.exit() + ": " + strings.Join(lines, " ")
}

// launchRelay starts the process of a relay. It hands over the address for the clients, which the relay prints.
func (c *clients) launchRelay(ctx context.Context, h *host, addresses chan<- string) (*process, error) {
	const says = "METASIM_SERVER="
	log := "relay~" + strings.ReplaceAll(h.name, string(filepath.Separator), "_")
	argv := []string{c.options.Remote, "relay"}
	if h.relays > 0 {
		log, argv = fmt.Sprintf("%s~%d", log, h.relays), append(argv, "--listen", h.server)
	}
	log = filepath.Join(c.dir.File("clients"), log)
	p := &process{clients: []string{"relay of " + h.name}, stdout: log + ".stdout", stderr: log + ".stderr"}
	var text strings.Builder
	known := false
	heard := func(b []byte) {
		if known {
			return
		}
		text.Write(b)
		_, after, found := strings.Cut(text.String(), says)
		if address, _, whole := strings.Cut(after, "\n"); found && whole {
			known = true
			addresses <- address
		}
	}
	var err error
	p.Process, err = h.supervisor.LaunchHeard(ctx, supervisor.Program{
		Client: p.clients[0], Argv: argv,
		Env:    []string{"METASIM_SERVER=" + outward.From(c.listeners.outside.URL(), h.supervisor.Caller()), "METASIM_TOKEN=" + c.listeners.forStarted()},
		Stdout: p.stdout, Stderr: p.stderr, Limit: c.scenario.OutputLimit / 2,
	}, heard)
	return p, err
}

// keepRelay starts another relay where one has died: its clients, which live, come back through that.
func (c *clients) keepRelay(ctx context.Context, h *host) {
	for {
		relay, lives := h.lastRelay()
		select {
		case <-relay.Done():
		case <-ctx.Done():
			return
		}
		if relay.Err() == nil || errors.As(relay.Err(), new(*supervisor.LostHostError)) || within(ctx.Done(), helloGrace) {
			return // the run is over for this host
		}
		how := fmt.Sprintf("the relay of host %s ended: %s", h.name, howRelay(relay))
		if lives == relayLives {
			c.server.Fail(fmt.Errorf("%s; it was started %d times", how, lives))
			return
		}
		c.options.Log.Warn("a relay has died; another one takes its place", "host", h.name, "cause", how)
		patience, cancel := context.WithTimeoutCause(ctx, hostPatience, fmt.Errorf("nothing came for %v", hostPatience))
		err := c.startRelay(patience, h)
		cancel()
		if err != nil && ctx.Err() == nil && h.supervisor.Gone() == nil {
			c.server.Fail(err)
		}
		if err != nil {
			return
		}
	}
}

// lastRelay returns the relay that was started last, and how many there were.
func (h *host) lastRelay() (*process, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.relay, h.relays
}

// makeLogs makes the directory for the output of processes.
func (c *clients) makeLogs(ctx context.Context) error {
	return onDisk(ctx, func() {}, func() error { return os.MkdirAll(c.dir.File("clients"), 0o700) })
}

// startSupervisor starts the process that supervises the others.
func (c *clients) startSupervisor() (*supervisor.Supervisor, error) {
	if len(c.options.Self) == 0 {
		return nil, errors.New("Options.Self does not say how to start this program, which is to supervise the processes of the run")
	}
	return supervisor.Start(append(slices.Clone(c.options.Self), "supervise"), c.lossy)
}

// lossy tells that output of a process cannot be kept.
func (c *clients) lossy(client, text string) {
	c.options.Log.Warn("the output of a client is not kept any more", "client", client, "cause", text)
}

// hostOf returns the host of a group, and starts the supervisor of this one if it is needed. Where the host of a client was lost, another one takes it.
func (c *clients) hostOf(g group) (*host, error) {
	if c.options.far() {
		if h := c.placement[g[0].Name]; h.supervisor.Gone() == nil {
			return h, nil
		}
		for _, h := range c.hosts {
			if h.supervisor.Gone() == nil {
				return h, nil
			}
		}
		return nil, c.hosts[0].supervisor.Gone()
	}
	if len(c.hosts) == 0 {
		s, err := c.startSupervisor()
		if err != nil {
			return nil, fmt.Errorf("no client can be started: %w", err)
		}
		c.hosts = []*host{{supervisor: s, clients: map[string]bool{}}}
		if c.listeners.outside != nil {
			c.hosts[0].server = c.listeners.outside.URL()
		}
	}
	return c.hosts[0], nil
}

// has notes that clients are on the host.
func (h *host) has(clients []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range clients {
		h.clients[name] = true
	}
}

// closeHosts ends all that is left on each host. It returns the programs that went on without their clients.
func (c *clients) closeHosts(ok bool) (strays []supervisor.Stray, err error) {
	found, errs := make([][]supervisor.Stray, len(c.hosts)), make([]error, len(c.hosts))
	var all sync.WaitGroup
	for i, h := range c.hosts {
		if h == nil || h.supervisor == nil {
			continue
		}
		all.Go(func() {
			if relay, _ := h.lastRelay(); relay != nil && relay.Process != nil {
				relay.end(abortPatience) // it ends with the run
			}
			found[i], errs[i] = h.supervisor.Close()
			c.endLeft(h)
		})
	}
	all.Wait()
	if c.launcher != nil {
		if len(c.hosts) > 0 && !ok {
			c.ended, c.taken = c.launcher.Why(context.Background())
		}
		c.taken = c.taken || c.noticed.Load()
		errs = append(errs, c.launcher.Close())
	}
	return slices.Concat(found...), errors.Join(errs...)
}

// endLeft ends what is left on a host whose supervisor was killed, as by a system that is short of memory. A host that cannot be reached ends it by itself, as
// its supervisor hears nothing any more. Slurm ends a step as a whole only where it tracks processes by cgroups; the end of a job ends all of them. Slurm starts no step on a
// host that it has lost, and tries for long.
func (c *clients) endLeft(h *host) {
	if c.launcher == nil || h.supervisor.Lost() == nil || c.options.Launch == "slurm" && h.supervisor.Silent() {
		return
	}
	patience := leftPatience
	if c.options.Launch == "slurm" {
		patience = leftPatienceSlurm
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("nothing came for %v", patience))
	defer cancel()
	if _, taken := c.launcher.Why(ctx); taken {
		return
	}
	left, err := h.supervisor.EndLeft(ctx, c.launcher.Command(h.name, c.options.Remote, "supervise"), launch.Environment())
	if err != nil {
		c.options.Log.Warn("a host was lost, and what the run has started there may go on for a while", "host", h.name, "cause", err)
		return
	}
	for _, stray := range left {
		c.options.Log.Warn("a host was lost, and what the run had left there was ended", "client", stray.Client, "process", stray.String())
	}
}

// nameJob adds to the error of a run what became of its hosts, as who gave them says.
func (c *clients) nameJob(out *Outcome, stopped bool) {
	switch {
	case c.ended == "" || out.OK || strings.Contains(out.Error, c.ended):
	case c.taken && !c.noticed.Load() && !stopped:
		out.fail(&takenError{c.ended, out.Err})
	default:
		out.fail(fmt.Errorf("%w; %s", out.Err, c.ended))
	}
}

// outcomes say what became of each host, if there are others than this one.
func (c *clients) outcomes() (all []HostOutcome) {
	for _, h := range c.hosts {
		if h == nil || h.name == "" {
			continue
		}
		o := HostOutcome{Name: h.name, Clients: []string{}, Exit: hostEnded}
		for i := range c.scenario.Clients { // in their order there, whenever they came to the host
			if name := c.scenario.Clients[i].Name; h.clients[name] {
				o.Clients = append(o.Clients, name)
			}
		}
		for _, g := range c.cells.groups() {
			if h.clients[g[0].Name] {
				o.Clients = append(o.Clients, c.cells.own(g[0].Name)...)
			}
		}
		if lost := h.supervisor.Lost(); lost != nil {
			o.Exit = lost.Error()
		}
		all = append(all, o)
	}
	return all
}
