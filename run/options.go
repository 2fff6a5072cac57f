package run

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"

	"metasim/federates/catalog"
	"metasim/run/launch"
	"metasim/scenarios"
)

// Outside reports whether any client of this scenario joins from outside of this process, so that there is an address.
func (o *Options) Outside(sc *scenarios.Scenario) bool {
	return slices.ContainsFunc(sc.Clients, func(c scenarios.Client) bool { return !o.inside(c) })
}

// inside reports whether a client runs in this process. One that measures does wherever the others are: this process knows what they take.
func (o *Options) inside(c scenarios.Client) bool {
	spec, _ := catalog.Lookup(c.Model) // a command has no model, and does not measure
	return c.Model != "" && (o.Transport == "" || o.Transport == Transports[0] || spec.Measures || slices.Contains(o.Inside, c.Name)) && !o.Serve
}

// idles reports whether a client has a process only while it is given something.
func (o *Options) idles(name string) bool {
	return o.Transport != Transports[0] && !o.Serve && !o.far() && o.Pack <= 1 && slices.Contains(o.Idle, name)
}

// together reports whether two clients may share a process: models whose process nobody ends for one of them, and in the same place.
func (o *Options) together(sc *scenarios.Scenario, a, b *scenarios.Client) bool {
	for _, c := range []*scenarios.Client{a, b} {
		if c.Model == "" || c.Model == cellModel || c.Restarts > 0 || c.HangTimeout > 0 {
			return false
		}
	}
	hostA, placedA := sc.Placement[a.Name]
	hostB, placedB := sc.Placement[b.Name]
	return a.Detach == b.Detach && o.inside(*a) == o.inside(*b) && hostA == hostB && placedA == placedB
}

// groups are those of a run.
func (o *Options) groups(sc *scenarios.Scenario) (all []group) {
	for _, g := range groups(sc.Clients, o.Pack, func(a, b *scenarios.Client) bool { return o.together(sc, a, b) }) {
		all = append(all, g.fitting()...)
	}
	return all
}

// restarts returns how often the process of each client may be started again that has one; by name.
func (o *Options) restarts(sc *scenarios.Scenario) map[string]int {
	limits := map[string]int{}
	for _, c := range sc.Clients {
		if c.Restarts > 0 && !o.inside(c) && !o.Serve {
			limits[c.Name] = c.Restarts
		}
	}
	return limits
}

// checkInside refuses a name that is no built-in model of the scenario. Otherwise a misspelt name would go unnoticed: its client would start as a process.
func (o *Options) checkInside(sc *scenarios.Scenario) error {
	for _, name := range o.Inside {
		if !slices.ContainsFunc(sc.Clients, func(c scenarios.Client) bool { return c.Name == name && c.Model != "" }) {
			return fmt.Errorf("Options.Inside names client %q, which is no built-in model of scenario %s; name one that is", name, sc.Name)
		}
	}
	return nil
}

// checkRestarts: what a client is given again is in the journal.
func (o *Options) checkRestarts(sc *scenarios.Scenario) error {
	if o.NoJournal {
		for _, name := range slices.Sorted(maps.Keys(o.restarts(sc))) {
			return fmt.Errorf("client %q has on_exit: restart, for which what it was given is read from the journal; leave --no-journal out", name)
		}
	}
	return nil
}

// launchers are the ways in which the processes of a run are started.
var launchers = []string{"local", "ssh", "slurm"}

// far reports whether the processes are started on other hosts.
func (o *Options) far() bool { return o.Launch == "ssh" || o.Launch == "slurm" }

// launcher is what knows the other hosts of a run.
func (o *Options) launcher() launch.Launcher {
	if o.Launch == "ssh" {
		return launch.SSH(o.Hosts)
	}
	return launch.NewJob(launch.Request{Nodes: o.Nodes, Hosts: o.Hosts, Options: o.LaunchOptions, Say: func(text string) { o.Log.Warn(text) }})
}

// validateHosts returns the first contradiction in how processes are started, and fills in the defaults.
func (o *Options) validateHosts() error {
	o.Launch = cmp.Or(o.Launch, launchers[0])
	switch {
	case !slices.Contains(launchers, o.Launch):
		return fmt.Errorf("there is no launcher %q; use one of %s", o.Launch, strings.Join(launchers, ", "))
	case !o.far() && len(o.Hosts) > 0:
		return errors.New("--hosts names other hosts, and --launch local starts nothing there; use --launch ssh, or leave --hosts out")
	case o.Launch != "slurm" && o.Nodes != 0:
		return errors.New("--nodes is how many hosts Slurm gives; use --launch slurm, or leave --nodes out")
	case o.Launch != "slurm" && len(o.LaunchOptions) > 0:
		return fmt.Errorf("%s after -- is for Slurm; use --launch slurm, or leave it out", strings.Join(o.LaunchOptions, " "))
	case !o.far() && o.PlacementFrom != "":
		return errors.New("--placement-from is for clients on several hosts; use --launch ssh or slurm, or leave it out")
	case !o.far():
		return nil
	case o.Launch == "ssh" && len(o.Hosts) == 0:
		return errors.New("--launch ssh needs hosts; name them, as in --hosts node-1,node-2")
	case o.Nodes < 0:
		return fmt.Errorf("--nodes is %d; write how many hosts Slurm is to give, or leave it out", o.Nodes)
	case o.Nodes > 0 && len(o.Hosts) > o.Nodes:
		return fmt.Errorf("--nodes is %d, and --hosts names %d; ask for at least as many as you name, or leave --nodes out", o.Nodes, len(o.Hosts))
	case o.Serve:
		return errors.New("a server that starts no clients needs no --launch; leave it out")
	}
	seen := map[string]bool{}
	for _, name := range o.Hosts {
		if name == "" || strings.HasPrefix(name, "-") || seen[name] {
			return fmt.Errorf("--hosts has %q, which is no name of a host, or stands there twice; write names with commas between them, as in node-1,node-2", name)
		}
		seen[name] = true
	}
	if o.Launch == "slurm" && len(o.Self) > 0 {
		o.Remote = cmp.Or(o.Remote, o.Self[0]) // the hosts of a cluster have the same files, mostly
	}
	o.Remote = cmp.Or(o.Remote, "metasim")
	o.Transport = cmp.Or(o.Transport, "quic")
	if o.Transport != "quic" && o.Transport != "tls" {
		return fmt.Errorf("--transport %s does not lead to other hosts; use quic or tls", o.Transport)
	}
	o.Listen = cmp.Or(o.Listen, "0.0.0.0:0")
	return nil
}

// Validate returns the first contradiction, and fills in the defaults.
func (o *Options) Validate() error {
	if err := o.validateHosts(); err != nil {
		return err
	}
	if o.Transport == "" {
		o.Transport = Transports[0]
	}
	if !slices.Contains(Transports, o.Transport) {
		return fmt.Errorf("there is no transport %q; use one of %s", o.Transport, strings.Join(Transports, ", "))
	}
	if o.Pack < 0 {
		return fmt.Errorf("--pack is %d; write how many clients may share a process, or 0 for one process for each client", o.Pack)
	}
	if o.Transport != "mem" && !o.Serve && len(o.Self) == 0 {
		return fmt.Errorf("transport %s puts models in processes of their own, but Options.Self does not say how to start them", o.Transport)
	}
	if o.Durable && o.NoJournal {
		return errors.New("--durable says when the journal is on the disk, and --no-journal leaves the journal out; use one of them")
	}
	if o.Patience < 0 {
		return fmt.Errorf("the patience with processes is %v; use a positive duration, or 0 for %v", o.Patience, defaultPatience)
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// beyondHost reports whether other hosts may reach the listener. Without an address it is on the loopback interface.
func (o *Options) beyondHost() bool {
	if o.Listen == "" || !slices.Contains([]string{"tcp", "tls", "quic"}, o.Transport) {
		return false
	}
	addr, err := net.ResolveTCPAddr("tcp", o.Listen)
	return err == nil && !addr.IP.IsLoopback()
}
