package metasim

import "metasim/metasim/safetime"

// A run may be one client of another run. Each has a dispatcher of its own, and each dispatcher owns the links into its own clients. A
// gateway stands between: it does the sends of one run again in the other, at the same instants. docs/adr/0038-nesting.md says why.
//
// In the outer run the gateway is a group (Config.Groups): a client that hears, and a client for each inner one whose sends matter. What
// reaches the group, each of them may answer, at that very instant and step: a dispatcher stands between that the outer one does not see. So
// they share what is pending, and what may arrive; what they promise, and when they sent what, stays apart.
//
// In the inner run the outer senders are clients that another dispatcher speaks for (Config.Outside, foresight.go).

// gather makes the groups, and finds the clients that are outside.
func (d *Dispatcher) gather() {
	byName := make(map[string]*client, len(d.clients))
	for i := range d.clients {
		byName[d.clients[i].name] = &d.clients[i]
	}
	for _, names := range d.config.Groups {
		g := &group{pending: Infinity}
		for _, name := range names {
			c := byName[name]
			c.group = g
			g.members = append(g.members, c.id)
		}
		d.groups = append(d.groups, g)
	}
	for _, name := range d.config.Outside {
		byName[name].outside = true
		d.outside = append(d.outside, byName[name].id)
	}
}

// couple tells the graph of safe times of the groups, before it has links.
func (d *Dispatcher) couple() {
	for _, g := range d.groups {
		var nodes []safetime.Node
		for _, id := range g.members {
			nodes = append(nodes, id.node())
		}
		d.graph.Couple(nodes)
	}
}

// findHearing finds the members of groups that something reaches, when all links are made.
func (d *Dispatcher) findHearing() {
	if len(d.groups)+len(d.outside) == 0 {
		return
	}
	hears := make([]bool, len(d.clients))
	for i := range d.clients {
		for p := range d.clients[i].pubs {
			for to := range d.clients[i].pubs[p].all() {
				hears[to] = true
			}
		}
	}
	for i := range d.clients {
		c := &d.clients[i]
		c.proxy = (c.group != nil || c.outside) && !hears[i]
		if c.group != nil && hears[i] {
			c.group.hearing = append(c.group.hearing, c)
		}
	}
}

// touchGroups touches all members of a group in which what is pending has changed.
func (d *Dispatcher) touchGroups() {
	for _, g := range d.groups {
		pending := g.least((*client).ownPending)
		if pending == g.pending {
			continue
		}
		g.pending = pending
		for _, id := range g.members {
			d.touch(&d.clients[id])
		}
	}
}
