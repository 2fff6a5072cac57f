package levels

import (
	"cmp"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
	"metasim/federates/world"
)

// A unit is a model, or a light, or the world itself, with all below it: what a secondary has, or has not.
type unit struct {
	entity     ecm.Entity
	all        []ecm.Entity // that are below it, and itself
	place      int          // in owners.all
	gone       bool         // from the world
	has, wants uint64       // a bit for each secondary: it has the unit, and it is to have it in this step

	moves     bool // physics moves it; what follows is of such alone
	performer int  // in System.performers; -1: it is none
	level     int  // in which it is at home; -1: none
	turn      int  // of those that have no level; -1: none yet
	home      int  // the secondary of that level, or the one that it was given; -1: none yet
	owner     int  // the secondary that moves it in this step; -1: none yet
	guest     bool
	at, group int // in owners.order; of units that may touch, while owners are sought: another one, or itself
}

// stays forgets whatever a unit was that moved.
func (u *unit) stays() {
	u.moves, u.performer, u.level, u.turn, u.home, u.owner, u.guest = false, -1, -1, -1, -1, -1, false
}

// owners decides which secondary moves which models. It is a function of states, of positions, speeds and sizes since the start, and of costs, where these are measured.
type owners struct {
	division
	plan       *Plan
	count      int // of secondaries
	units      map[ecm.Entity]*unit
	all        []*unit // in any order
	moving     []ecm.Entity
	movers     []*unit // of moving
	order      []*unit // those that move, by entity
	performing []*unit // by performer; nil: it does not move
	items      []*unit // by item of levels: the last one found
	given      int     // units that had no level when they were seen first
	levelOf    map[string]int
	meetings   [][2]*unit // units that may touch one another
	votes      []int      // scratch of assign

	handovers, merges, splits uint64
}

func newOwners(plan *Plan, count int, auto bool) *owners {
	o := &owners{division: newDivision(len(plan.Levels), count, auto), plan: plan, count: count, units: map[ecm.Entity]*unit{}, levelOf: map[string]int{}}
	for i, l := range plan.Levels {
		for _, ref := range l.Refs {
			if _, earlier := o.levelOf[ref]; !earlier {
				o.levelOf[ref] = i
			}
		}
	}
	return o
}

// take notes which units there are, from what changed of the state that the view shows.
func (o *owners) take(v *ecm.View, changed *ecm.Changes) {
	for _, e := range changed.Removed {
		u := o.units[e]
		if delete(o.units, e); u.entity != e {
			u.all = slices.DeleteFunc(u.all, func(other ecm.Entity) bool { return other == e })
			continue
		}
		u.gone = true
		last := len(o.all) - 1
		o.all[u.place], o.all[last].place = o.all[last], u.place
		o.all = o.all[:last]
	}
	for i := range changed.Edits {
		if e := changed.Edits[i].Entity; changed.Edits[i].Created {
			u := o.unit(unitOf(v, e))
			u.all = append(u.all, e)
			o.units[e] = u
		}
	}
}

// unit returns the unit of an entity below the world itself.
func (o *owners) unit(e ecm.Entity) *unit {
	u := o.units[e]
	if u == nil {
		u = &unit{entity: e, place: len(o.all)}
		u.stays()
		o.units[e], o.all = u, append(o.all, u)
	}
	return u
}

// item returns the unit of an item of levels, which is that entity. Nil: it is not in the world. Each level that is loaded asks in each step, so the unit is remembered.
func (o *owners) item(n int, e ecm.Entity) *unit {
	for len(o.items) <= n {
		o.items = append(o.items, nil)
	}
	if u := o.items[n]; u != nil && u.entity == e && !u.gone {
		return u
	}
	o.items[n] = o.units[e]
	return o.items[n]
}

// A walk finds the units of entities that are in order: of those that move without a search.
type walk struct {
	*owners
	at int // in moving
}

func (w *walk) unit(e ecm.Entity) *unit {
	for w.at < len(w.moving) && w.moving[w.at] < e {
		w.at++
	}
	if w.at < len(w.moving) && w.moving[w.at] == e {
		return w.movers[w.at]
	}
	return w.units[e]
}

// see notes which entities physics moves in this step.
func (o *owners) see(moving []ecm.Entity) {
	if slices.Equal(o.moving, moving) {
		return
	}
	o.moving, o.movers = append(o.moving[:0], moving...), o.movers[:0]
	before := o.order
	o.order = nil
	for _, u := range before {
		u.at = -1
	}
	for _, e := range moving {
		u := o.units[e]
		if o.movers = append(o.movers, u); !u.moves || u.at < 0 {
			u.moves, u.at = true, 0
			o.order = append(o.order, u)
		}
	}
	for _, u := range before {
		if u.at < 0 {
			u.stays()
		}
	}
	slices.SortFunc(o.order, func(a, b *unit) int { return cmp.Compare(a.entity, b.entity) })
	for i, u := range o.order {
		u.at = i
	}
}

// settle finds the levels of units. A performer is at home in the level that its centre is in, and stays there while its centre is, so that it changes
// where the centre has crossed the border. In no level it stays where it was.
func (o *owners) settle(rule *rule, performers []tracked, name func(ecm.Entity) string) {
	if len(o.performing) != len(performers) {
		o.performing = make([]*unit, len(performers))
	}
	for i := range performers {
		p := &performers[i]
		u := o.performing[i]
		if u == nil || u.entity != p.entity || u.gone {
			u = o.units[p.entity]
		}
		if o.performing[i] = u; u == nil || !u.moves {
			o.performing[i] = nil
			continue
		}
		first := u.performer < 0
		u.performer = i
		if level := o.levelAt(u.level, rule, p, first); level >= 0 {
			u.level = level
		}
	}
	for _, u := range o.order {
		if u.level >= 0 || u.turn >= 0 {
			continue
		}
		if level, belongs := o.levelOf[name(u.entity)]; belongs {
			u.level = level
			continue
		}
		u.turn = o.given
		o.given++
	}
}

// house gives units the secondaries of their levels; those of no level keep theirs, and are given in turn at first.
func (o *owners) house() {
	for _, u := range o.order {
		switch {
		case u.level >= 0:
			u.home = o.of[u.level]
		case u.home < 0:
			u.home = u.turn % o.active
		}
	}
}

// need returns how many secondaries performers need: one for each level that some of them are in, and for each that is in none.
func (o *owners) need() (n int) {
	clear(o.busy)
	for _, u := range o.order {
		switch {
		case u.performer < 0:
		case u.level < 0:
			n++
		case !o.busy[u.level]:
			o.busy[u.level] = true
			n++
		}
	}
	return max(1, min(n, o.count))
}

// resize lets more secondaries take part in the step in which performers need them, and fewer when these were enough for so many steps. It reports whether it did. Then the levels where performers are
// take turns, and what was given is given again.
func (o *owners) resize(step, patience uint64) bool {
	if !o.auto {
		return false
	}
	need := o.need()
	switch {
	case need > o.active:
		o.starts += uint64(need - o.active)
		o.active = need
	case need == o.active:
		o.less = 0
		return false
	case o.less == 0:
		o.less, o.most = step, need
		return false
	default:
		if o.most = max(o.most, need); step-o.less < patience {
			return false
		}
		o.retires += uint64(o.active - o.most)
		o.active = o.most
	}
	o.less = 0
	turn := 0
	for level := range o.of {
		if o.of[level] = level % o.active; o.busy[level] {
			o.of[level] = turn % o.active
			turn++
		}
	}
	for _, u := range o.order {
		u.home = -1
	}
	return true
}

// levelAt returns the level that a performer is in; -1: none. At first its box may count, where its centre is in none.
func (o *owners) levelAt(now int, rule *rule, p *tracked, first bool) int {
	at := spatial.Box{Min: p.centre, Max: p.centre}
	if now >= 0 && o.plan.Levels[now].Inner.Meets(&at) {
		return now
	}
	near := rule.look(&p.seeker)
	in := func(b *spatial.Box) int {
		if i := slices.IndexFunc(near, func(level int) bool { return o.plan.Levels[level].Inner.Meets(b) }); i >= 0 {
			return near[i]
		}
		return -1
	}
	if level := in(&at); level >= 0 || !first {
		return level
	}
	return in(&p.box)
}

// meet looks who may touch whom.
func (o *owners) meet(reaches *world.Reaches) {
	o.meetings = o.meetings[:0]
	reaches.Meetings(func(a, b ecm.Entity) { o.meetings = append(o.meetings, [2]*unit{o.units[a], o.units[b]}) })
}

// assign lets one secondary move all units that may touch one another, over others if need be: that at which most of them are at home, the first of several.
func (o *owners) assign() {
	for i, u := range o.order {
		u.group = i
	}
	for _, m := range o.meetings {
		if m[0].moves && m[1].moves {
			i, j := o.root(m[0].at), o.root(m[1].at)
			o.order[max(i, j)].group = min(i, j)
		}
	}
	o.votes = slices.Grow(o.votes[:0], len(o.order)*o.count)[:len(o.order)*o.count]
	clear(o.votes)
	for i := range o.order {
		o.votes[o.root(i)*o.count+o.order[i].home]++
	}
	for i, u := range o.order {
		here := o.votes[o.root(i)*o.count : (o.root(i)+1)*o.count]
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
