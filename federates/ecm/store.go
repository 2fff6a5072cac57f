package ecm

import (
	"bytes"
	"cmp"
	"slices"
)

// NewStore returns a state without entities.
func NewStore(schema Schema) *Store {
	return &Store{schema: schema, byNumber: map[Entity]*entity{}}
}

// Version returns the version of the state.
func (s *Store) Version() uint64 { return s.version }

// Len returns the number of entities.
func (s *Store) Len() int { return len(s.order) }

// counter returns how many entities a system has created.
func (s *Store) counter(writer uint32) uint32 {
	if i, found := findCounter(s.counters, writer); found {
		return s.counters[i].Count
	}
	return 0
}

func findCounter(list []Counter, writer uint32) (int, bool) {
	return slices.BinarySearchFunc(list, writer, func(c Counter, w uint32) int { return cmp.Compare(c.Writer, w) })
}

func (e *entity) find(name string) (int, bool) {
	return slices.BinarySearchFunc(e.components, name, func(c component, name string) int { return cmp.Compare(c.name, name) })
}

// get returns a component's value.
func (e *entity) get(name string) ([]byte, bool) {
	for i := range e.components { // few: a walk is quicker than a search
		if e.components[i].name == name {
			return e.components[i].value, true
		}
	}
	return nil, false
}

// Full returns the whole state as the changes that make it of an empty one.
func (s *Store) Full() Changes {
	c := s.fill(&Changes{})
	c.Counters = slices.Clone(c.Counters)
	return *c
}

// fill makes c the whole state, and uses its memory.
func (s *Store) fill(c *Changes) *Changes {
	c.Removed, c.Counters = nil, s.counters
	edits := slices.Grow(c.Edits[:0], len(s.order))[:len(s.order)]
	for i, e := range s.order {
		edits[i] = Edit{Entity: e.number, Created: true, Parent: e.parent, Set: e.full(edits[i].Set[:0])}
	}
	c.Edits = edits
	return c
}

// full appends all components of an entity.
func (e *entity) full(set []Component) []Component {
	for i := range e.components {
		set = append(set, Component{e.components[i].name, e.components[i].value, OneTime})
	}
	return set
}

// Since returns what changed since a version, for a reader that has that version and knows nothing of what was between.
func (s *Store) Since(version uint64) Changes { return s.since(version, new(Memory)) }

func (s *Store) since(version uint64, m *Memory) (c Changes) {
	for _, g := range s.graves {
		if g.created <= version && g.removed > version {
			c.Removed = append(c.Removed, g.number)
		}
	}
	slices.Sort(c.Removed)
	edits, set := m.edits[:0], m.set[:0]
	for _, e := range s.order {
		if e.touched <= version {
			continue
		}
		edit, first := Edit{Entity: e.number}, len(set)
		if edit.Created = e.created > version; edit.Created {
			edit.Parent = e.parent
		}
		for i := range e.components {
			if p := &e.components[i]; p.changed > version || edit.Created {
				set = append(set, Component{p.name, p.value, p.kindSince(version)})
			}
		}
		if len(set) > first {
			edit.Set = set[first:len(set):len(set)]
		}
		for _, g := range e.gone {
			if _, back := e.find(g.name); g.added <= version && g.removed > version && !back && !edit.Created {
				edit.Removed = append(edit.Removed, g.name)
			}
		}
		slices.Sort(edit.Removed)
		if edit.Created || len(edit.Set)+len(edit.Removed) > 0 {
			edits = append(edits, edit)
		}
	}
	if s.counted > version {
		c.Counters = slices.Clone(s.counters)
	}
	c.Edits, m.edits, m.set = edits, edits, set
	return c
}

func (p *component) kindSince(version uint64) Kind {
	if p.oneTime > version {
		return OneTime
	}
	return Periodic
}

// Forget lets go what only a reader of an older version needs.
func (s *Store) Forget(version uint64) {
	s.graves = slices.DeleteFunc(s.graves, func(g grave) bool { return g.removed <= version })
	for _, e := range s.order {
		if len(e.gone) > 0 {
			e.gone = slices.DeleteFunc(e.gone, func(g goneComponent) bool { return g.removed <= version })
		}
	}
}

// commit makes changes that were checked.
func (s *Store) commit(c *Changes) {
	s.version++
	for _, number := range c.Removed {
		e := s.byNumber[number]
		s.graves = append(s.graves, grave{number, e.created, s.version})
		delete(s.byNumber, number)
		e.removed = true
		if parent := s.byNumber[e.parent]; parent != nil {
			parent.below = slices.DeleteFunc(parent.below, func(other Entity) bool { return other == number })
		}
	}
	if len(c.Removed) > 0 {
		s.order = slices.DeleteFunc(s.order, func(e *entity) bool { return e.removed })
	}
	for i := range c.Edits {
		s.edit(&c.Edits[i])
	}
	for i := range c.Edits { // a parent may have a greater number
		if edit := &c.Edits[i]; edit.Created && edit.Parent != 0 {
			parent := s.byNumber[edit.Parent]
			parent.below = append(parent.below, edit.Entity)
		}
	}
	for _, n := range c.Counters {
		i, found := findCounter(s.counters, n.Writer)
		if !found {
			s.counters = slices.Insert(s.counters, i, n)
		}
		s.counters[i].Count = max(s.counters[i].Count, n.Count)
		s.counted = s.version
	}
}

func (s *Store) edit(edit *Edit) {
	e := s.byNumber[edit.Entity]
	if edit.Created {
		e = &entity{number: edit.Entity, parent: edit.Parent, created: s.version, touched: s.version}
		s.byNumber[e.number] = e
		i, _ := slices.BinarySearchFunc(s.order, e.number, func(e *entity, n Entity) int { return cmp.Compare(e.number, n) })
		s.order = slices.Insert(s.order, i, e)
	}
	for i := range edit.Set {
		e.set(&edit.Set[i], s.version)
	}
	for _, name := range edit.Removed {
		i, _ := e.find(name)
		e.gone = append(e.gone, goneComponent{name, e.components[i].added, s.version})
		e.components = slices.Delete(e.components, i, i+1)
		e.touched = s.version
	}
}

// set sets a component. A value that it has already is no change.
func (e *entity) set(c *Component, version uint64) {
	i, found := e.find(c.Type)
	if found && bytes.Equal(e.components[i].value, c.Value) {
		return
	}
	if !found {
		e.components = slices.Insert(e.components, i, component{name: c.Type, added: version})
	}
	p := &e.components[i]
	p.value, p.changed, e.touched = c.Value, version, version
	if c.Kind == OneTime {
		p.oneTime = version
	}
}
