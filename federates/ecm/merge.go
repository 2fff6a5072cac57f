package ecm

import (
	"cmp"
	"fmt"
	"slices"
)

// A Writer is what one system wrote, and the number under which it creates entities.
type Writer struct {
	Written
	Number uint32
}

// Merge makes what several systems wrote at the same time, in their order: where two wrote the same, the later one stands; where one
// removed an entity, what others wrote to it is dropped. If what a system wrote does not fit the state, nothing is changed, and the
// error is a *WriterError.
func (s *Store) Merge(writers []Writer) ([]Conflict, error) {
	for i := range writers {
		w := &writers[i]
		if err := s.checkWriter(w); err != nil {
			return nil, &WriterError{w.By, err}
		}
	}
	writers = slices.DeleteFunc(slices.Clone(writers), func(w Writer) bool { return w.Empty() })
	switch len(writers) {
	case 0:
		return nil, nil
	case 1:
		s.commit(&writers[0].Changes)
		return nil, nil
	}
	m := merger{edits: map[Entity]*Edit{}, removed: map[Entity]string{}, by: map[field]string{}}
	for i := range writers {
		m.remove(&writers[i])
	}
	for i := range writers {
		m.add(&writers[i])
	}
	m.finish()
	s.commit(&m.changes)
	return m.conflicts, nil
}

// checkWriter checks what a system wrote, which creates entities under its own number only.
func (s *Store) checkWriter(w *Writer) error {
	for _, n := range w.Counters {
		if n.Writer != w.Number {
			return fmt.Errorf("it creates entities as writer %d, and it is writer %d", n.Writer, w.Number)
		}
	}
	for i := range w.Edits {
		if e := w.Edits[i].Entity; w.Edits[i].Created && (e.writer() != w.Number || e.count() <= s.counter(w.Number)) {
			return fmt.Errorf("it creates entity %v, whose number is not its own, or was used before", e)
		}
		if p := w.Edits[i].Parent; w.Edits[i].Created && p.writer() == w.Number && p >= w.Edits[i].Entity {
			return fmt.Errorf("it creates entity %v below entity %v, which is younger", w.Edits[i].Entity, p)
		}
	}
	return s.check(&w.Changes)
}

// A merger gathers what several systems wrote.
type merger struct {
	changes   Changes
	edits     map[Entity]*Edit
	removed   map[Entity]string // by whom
	by        map[field]string  // who wrote a field last
	conflicts []Conflict
}

// A field is a component of an entity.
type field struct {
	entity Entity
	name   string
}

func (m *merger) remove(w *Writer) {
	for _, e := range w.Removed {
		if _, already := m.removed[e]; !already {
			m.removed[e] = w.By
			m.changes.Removed = append(m.changes.Removed, e)
		}
	}
}

func (m *merger) add(w *Writer) {
	m.changes.Counters = append(m.changes.Counters, w.Counters...)
	for i := range w.Edits {
		from := &w.Edits[i]
		by, gone := m.removed[from.Entity]
		if from.Created {
			by, gone = m.removed[from.Parent]
		}
		if gone {
			if from.Created {
				m.removed[from.Entity] = by // what is created below it goes too
			}
			m.conflicts = append(m.conflicts, Conflict{Entity: from.Entity, By: by, Over: w.By})
			continue
		}
		m.edit(w.By, from)
	}
}

// edit adds the edit of one entity.
func (m *merger) edit(by string, from *Edit) {
	into := m.edits[from.Entity]
	if into == nil {
		into = &Edit{Entity: from.Entity, Created: from.Created, Parent: from.Parent}
		m.edits[from.Entity] = into
	}
	claim := func(name string) {
		f := field{from.Entity, name}
		if over, written := m.by[f]; written {
			m.conflicts = append(m.conflicts, Conflict{from.Entity, name, by, over})
		}
		m.by[f] = by
	}
	for _, c := range from.Set {
		claim(c.Type)
		into.Removed = slices.DeleteFunc(into.Removed, func(r string) bool { return r == c.Type })
		i, found := into.find(c.Type)
		if !found {
			into.Set = slices.Insert(into.Set, i, c)
		}
		into.Set[i] = c
	}
	for _, name := range from.Removed {
		claim(name)
		if i, found := into.find(name); found {
			into.Set = slices.Delete(into.Set, i, i+1)
		}
		if i, found := slices.BinarySearch(into.Removed, name); !found {
			into.Removed = slices.Insert(into.Removed, i, name)
		}
	}
}

func (m *merger) finish() {
	slices.Sort(m.changes.Removed)
	for _, e := range m.edits {
		m.changes.Edits = append(m.changes.Edits, *e)
	}
	slices.SortFunc(m.changes.Edits, func(a, b Edit) int { return cmp.Compare(a.Entity, b.Entity) })
	slices.SortFunc(m.changes.Counters, func(a, b Counter) int { return cmp.Compare(a.Writer, b.Writer) })
}
