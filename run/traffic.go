package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"metasim/metasim"
	"metasim/record"
	"metasim/run/placement"
)

// plan reads what says where clients go.
func (c *clients) plan(ctx context.Context) (p plan, err error) {
	p.groups = slices.DeleteFunc(c.options.groups(c.scenario), func(g group) bool { return g[0].External || c.options.inside(g[0]) })
	p.groups = append(p.groups, c.cells.groups()...)
	p.of = map[string]int{}
	for i, g := range p.groups {
		for _, name := range c.inGroup(g) {
			p.of[name] = i
		}
	}
	if c.options.PlacementFrom != "" {
		if p.traffic, err = trafficOf(ctx, c.options.PlacementFrom, p.of); err != nil {
			return p, fmt.Errorf("--placement-from: %w", err)
		}
	}
	_, err = c.fixed(&p, cmp.Or(max(len(c.options.Hosts), c.options.Nodes), math.MaxInt))
	return p, err
}

// inGroup names the clients that are where a group is.
func (c *clients) inGroup(g group) []string { return slices.Concat(c.cells.own(g[0].Name), g.names()) }

// fixed returns the number of the host on which the scenario puts each group; -1: it does not say. There are so many hosts.
func (c *clients) fixed(p *plan, hosts int) ([]int, error) {
	fixed := make([]int, len(p.groups))
	for i, g := range p.groups {
		fixed[i] = -1
		for _, name := range c.inGroup(g) {
			host, placed := c.scenario.Placement[name]
			switch {
			case !placed || host == fixed[i] || host >= hosts && len(c.scenario.Hosts) == 0: // the last: a run goes on with fewer hosts
			case host >= hosts:
				return nil, fmt.Errorf("placement puts client %q on host %s, number %d of hosts, and the run has %d; ask for more hosts, or leave it out", name, c.scenario.Hosts[host], host+1, hosts)
			case fixed[i] >= 0 && g[0].Model == cellModel:
				return nil, fmt.Errorf("placement puts clients of the scenario inside %q on hosts %s and %s, and with --nested it is on one; put %[1]q on one host, or leave --nested out",
					g[0].Name, c.scenario.Hosts[fixed[i]], c.scenario.Hosts[host])
			case fixed[i] < 0:
				fixed[i] = host
			}
		}
	}
	return fixed, nil
}

// place says on which host each client is started: where the scenario says it, and else as placement.Place does, by the messages of an earlier run if
// there is one.
func (c *clients) place(p *plan) error {
	fixed, err := c.fixed(p, len(c.hosts))
	if err != nil {
		return err
	}
	c.placement = map[string]*host{}
	for i, host := range placement.Place(fixed, len(c.hosts), p.traffic) {
		for _, name := range p.groups[i].names() {
			c.placement[name] = c.hosts[host]
		}
	}
	return nil
}

// trafficOf counts the messages of a recorded run between groups of clients, whose numbers are by name. Clients that have none are left out.
func trafficOf(ctx context.Context, dir string, of map[string]int) (placement.Traffic, error) {
	r, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(r.Manifest.Clients, func(name string) bool { _, known := of[name]; return known }) {
		return nil, fmt.Errorf("%s has none of the clients that are started here; name a run of this scenario", dir)
	}
	j, err := r.OpenJournal()
	if err != nil {
		return nil, err
	}
	traffic := placement.Traffic{}
	for {
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), j.Close())
		}
		e, err := j.Next()
		if err != nil {
			if errors.Is(err, io.EOF) || record.IsBeginning(err) {
				err = nil // a run that was cut off says enough
			}
			return traffic, errors.Join(err, j.Close())
		}
		for _, effect := range e.Effects {
			d, delivers := effect.(*metasim.Deliver)
			if !delivers {
				continue
			}
			a, known := of[r.Manifest.Clients[d.Message.From]]
			b, too := of[r.Manifest.Clients[d.To]]
			if known && too && a != b {
				traffic[[2]int{min(a, b), max(a, b)}]++
			}
		}
	}
}
