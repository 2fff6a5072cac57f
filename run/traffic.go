package run

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"metasim/metasim"
	"metasim/record"
	"metasim/run/placement"
)

// place says on which host each client is started: where the scenario says it, and else as placement.Place does, by the messages of an earlier run if
// there is one.
func (c *clients) place() error {
	all := slices.DeleteFunc(groups(c.scenario.Clients, c.options.Pack), func(g group) bool { return g[0].External || c.options.inside(g[0]) })
	all = append(all, c.cells.groups()...)
	fixed, of := make([]int, len(all)), map[string]int{}
	for i, g := range all {
		fixed[i] = -1
		for _, name := range append(c.cells.own(g[0].Name), g.names()...) {
			of[name] = i
			host, placed := c.scenario.Placement[name]
			switch {
			case !placed || host == fixed[i] || host >= len(c.hosts) && len(c.scenario.Hosts) == 0: // the last: a run goes on with fewer hosts
			case host >= len(c.hosts):
				return fmt.Errorf("placement puts client %q on host %s, number %d of hosts, and the run has %d; ask for more hosts, or leave it out", name, c.scenario.Hosts[host], host+1, len(c.hosts))
			case fixed[i] >= 0 && g[0].Model == cellModel:
				return fmt.Errorf("placement puts clients of the scenario inside %q on hosts %s and %s, and with --nested it is on one; put %[1]q on one host, or leave --nested out",
					g[0].Name, c.scenario.Hosts[fixed[i]], c.scenario.Hosts[host])
			case fixed[i] < 0:
				fixed[i] = host
			}
		}
	}
	var traffic placement.Traffic
	if c.options.PlacementFrom != "" {
		var err error
		if traffic, err = trafficOf(c.options.PlacementFrom, of); err != nil {
			return fmt.Errorf("--placement-from: %w", err)
		}
	}
	c.placement = map[string]*host{}
	for i, host := range placement.Place(fixed, len(c.hosts), traffic) {
		for _, name := range all[i].names() {
			c.placement[name] = c.hosts[host]
		}
	}
	return nil
}

// trafficOf counts the messages of a recorded run between groups of clients, whose numbers are by name. Clients that have none are left out.
func trafficOf(dir string, of map[string]int) (placement.Traffic, error) {
	r, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	j, err := r.OpenJournal()
	if err != nil {
		return nil, err
	}
	traffic := placement.Traffic{}
	for {
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
