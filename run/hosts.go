package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"metasim/run/launch"
	"metasim/run/supervisor"
)

// hostPatience is how long a host may take until its supervisor answers, and its relay.
const hostPatience = 30 * time.Second

// prepare makes all hosts ready, or none: a supervisor on each, and a relay. The error names each host that is not, and why.
func (c *clients) prepare(ctx context.Context) error {
	if !c.options.far() {
		return nil
	}
	if err := c.makeLogs(ctx); err != nil {
		return err
	}
	c.hosts = make([]*host, len(c.options.Hosts))
	errs := make([]error, len(c.options.Hosts))
	var all sync.WaitGroup
	for i, name := range c.options.Hosts {
		all.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, hostPatience, fmt.Errorf("nothing came for %v", hostPatience))
			defer cancel()
			c.hosts[i], errs[i] = c.prepareHost(ctx, name)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("not all hosts are ready: %s; see metasim doctor --hosts %s", strings.ReplaceAll(err.Error(), "\n", "; "), strings.Join(c.options.Hosts, ","))
	}
	return nil
}

// prepareHost starts a supervisor and a relay on a host.
func (c *clients) prepareHost(ctx context.Context, name string) (h *host, err error) {
	h = &host{name: name}
	var version string
	if h.supervisor, version, err = supervisor.StartOn(ctx, name, launch.SSH(name, c.options.Remote, "supervise"), c.lossy); err != nil {
		return nil, err
	}
	if version != BuildVersion() {
		return h, fmt.Errorf("host %s has metasim %s, and this is %s; install the same version there, or name it with --remote", name, version, BuildVersion())
	}
	addresses := make(chan string, 1)
	h.relay, err = c.startRelay(ctx, h, addresses)
	if err != nil {
		return h, fmt.Errorf("host %s: its relay: %w", name, err)
	}
	select {
	case h.server = <-addresses:
		return h, nil
	case <-h.relay.Done():
		return h, fmt.Errorf("host %s: its relay ended: %s %s", name, h.relay.exit(), strings.Join(h.relay.lastOutput(), " "))
	case <-ctx.Done():
		return h, fmt.Errorf("host %s: its relay does not answer: %w", name, context.Cause(ctx))
	}
}

// startRelay starts the relay of a host. It hands over the address for the clients, which the relay prints.
func (c *clients) startRelay(ctx context.Context, h *host, addresses chan<- string) (*process, error) {
	const says = "METASIM_SERVER="
	log := filepath.Join(c.dir.File("clients"), "relay~"+strings.ReplaceAll(h.name, string(filepath.Separator), "_"))
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
		Client: p.clients[0], Argv: []string{c.options.Remote, "relay"}, Env: []string{"METASIM_SERVER=" + reachable(c.listeners.outside.URL()), "METASIM_TOKEN=" + c.listeners.token},
		Stdout: p.stdout, Stderr: p.stderr, Limit: c.scenario.OutputLimit / 2,
	}, heard)
	return p, err
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

// hostOf returns the host of a group, and starts the supervisor of this one if it is needed. Groups that follow one another are on one host, and each
// host has as many as any other, or one more.
func (c *clients) hostOf(g group) (*host, error) {
	if c.options.far() {
		all := groups(c.scenario.Clients, c.options.Pack)
		all = slices.DeleteFunc(all, func(g group) bool { return g[0].External })
		i := slices.IndexFunc(all, func(other group) bool {
			return slices.ContainsFunc(other.names(), func(name string) bool { return name == g[0].Name })
		})
		return c.hosts[i*len(c.hosts)/len(all)], nil
	}
	if len(c.hosts) == 0 {
		s, err := c.startSupervisor()
		if err != nil {
			return nil, fmt.Errorf("no client can be started: %w", err)
		}
		c.hosts = []*host{{supervisor: s, server: c.listeners.outside.URL()}}
	}
	return c.hosts[0], nil
}

// has notes that clients are on the host.
func (h *host) has(clients []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range clients {
		if !slices.Contains(h.clients, name) {
			h.clients = append(h.clients, name)
		}
	}
}

// closeHosts ends all that is left on each host. It returns the programs that went on without their clients.
func (c *clients) closeHosts() (strays []supervisor.Stray, err error) {
	found, errs := make([][]supervisor.Stray, len(c.hosts)), make([]error, len(c.hosts))
	var all sync.WaitGroup
	for i, h := range c.hosts {
		if h == nil || h.supervisor == nil {
			continue
		}
		all.Go(func() {
			if h.relay != nil && h.relay.Process != nil {
				h.relay.end(abortPatience) // it ends with the run
			}
			found[i], errs[i] = h.supervisor.Close()
		})
	}
	all.Wait()
	return slices.Concat(found...), errors.Join(errs...)
}

// outcomes say what became of each host, if there are others than this one.
func (c *clients) outcomes() (all []HostOutcome) {
	for _, h := range c.hosts {
		if h == nil || h.name == "" {
			continue
		}
		o := HostOutcome{Name: h.name, Clients: append([]string{}, h.clients...), Exit: hostEnded}
		if lost := h.supervisor.Lost(); lost != nil {
			o.Exit = lost.Error()
		}
		all = append(all, o)
	}
	return all
}
