package ecm

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// A View is what one system sees and writes in one phase: the store as it was when the phase began, and its own changes. The first
// mistake of the system stays as Err, so that it need not look at each call.
type View struct {
	store    *Store
	writer   uint32
	readOnly bool
	count    uint32 // entities that the system has created
	written  []Edit // by another system, in order: all edits, as long as the system itself writes none
	edits    map[Entity]*Edit
	created  []Entity
	removed  map[Entity]bool
	err      error
}

// View returns a view for the system with a number. Zero is the world itself.
func (s *Store) View(writer uint32) *View {
	return &View{store: s, writer: writer, count: s.counter(writer)}
}

// ReadOnly returns a view that takes nothing.
func (s *Store) ReadOnly() *View { return &View{store: s, readOnly: true} }

// Err returns the first mistake of the system.
func (v *View) Err() error { return v.err }

func (v *View) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, args...)
	}
}

// edit returns what was written to an entity; nil: nothing.
func (v *View) edit(e Entity) *Edit {
	if len(v.written) == 0 {
		return v.edits[e]
	}
	if i, found := slices.BinarySearchFunc(v.written, e, func(edit Edit, e Entity) int { return cmp.Compare(edit.Entity, e) }); found {
		return &v.written[i]
	}
	return nil
}

// Exists reports whether there is an entity.
func (v *View) Exists(e Entity) bool {
	if v.removed[e] {
		return false
	}
	if edit := v.edit(e); edit != nil && edit.Created {
		return true
	}
	return v.store.byNumber[e] != nil
}

// Parent returns the entity above an entity; zero: none.
func (v *View) Parent(e Entity) Entity {
	if edit := v.edit(e); edit != nil && edit.Created {
		return edit.Parent
	}
	if there := v.store.byNumber[e]; there != nil {
		return there.parent
	}
	return 0
}

// Get returns a component of an entity.
func (v *View) Get(e Entity, name string) ([]byte, bool) {
	if v.removed[e] {
		return nil, false
	}
	if edit := v.edit(e); edit != nil {
		if i, found := edit.find(name); found {
			return edit.Set[i].Value, true
		}
		if edit.Created || slices.Contains(edit.Removed, name) {
			return nil, false
		}
	}
	if there := v.store.byNumber[e]; there != nil {
		return there.get(name)
	}
	return nil, false
}

func (e *Edit) find(name string) (int, bool) {
	return slices.BinarySearchFunc(e.Set, name, func(c Component, name string) int { return cmp.Compare(c.Type, name) })
}

// With yields the entities that have a component, those of the store by number and then those that the system created. Those that
// it creates meanwhile are not among them.
func (v *View) With(name string) iter.Seq2[Entity, []byte] {
	return func(yield func(Entity, []byte) bool) {
		created := v.created
		for _, e := range v.store.order {
			value, found := e.get(name)
			if len(v.written)+len(v.edits)+len(v.removed) > 0 {
				value, found = v.Get(e.number, name)
			}
			if found && !yield(e.number, value) {
				return
			}
		}
		for _, e := range created {
			if value, found := v.Get(e, name); found && !yield(e, value) {
				return
			}
		}
	}
}

// All yields all entities, in the order of With.
func (v *View) All() iter.Seq[Entity] {
	return func(yield func(Entity) bool) {
		created := v.created
		for _, e := range v.store.order {
			if !v.removed[e.number] && !yield(e.number) {
				return
			}
		}
		for _, e := range created {
			if !v.removed[e] && !yield(e) {
				return
			}
		}
	}
}

// Version returns the version of the state that the view shows.
func (v *View) Version() uint64 { return v.store.version }

// Since returns what changed since a version of the state, as [Store.Since] does, and uses memory. What the system itself writes is not in it.
func (v *View) Since(version uint64, m *Memory) Changes { return v.store.since(version, m) }

// Copy returns these entities of the state, which are in order, as the changes that make them. All counters are among them.
func (v *View) Copy(entities []Entity) (c Changes) {
	c.Edits = make([]Edit, 0, len(entities))
	for _, number := range entities {
		if e := v.store.byNumber[number]; e != nil {
			c.Edits = append(c.Edits, Edit{Entity: e.number, Created: true, Parent: e.parent, Set: e.full(make([]Component, 0, len(e.components)))})
		}
	}
	c.Counters = slices.Clone(v.store.counters)
	return c
}

// writable reports whether the system may write at all.
func (v *View) writable() bool {
	if v.readOnly {
		v.fail("it writes where it may only read; write in PreUpdate or Update")
	}
	return !v.readOnly && v.err == nil
}

// Create makes an entity below a parent; zero: below none.
func (v *View) Create(parent Entity) Entity {
	if !v.writable() {
		return 0
	}
	if parent != 0 && !v.Exists(parent) {
		v.fail("it creates an entity below entity %v, which does not exist", parent)
		return 0
	}
	v.count++
	e := entityOf(v.writer, v.count)
	v.change(e).Created, v.edits[e].Parent = true, parent
	v.created = append(v.created, e)
	return e
}

// change returns the edit of an entity.
func (v *View) change(e Entity) *Edit {
	v.spread()
	edit := v.edits[e]
	if edit == nil {
		edit = &Edit{Entity: e, Set: make([]Component, 0, 2)} // a body has a pose and a velocity
		v.edits[e] = edit
	}
	return edit
}

// spread puts what another system wrote among what the system itself writes.
func (v *View) spread() {
	if v.edits == nil {
		v.edits = make(map[Entity]*Edit, len(v.written))
	}
	for i := range v.written {
		v.edits[v.written[i].Entity] = &v.written[i]
	}
	v.written = nil
}

// Set sets a component. The value is handed over. A value that the component has already is no change.
func (v *View) Set(e Entity, name string, value []byte, kind Kind) {
	if !v.writable() {
		return
	}
	if !v.Exists(e) {
		v.fail("it sets %s of entity %v, which does not exist", name, e)
		return
	}
	if old, found := v.Get(e, name); found && bytes.Equal(old, value) {
		return
	}
	c := Component{name, value, kind}
	if err := v.store.schema.check(e, &c); err != nil {
		v.fail("it sets %w", err)
		return
	}
	edit := v.change(e)
	edit.Removed = slices.DeleteFunc(edit.Removed, func(r string) bool { return r == name })
	i, found := edit.find(name)
	if found {
		c.Kind = max(kind, edit.Set[i].Kind)
		edit.Set[i] = c
		return
	}
	edit.Set = slices.Insert(edit.Set, i, c)
}

// Write writes what another system wrote, which created and removed nothing: the edits, in order, are handed over, and stand in the place of what was written to the same entities. Merge
// finds what cannot be.
func (v *View) Write(edits []Edit) {
	if !v.writable() {
		return
	}
	if len(v.written)+len(v.edits) > 0 {
		v.spread()
		v.written = edits
		v.spread()
		return
	}
	v.written = edits // in no map: nobody looks a thousand of them up
}

// Unset removes a component. It is no mistake if there is none.
func (v *View) Unset(e Entity, name string) {
	if _, found := v.Get(e, name); !found || !v.writable() {
		return
	}
	edit := v.change(e)
	if i, found := edit.find(name); found {
		edit.Set = slices.Delete(edit.Set, i, i+1)
	}
	if there := v.store.byNumber[e]; there != nil {
		if _, found := there.get(name); found {
			edit.Removed = append(edit.Removed, name)
		}
	}
}

// Remove removes an entity and all below it. It is no mistake if there is none.
func (v *View) Remove(e Entity) {
	if !v.Exists(e) || !v.writable() {
		return
	}
	if v.removed == nil {
		v.removed = map[Entity]bool{}
	}
	below := map[Entity][]Entity{} // what the system created; found once: a chain may be as long as there are entities
	for _, other := range v.created {
		if parent := v.Parent(other); parent != 0 {
			below[parent] = append(below[parent], other)
		}
	}
	for todo := []Entity{e}; len(todo) > 0; {
		last := len(todo) - 1
		e, todo = todo[last], todo[:last]
		if !v.removed[e] {
			v.removed[e] = true
			todo = append(todo, below[e]...)
			if there := v.store.byNumber[e]; there != nil {
				todo = append(todo, there.below...)
			}
		}
	}
}

// Changes returns what the system wrote.
func (v *View) Changes() (c Changes) {
	for e := range v.removed {
		if v.store.byNumber[e] != nil {
			c.Removed = append(c.Removed, e)
		}
	}
	slices.Sort(c.Removed)
	if len(v.written) > 0 && len(v.removed) == 0 {
		c.Edits = v.written
		return c
	}
	if len(v.written) > 0 {
		v.spread()
	}
	c.Edits = slices.Grow(c.Edits, len(v.edits))
	for _, e := range slices.Sorted(maps.Keys(v.edits)) {
		edit := v.edits[e]
		if v.removed[e] || !edit.Created && len(edit.Set)+len(edit.Removed) == 0 {
			continue
		}
		slices.Sort(edit.Removed)
		c.Edits = append(c.Edits, *edit)
	}
	if v.count > v.store.counter(v.writer) {
		c.Counters = []Counter{{v.writer, v.count}}
	}
	return c
}
