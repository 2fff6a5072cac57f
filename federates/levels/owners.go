package levels

import (
	"cmp"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/world"
)

// A unit is a model that physics moves, with all below it, as the assignment sees it.
type unit struct {
	entity    ecm.Entity
	name      string
	performer int // in System.performers; -1: it is none
	level     int // in which it is at home; -1: none
	home      int // the secondary of that level, or the one that it was given at first
	owner     int // the secondary that moves it in this step
	guest     bool
	here      bool // in this step
	group     int  // of units that may touch, while owners are sought: another one, or itself
}

// owners decides which secondary moves which models. It is a function of states alone: of positions, speeds and sizes since the start.
type owners struct {
	plan    *Plan
	count   int // of secondaries
	units   map[ecm.Entity]*unit
	order   []*unit // by entity
	given   int     // units that had no level when they were seen first
	levelOf map[string]int

	handovers, merges, splits uint64
}

func newOwners(plan *Plan, count int) *owners {
	o := &owners{plan: plan, count: count, units: map[ecm.Entity]*unit{}, levelOf: map[string]int{}}
	for i, l := range plan.Levels {
		for _, ref := range l.Refs {
			if _, earlier := o.levelOf[ref]; !earlier {
				o.levelOf[ref] = i
			}
		}
	}
	return o
}

// ownerOf returns the secondary of a level: they take turns, in the order of the file.
func (o *owners) ownerOf(level int) int { return level % o.count }

// see notes which units there are in this step, and lets go of the others.
func (o *owners) see(entities []ecm.Entity, name func(ecm.Entity) string) {
	for _, e := range entities {
		u := o.units[e]
		if u == nil {
			u = &unit{entity: e, name: name(e), performer: -1, level: -1, home: -1, owner: -1}
			o.units[e] = u
			i, _ := slices.BinarySearchFunc(o.order, e, func(u *unit, e ecm.Entity) int { return cmp.Compare(u.entity, e) })
			o.order = slices.Insert(o.order, i, u)
		}
		u.here = true
	}
	o.order = slices.DeleteFunc(o.order, func(u *unit) bool {
		if !u.here {
			delete(o.units, u.entity)
		}
		return !u.here
	})
	for _, u := range o.order {
		u.here = false
	}
}

// settle gives units their homes. A performer is at home in the level that its centre is in, and stays there while its centre is, so that it changes
// where the centre has crossed the border. In no level it stays where it was.
func (o *owners) settle(performers []tracked) {
	for i := range performers {
		p := &performers[i]
		u := o.units[p.entity]
		if u == nil {
			continue
		}
		first := u.performer < 0
		u.performer = i
		if level := o.levelAt(u.level, p, first); level >= 0 {
			u.level, u.home = level, o.ownerOf(level)
		}
	}
	for _, u := range o.order {
		if u.home >= 0 {
			continue
		}
		if level, belongs := o.levelOf[u.name]; belongs {
			u.home = o.ownerOf(level)
			continue
		}
		u.home = o.given % o.count
		o.given++
	}
}

// levelAt returns the level that a performer is in; -1: none. At first its box may count, where its centre is in none.
func (o *owners) levelAt(now int, p *tracked, first bool) int {
	at := Box{p.pose.Position, p.pose.Position}
	if now >= 0 && o.plan.Levels[now].Inner.meets(at) {
		return now
	}
	in := func(b Box) int {
		return slices.IndexFunc(o.plan.Levels, func(l Level) bool { return l.Inner.meets(b) })
	}
	if level := in(at); level >= 0 || !first {
		return level
	}
	return in(around(p.pose.Position, p.Size))
}

// assign lets one secondary move all units that may touch one another, over others if need be: that at which most of them are at home, the first of several.
func (o *owners) assign(reaches []world.Reach, unitOf func(ecm.Entity) ecm.Entity) {
	for i, u := range o.order {
		u.group = i
	}
	o.join(reaches, unitOf)
	votes := make([]int, len(o.order)*o.count)
	for i := range o.order {
		votes[o.root(i)*o.count+o.order[i].home]++
	}
	for i, u := range o.order {
		here := votes[o.root(i)*o.count : (o.root(i)+1)*o.count]
		best := 0
		for k := range here {
			if here[k] > here[best] {
				best = k
			}
		}
		o.give(u, best)
	}
}

// give lets a secondary move a unit, and counts what that is: it was merged with units of another secondary, it was split from them, or it was handed over.
func (o *owners) give(u *unit, owner int) {
	guest := owner != u.home
	switch {
	case guest && !u.guest && u.owner >= 0:
		o.merges++
	case !guest && u.guest:
		o.splits++
	case !guest && owner != u.owner && u.owner >= 0:
		o.handovers++
	}
	u.owner, u.guest = owner, guest
}

func (o *owners) root(i int) int {
	for o.order[i].group != i {
		o.order[i].group = o.order[o.order[i].group].group
		i = o.order[i].group
	}
	return i
}

// join groups units whose reaches meet.
func (o *owners) join(reaches []world.Reach, unitOf func(ecm.Entity) ecm.Entity) {
	index := map[ecm.Entity]int{}
	for i := range reaches {
		index[reaches[i].Entity], _ = slices.BinarySearchFunc(o.order, unitOf(reaches[i].Entity), func(u *unit, e ecm.Entity) int { return cmp.Compare(u.entity, e) })
	}
	world.Touching(slices.Clone(reaches), func(a, b *world.Reach) {
		i, j := o.root(index[a.Entity]), o.root(index[b.Entity])
		o.order[max(i, j)].group = min(i, j)
	})
}

// copies calls f for each performer that has to be with a secondary which does not move it: its box touches the buffer of a level of that secondary.
func (o *owners) copies(rule *rule, performers []tracked, f func(secondary int, unit ecm.Entity)) {
	for i := range performers {
		p := &performers[i]
		u := o.units[p.entity]
		if u == nil {
			continue
		}
		rule.near(around(p.pose.Position, p.Size), func(level int) {
			if s := o.ownerOf(level); s != u.owner {
				f(s, u.entity)
			}
		})
	}
}
