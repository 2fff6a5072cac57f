package levels

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/world"
	"metasim/metasim"
)

// mergeSteps is how many steps before they may touch units come to one secondary. One would be enough for equal states; more of them let units stay together
// that touch now and then.
const mergeSteps = 10

// A Carrier takes orders to secondaries, and their acknowledgements back.
type Carrier interface {
	// Begin sends an order to each secondary, all at the present instant. It does not wait.
	Begin(orders [][]byte) error
	// Acknowledgements waits for the answers to the orders of the last Begin, and returns them in the order of the secondaries.
	Acknowledgements() ([][]byte, error)
	// After returns the time of the run that lies so much after the present one.
	After(step metasim.Time) metasim.Time
}

// A Primary is the system of a world that stands in the place of physics, and lets secondaries do its work: each moves the models in its levels. What physics does to a model depends on
// those alone that it may touch, so that the state of the world is the one that physics would have made.
type Primary struct {
	names   []string // of the secondaries
	carrier Carrier
	system  *System
	owners  *owners
	has     []map[ecm.Entity]bool // by secondary: the units that it has
	move    [][]ecm.Entity        // by secondary: what it moves in this step
	version uint64                // of the state that they have
	begun   bool
	steps   uint64
}

// NewPrimary makes the system for these secondaries. Levels may be of a world without any.
func NewPrimary(names []string, carrier Carrier, levels *System) *Primary {
	p := &Primary{names: names, carrier: carrier, system: levels, owners: newOwners(levels.plan, len(names)), move: make([][]ecm.Entity, len(names))}
	for range names {
		p.has = append(p.has, map[ecm.Entity]bool{})
	}
	return p
}

// Has returns the version that the secondaries have.
func (p *Primary) Has() uint64 { return p.version }

// Counts returns how often a model was handed over at a border, was merged with models of another secondary, and was split from them.
func (p *Primary) Counts() (handovers, merges, splits uint64) {
	return p.owners.handovers, p.owners.merges, p.owners.splits
}

// Update has all models moved by a step.
func (p *Primary) Update(i world.Info, v *ecm.View) error {
	within := mergeSteps * i.Step
	moving, static, planes := world.Reaches(i, v, within)
	up := func(e ecm.Entity) ecm.Entity { return unitOf(v, e) }
	p.assign(v, moving, up)
	wanted := p.wanted(moving, static, planes, up)
	orders, err := p.orders(i, v, wanted)
	if err != nil {
		return err
	}
	if err := p.carrier.Begin(orders); err != nil {
		return err
	}
	acks, err := p.carrier.Acknowledgements()
	if err != nil {
		return err
	}
	for k, ack := range acks {
		if err := p.take(i, v, k, ack); err != nil {
			return fmt.Errorf("secondary %s: %w", p.names[k], err)
		}
	}
	p.steps++
	return v.Err()
}

// assign decides who moves what in this step.
func (p *Primary) assign(v *ecm.View, moving []world.Reach, up func(ecm.Entity) ecm.Entity) {
	var moves, units []ecm.Entity
	for e := range v.With(world.Velocity) {
		moves, units = append(moves, e), append(units, up(e))
	}
	p.owners.see(units, func(e ecm.Entity) string {
		name, _ := v.Get(e, world.Name)
		return string(name)
	})
	p.owners.settle(p.system.performers)
	p.owners.assign(moving, up)
	for k := range p.move {
		p.move[k] = p.move[k][:0]
	}
	for n, e := range moves {
		k := p.owners.units[units[n]].owner
		p.move[k] = append(p.move[k], e)
	}
}

// wanted returns, by secondary, the units that it has to have: what it moves, all planes, what that may touch, the models of the levels where its performers are,
// and performers in the buffers of its levels.
func (p *Primary) wanted(moving, static []world.Reach, planes []ecm.Entity, up func(ecm.Entity) ecm.Entity) []map[ecm.Entity]bool {
	all := make([]map[ecm.Entity]bool, len(p.names))
	for k := range all {
		all[k] = map[ecm.Entity]bool{world.Root: true}
		for _, e := range planes {
			all[k][up(e)] = true
		}
	}
	for _, u := range p.owners.order {
		all[u.owner][u.entity] = true
	}
	world.Touching(slices.Concat(moving, static), func(a, b *world.Reach) {
		ua, ub := p.owners.units[up(a.Entity)], p.owners.units[up(b.Entity)]
		if ua != nil {
			all[ua.owner][up(b.Entity)] = true
		}
		if ub != nil {
			all[ub.owner][up(a.Entity)] = true
		}
	})
	for k := range all {
		for _, level := range p.levelsOf(k) {
			for _, ref := range p.system.refs[level] {
				if e := p.system.there[ref]; e != 0 {
					all[k][e] = true
				}
			}
		}
	}
	p.owners.copies(p.system.rule, p.system.performers, func(k int, e ecm.Entity) { all[k][e] = true })
	return all
}

// levelsOf returns the loaded levels in whose boxes or buffers performers of a secondary are.
func (p *Primary) levelsOf(secondary int) []int {
	in := make([]bool, len(p.system.plan.Levels))
	for i := range p.system.performers {
		t := &p.system.performers[i]
		if u := p.owners.units[t.entity]; u != nil && u.owner == secondary {
			p.system.rule.near(around(t.pose.Position, t.Size), func(level int) { in[level] = p.system.rule.Is(level) })
		}
	}
	var levels []int
	for i, is := range in {
		if is {
			levels = append(levels, i)
		}
	}
	return levels
}

// orders writes the orders of a step.
func (p *Primary) orders(i world.Info, v *ecm.View, wanted []map[ecm.Entity]bool) ([][]byte, error) {
	all := make([]order, len(p.names))
	enters := make([]map[ecm.Entity]bool, len(p.names))
	changed := ecm.Changes{}
	if p.begun {
		changed = v.Since(p.version)
	}
	anyEnters := map[ecm.Entity]bool{}
	for k := range all {
		all[k] = order{fresh: !p.begun, info: i, next: p.carrier.After(i.Step), move: p.move[k]}
		all[k].changes.Removed, all[k].changes.Counters = changed.Removed, changed.Counters
		enters[k] = map[ecm.Entity]bool{}
		for e := range wanted[k] {
			if !p.has[k][e] {
				enters[k][e], anyEnters[e] = true, true
			}
		}
		for e := range p.has[k] {
			if !wanted[k][e] {
				all[k].drop = append(all[k].drop, e)
			}
		}
		slices.Sort(all[k].drop)
	}
	for n := range changed.Edits {
		unit := unitOf(v, changed.Edits[n].Entity)
		for k := range all {
			if p.has[k][unit] && wanted[k][unit] {
				all[k].changes.Edits = append(all[k].changes.Edits, changed.Edits[n])
			}
		}
	}
	if len(anyEnters) > 0 {
		p.enter(v, all, enters, anyEnters)
	}
	p.has, p.version, p.begun = wanted, v.Version(), true
	orders := make([][]byte, len(all))
	for k := range all {
		var err error
		if orders[k], err = all[k].encode(); err != nil {
			return nil, err
		}
	}
	return orders, nil
}

// enter adds the whole state of units that secondaries do not have yet.
func (p *Primary) enter(v *ecm.View, all []order, enters []map[ecm.Entity]bool, anyEnters map[ecm.Entity]bool) {
	whole := v.Copy(func(e ecm.Entity) bool { return anyEnters[unitOf(v, e)] })
	for n := range whole.Edits {
		unit := unitOf(v, whole.Edits[n].Entity)
		for k := range all {
			if enters[k][unit] {
				all[k].changes.Edits = append(all[k].changes.Edits, whole.Edits[n])
			}
		}
	}
	for k := range all {
		if len(enters[k]) > 0 {
			all[k].changes.Counters = whole.Counters
			slices.SortFunc(all[k].changes.Edits, func(a, b ecm.Edit) int { return cmp.Compare(a.Entity, b.Entity) })
		}
	}
}

// take writes what a secondary did. Nobody else moves what it moved: it is told which step it was asked for, and what it was to move.
func (p *Primary) take(i world.Info, v *ecm.View, k int, payload []byte) error {
	a, err := decodeAcknowledgement(payload)
	switch {
	case err != nil:
		return err
	case a.failed != "":
		return errors.New(a.failed)
	case a.iteration != i.Iteration:
		return fmt.Errorf("it acknowledged iteration %d, and was asked for iteration %d", a.iteration, i.Iteration)
	case a.moved != uint64(len(p.move[k])) || len(a.changes.Removed)+len(a.changes.Counters) > 0:
		return fmt.Errorf("it moved %d models of %d, removed %d entities and created others %d times; only moves are asked for", a.moved, len(p.move[k]),
			len(a.changes.Removed), len(a.changes.Counters))
	}
	for n := range a.changes.Edits {
		e := &a.changes.Edits[n]
		if _, asked := slices.BinarySearch(p.move[k], e.Entity); !asked || e.Created {
			return fmt.Errorf("it changed entity %v, which it was not to move", e.Entity)
		}
		for _, c := range e.Set {
			v.Set(e.Entity, c.Type, bytes.Clone(c.Value), c.Kind)
		}
		for _, name := range e.Removed {
			v.Unset(e.Entity, name)
		}
	}
	return nil
}

// A Share is what one secondary moves at the end.
type Share struct {
	Name               string
	Steps              uint64
	Performers, Levels []string // by name; of the levels those that are loaded because of these performers
}

// Shares says who moves what, in the order of the secondaries.
func (p *Primary) Shares() []Share {
	all := make([]Share, len(p.names))
	for k := range all {
		all[k] = Share{p.names[k], p.steps, []string{}, []string{}}
		for i := range p.system.performers {
			if u := p.owners.units[p.system.performers[i].entity]; u != nil && u.owner == k {
				all[k].Performers = append(all[k].Performers, p.system.performers[i].Name)
			}
		}
		for _, level := range p.levelsOf(k) {
			all[k].Levels = append(all[k].Levels, p.system.plan.Levels[level].Name)
		}
	}
	return all
}
