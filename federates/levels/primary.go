package levels

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
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
	reaches *world.Reaches
	move    [][]ecm.Entity // by secondary: what it moves in this step
	levels  []uint64       // by level: a bit for each secondary whose performers are near it
	edits   [][]ecm.Edit   // by secondary: memory of orders
	scratch []byte         // memory of an order
	memory  ecm.Memory     // of what has changed
	acks    []ecm.Memory   // by secondary: of what it did in one step
	version uint64         // of the state that they have
	begun   bool
	fresh   uint64 // a bit for each secondary to whom the next order brings all that it is to have
	ahead   ahead
	steps   uint64
	stepsOf []uint64 // by secondary: in which it took part
	costs   costs
	// Measures says that somebody measures what secondaries take, so they do nothing that they are not asked for.
	Measures bool
}

// NewPrimary makes the system for these secondaries, of which there are 64 at most, and which do so many steps at once; 1: each in its turn. With auto only as many of them take
// part at a time as performers need, the first ones. Levels may be of a world without any.
func NewPrimary(names []string, carrier Carrier, levels *System, steps int, auto bool) *Primary {
	n := len(names)
	return &Primary{ahead: ahead{limit: max(1, min(steps, mostAhead))}, fresh: everyone(n), names: names, carrier: carrier, system: levels, owners: newOwners(levels.plan, n, auto),
		reaches: world.NewReaches(mergeSteps), move: make([][]ecm.Entity, n), edits: make([][]ecm.Edit, n), acks: make([]ecm.Memory, n), levels: make([]uint64, len(levels.plan.Levels)),
		stepsOf: make([]uint64, n)}
}

// everyone is a bit for each of so many secondaries.
func everyone(secondaries int) uint64 { return 1<<secondaries - 1 }

// Has returns the version that the secondaries have.
func (p *Primary) Has() uint64 { return p.version }

// Update has all models moved by a step.
func (p *Primary) Update(i world.Info, v *ecm.View) error {
	var changed ecm.Changes
	if p.begun {
		changed = v.Since(p.version, &p.memory)
	} else {
		changed = v.Copy(slices.Collect(v.All()))
	}
	stands := p.ahead.left() && p.untouched(&changed)
	p.reaches.Update(i, v, &changed)
	p.owners.take(v, &changed)
	p.version, p.begun = v.Version(), true
	p.steps++
	if p.ahead.left() && stands && !p.lacks() {
		p.ahead.took(1)
		return p.next(v)
	}
	if p.ahead.left() {
		p.fall()
	}
	if err := p.ask(i, v, &changed); err != nil {
		return err
	}
	return p.next(v)
}

// ask has the secondaries do the next steps: one, or some ahead.
func (p *Primary) ask(i world.Info, v *ecm.View, changed *ecm.Changes) error {
	p.assign(i, v)
	steps := p.ahead.next(len(p.owners.moving))
	p.want(steps > 1)
	orders, err := p.orders(i, v, changed, steps)
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
	p.ahead.done = make([][]ecm.Changes, len(acks))
	for k, ack := range acks[:p.owners.active] {
		if p.ahead.done[k], err = p.take(i, k, steps, ack); err != nil {
			return fmt.Errorf("secondary %s: %w", p.names[k], err)
		}
	}
	return nil
}

// next writes what the secondaries did in the next step.
func (p *Primary) next(v *ecm.View) error {
	a := &p.ahead
	edits := make([][]ecm.Edit, p.owners.active)
	for k := range edits {
		p.stepsOf[k]++
		edits[k] = a.done[k][0].Edits
		a.done[k] = a.done[k][1:]
	}
	a.last = a.last[:0]
	for n, e := range p.owners.moving { // those of each secondary are in this order
		if of := &edits[p.owners.movers[n].owner]; len(*of) > 0 && (*of)[0].Entity == e {
			a.last, *of = append(a.last, (*of)[0]), (*of)[1:]
		}
	}
	keep(a.last)
	v.Write(a.last)
	return v.Err()
}

// untouched reports whether nobody but the secondaries has changed what they have. It is asked when the units are those of the step before.
func (p *Primary) untouched(changed *ecm.Changes) bool {
	for _, e := range changed.Removed {
		if p.owners.units[e].has != 0 {
			return false
		}
	}
	last := p.ahead.last
	for i := range changed.Edits {
		e := &changed.Edits[i]
		if len(last) > 0 && last[0].Entity == e.Entity {
			if !same(&last[0], e) {
				return false
			}
			last = last[1:]
			continue
		}
		of := e.Entity
		if e.Created {
			of = e.Parent
		}
		if u := p.owners.units[of]; u != nil && u.has != 0 && !(e.Created && of == world.Root) {
			return false
		}
	}
	return len(last) == 0
}

// lacks reports whether a model may touch one that its secondary does not have.
func (p *Primary) lacks() bool {
	o, lacks := p.owners, !slices.Equal(p.owners.moving, p.reaches.Moving())
	has := func(mover, other *unit) bool {
		return !mover.moves || (other.moves && other.owner == mover.owner || !other.moves && other.has>>mover.owner&1 != 0)
	}
	o.meet(p.reaches)
	for _, m := range o.meetings {
		lacks = lacks || !has(m[0], m[1]) || !has(m[1], m[0])
	}
	for _, e := range p.reaches.Planes() {
		lacks = lacks || o.units[e].has != o.units[world.Root].has
	}
	return lacks
}

// fall throws away what was done ahead: the secondaries are in a state that the world does not come to.
func (p *Primary) fall() {
	p.ahead.fell()
	p.forget(everyone(len(p.names)))
}

// forget notes that some secondaries are in no state that the world knows.
func (p *Primary) forget(set uint64) {
	p.fresh |= set
	for _, u := range p.owners.all {
		u.has &^= set
	}
}

// assign decides who moves what in this step.
func (p *Primary) assign(i world.Info, v *ecm.View) {
	moving := p.reaches.Moving()
	p.owners.see(moving)
	name := func(e ecm.Entity) string {
		name, _ := v.Get(e, world.Name)
		return string(name)
	}
	p.owners.settle(p.system.rule, p.system.performers, name)
	if before := p.owners.active; p.owners.resize(p.steps, uint64(metasim.Second/i.Step)) {
		p.forget(everyone(before) &^ everyone(p.owners.active))
	}
	p.owners.house()
	p.owners.balance(&p.costs, p.names, i, name)
	p.owners.meet(p.reaches)
	p.owners.assign()
	for k := range p.move {
		p.move[k] = p.move[k][:0]
	}
	for n, e := range moving {
		k := p.owners.movers[n].owner
		p.move[k] = append(p.move[k], e)
	}
}

// want says which units each secondary has to have: what it moves, all planes, what that may touch, the models of the levels where its performers are,
// and performers in the buffers of its levels. If it goes ahead, it has no model that others move: it would not see them moved.
func (p *Primary) want(ahead bool) {
	o, present := p.owners, everyone(p.owners.active)
	for _, u := range o.all {
		if u.wants = 0; u.moves {
			u.wants = 1 << u.owner
		}
	}
	o.units[world.Root].wants = present
	for _, e := range p.reaches.Planes() {
		o.units[e].wants = present
	}
	for _, m := range o.meetings {
		if m[0].moves {
			m[1].wants |= 1 << m[0].owner
		}
		if m[1].moves {
			m[0].wants |= 1 << m[1].owner
		}
	}
	clear(p.levels)
	for i := range p.system.performers {
		u := o.performing[i]
		if u == nil {
			continue
		}
		for _, level := range p.system.performers[i].in {
			p.levels[level] |= 1 << u.owner
			u.wants |= 1 << o.of[level]
		}
	}
	for level, by := range p.levels {
		if by == 0 || !p.system.rule.Is(level) {
			continue
		}
		for _, ref := range p.system.refs[level] {
			if u := o.item(ref, p.system.items[ref].there); u != nil {
				u.wants |= by
			}
		}
	}
	for _, u := range o.order {
		if ahead {
			u.wants = 1 << u.owner
		}
	}
}

// orders writes orders for the next steps.
func (p *Primary) orders(i world.Info, v *ecm.View, changed *ecm.Changes, steps int) ([][]byte, error) {
	all := make([]order, p.owners.active)
	for k := range all {
		all[k] = order{steps: steps, fresh: p.fresh>>k&1 != 0, measured: p.Measures, info: i, next: p.carrier.After(i.Step), move: p.move[k]}
		if !all[k].fresh {
			all[k].changes.Removed, all[k].changes.Counters = changed.Removed, changed.Counters
		}
	}
	var enters []ecm.Entity
	for _, u := range p.owners.all {
		if u.wants&^u.has != 0 {
			enters = append(enters, u.all...)
		}
		each(u.has&^u.wants, func(k int) { all[k].drop = append(all[k].drop, u.entity) })
	}
	p.fill(all, changed, p.enter(v, all, enters))
	for _, u := range p.owners.all {
		u.has = u.wants
	}
	p.fresh &^= everyone(len(all))
	orders := make([][]byte, len(p.names))
	for k := range all {
		slices.Sort(all[k].drop)
		var err error
		if p.scratch, err = all[k].append(p.scratch[:0]); err != nil {
			return nil, err
		}
		orders[k], p.edits[k] = bytes.Clone(p.scratch), all[k].changes.Edits
	}
	return orders, nil
}

// each calls f for each secondary of a set.
func each(set uint64, f func(k int)) {
	for ; set != 0; set &= set - 1 {
		f(bits.TrailingZeros64(set))
	}
}

// enter returns the whole state of units that secondaries do not have yet.
func (p *Primary) enter(v *ecm.View, all []order, enters []ecm.Entity) (whole ecm.Changes) {
	if len(enters) == 0 {
		return whole
	}
	slices.Sort(enters)
	whole = v.Copy(enters)
	for _, e := range enters {
		u := p.owners.units[e]
		each(u.wants&^u.has, func(k int) { all[k].changes.Counters = whole.Counters })
	}
	return whole
}

// fill gives each secondary what changed of the units that it has, and the whole of those that it gets, in order.
func (p *Primary) fill(all []order, changed *ecm.Changes, whole ecm.Changes) {
	for k := range all {
		all[k].changes.Edits = p.edits[k][:0] // orders are encoded before the next ones are written
	}
	add := func(to uint64, edit ecm.Edit) {
		each(to, func(k int) { all[k].changes.Edits = append(all[k].changes.Edits, edit) })
	}
	enters, walk := whole.Edits, walk{owners: p.owners}
	for n := range changed.Edits {
		e := changed.Edits[n].Entity
		for len(enters) > 0 && enters[0].Entity <= e {
			u := p.owners.units[enters[0].Entity]
			add(u.wants&^u.has, enters[0])
			enters = enters[1:]
		}
		u := walk.unit(e)
		add(u.has&u.wants, changed.Edits[n])
	}
	for n := range enters {
		u := p.owners.units[enters[n].Entity]
		add(u.wants&^u.has, enters[n])
	}
}

// take returns what a secondary did, by step. Nobody else moves what it moved: it is told which steps it was asked for, and what it was to move.
func (p *Primary) take(i world.Info, k, steps int, payload []byte) ([]ecm.Changes, error) {
	a, err := decodeAcknowledgement(payload, &p.acks[k])
	switch {
	case err != nil:
		return nil, err
	case a.failed != "":
		return nil, errors.New(a.failed)
	case a.iteration != i.Iteration || len(a.changes) != steps:
		return nil, fmt.Errorf("it acknowledged %d steps from iteration %d on, and was asked for %d from iteration %d on", len(a.changes), a.iteration, steps, i.Iteration)
	}
	for n := range a.changes {
		if c := &a.changes[n]; a.moved != uint64(len(p.move[k])) || len(c.Removed)+len(c.Counters) > 0 {
			return nil, fmt.Errorf("it moved %d models of %d, removed %d entities and created others %d times; only moves are asked for", a.moved, len(p.move[k]), len(c.Removed), len(c.Counters))
		}
		asked := p.move[k] // behind the last one that was changed: both are in order
		for i := range a.changes[n].Edits {
			e := &a.changes[n].Edits[i]
			for len(asked) > 0 && asked[0] < e.Entity {
				asked = asked[1:]
			}
			if len(asked) == 0 || asked[0] != e.Entity || e.Created {
				return nil, fmt.Errorf("it changed entity %v, which it was not to move", e.Entity)
			}
		}
	}
	return a.changes, nil
}
