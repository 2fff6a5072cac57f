package levels

import (
	"metasim/federates/ecm"
	"metasim/federates/levels/worldmap"
	"metasim/federates/world"
	"metasim/metasim"
)

// mostOthers is how many moving models a map has that are no performers.
const mostOthers = 2000

// A Mapper is a system that tells what a world looks like from above: after the first step, and then once in each period of simulated time.
type Mapper struct {
	name    string // of the client of the world
	topic   string
	every   metasim.Time
	system  *System
	primary *Primary // nil: the world moves its models itself
	before  *worldmap.Layout
	told    []world.Told
}

// NewMapper makes the system for a world whose client has this name. Frames are told on a topic. Primary may be nil.
func NewMapper(name, topic string, every metasim.Time, system *System, primary *Primary) *Mapper {
	return &Mapper{name: name, topic: topic, every: every, system: system, primary: primary}
}

// PostUpdate draws up a frame, if one is due.
func (m *Mapper) PostUpdate(i world.Info, v *ecm.View) error {
	if i.Iteration > 1 && i.Time/m.every == (i.Time-i.Step)/m.every {
		return nil
	}
	f := m.frame(i, v)
	b, err := worldmap.Encode(f, m.before)
	m.told = append(m.told, world.Told{Topic: m.topic, Payload: b})
	m.before = f.Layout
	return err
}

// Told returns the frames since it was asked last.
func (m *Mapper) Told() []world.Told {
	told := m.told
	m.told = nil
	return told
}

// frame returns what the world looks like at the end of a step, with who has moved what in it.
func (m *Mapper) frame(i world.Info, v *ecm.View) *worldmap.Frame {
	s := m.system
	l := &worldmap.Layout{World: s.world.Name, Owners: []string{m.name}, Levels: []worldmap.Level{}, Bodies: []worldmap.Body{}}
	f := &worldmap.Frame{Layout: l, Time: i.Time, Iteration: i.Iteration, Loaded: []worldmap.Loaded{}, Owner: []int{}}
	if m.primary != nil {
		l.Owners = m.primary.names
	}
	for n := range s.plan.Levels {
		level := &s.plan.Levels[n]
		l.Levels = append(l.Levels, worldmap.Level{Name: level.Name,
			Inner: worldmap.Box{level.Inner.Min.X, level.Inner.Min.Y, level.Inner.Max.X, level.Inner.Max.Y},
			Outer: worldmap.Box{level.Outer.Min.X, level.Outer.Min.Y, level.Outer.Max.X, level.Outer.Max.Y}})
		if s.rule.Is(n) {
			f.Loaded = append(f.Loaded, worldmap.Loaded{Level: n, Owner: m.ownerOf(n)})
		}
	}
	m.bodies(f, v)
	return f
}

func (m *Mapper) ownerOf(level int) int {
	if m.primary == nil {
		return 0
	}
	return m.primary.owners.of[level]
}

// bodies adds the performers that the world has, and then all other models that move.
func (m *Mapper) bodies(f *worldmap.Frame, v *ecm.View) {
	var entities []ecm.Entity
	seen := map[ecm.Entity]bool{world.Root: true}
	add := func(e ecm.Entity, b worldmap.Body) {
		pose, has := v.Get(e, world.Pose)
		if seen[e] || !has {
			return
		}
		seen[e] = true
		at := world.PoseOf(pose).Position
		f.Layout.Bodies = append(f.Layout.Bodies, b)
		f.X, f.Y, f.Owner = append(f.X, at.X), append(f.Y, at.Y), append(f.Owner, 0)
		entities = append(entities, e)
	}
	for i := range m.system.performers {
		if p := &m.system.performers[i]; p.entity != 0 {
			add(p.entity, worldmap.Body{Name: p.Name, Performer: true, Size: [2]float64{p.Size.X, p.Size.Y}})
		}
	}
	most := len(entities) + mostOthers
	for e := range v.With(world.Velocity) {
		if e = unitOf(v, e); len(entities) < most {
			name, _ := v.Get(e, world.Name)
			add(e, worldmap.Body{Name: string(name)})
		}
	}
	f.Group = make([]int, len(entities))
	if m.primary != nil {
		m.primary.owners.mark(f, entities)
	}
}

// mark says of bodies who moves them, which of them were merged, and who has copies of performers.
func (o *owners) mark(f *worldmap.Frame, entities []ecm.Entity) {
	merged, numbers := make([]bool, len(o.order)), make([]int, len(o.order))
	for i, u := range o.order {
		if u.guest {
			merged[o.root(i)] = true
		}
	}
	groups := 0
	for i, e := range entities {
		u := o.units[e]
		if u == nil || !u.moves || u.owner < 0 {
			f.Owner[i] = -1
			continue
		}
		f.Owner[i] = u.owner
		if root := o.root(u.at); merged[root] {
			if numbers[root] == 0 {
				groups++
				numbers[root] = groups
			}
			f.Group[i] = numbers[root]
		}
		if f.Layout.Bodies[i].Performer {
			each(u.has&^(1<<u.owner), func(k int) { f.Copies = append(f.Copies, worldmap.Copy{Body: i, Owner: k}) })
		}
	}
}
