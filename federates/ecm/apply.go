package ecm

import (
	"fmt"
	"slices"
)

// Apply makes changes that come from another store: from Since of the version that this one has, or from Full for an empty one. If
// they do not fit, nothing is changed.
func (s *Store) Apply(c Changes) error {
	if err := s.check(&c); err != nil {
		return err
	}
	s.commit(&c)
	return nil
}

// check says why changes do not fit the state.
func (s *Store) check(c *Changes) error {
	for _, number := range c.Removed {
		if s.byNumber[number] == nil {
			return fmt.Errorf("entity %v, which is removed, does not exist", number)
		}
	}
	for i := range c.Edits {
		if err := s.checkEdit(c, &c.Edits[i]); err != nil {
			return err
		}
	}
	return s.checkFamilies(c)
}

func (s *Store) checkEdit(c *Changes, edit *Edit) error {
	e := s.byNumber[edit.Entity]
	switch {
	case edit.Created && e != nil:
		return fmt.Errorf("entity %v, which is created, exists", edit.Entity)
	case !edit.Created && e == nil:
		return fmt.Errorf("entity %v, which is changed, does not exist", edit.Entity)
	case !edit.Created && c.removes(edit.Entity):
		return fmt.Errorf("entity %v is changed and removed", edit.Entity)
	case edit.Created && s.counterAfter(c, edit.Entity.writer()) < edit.Entity.count():
		return fmt.Errorf("entity %v is created, and the counter of its writer does not know it", edit.Entity)
	}
	if why := edit.senseless(); why != "" {
		return fmt.Errorf("%s", why)
	}
	for i := range edit.Set {
		if err := s.schema.check(edit.Entity, &edit.Set[i]); err != nil {
			return err
		}
	}
	for _, name := range edit.Removed {
		if _, found := e.find(name); !found {
			return fmt.Errorf("%s of entity %v, which is removed, does not exist", name, edit.Entity)
		}
	}
	return nil
}

func (schema Schema) check(e Entity, c *Component) error {
	if c.Type == "" || len(c.Type) > maxType {
		return fmt.Errorf("a component of entity %v whose type has %d bytes, not 1 to %d", e, len(c.Type), maxType)
	}
	if check := schema[c.Type]; check != nil {
		if err := check(c.Value); err != nil {
			return fmt.Errorf("%s of entity %v: %w", c.Type, e, err)
		}
	}
	return nil
}

func (s *Store) counterAfter(c *Changes, writer uint32) uint32 {
	if i, found := findCounter(c.Counters, writer); found {
		return max(c.Counters[i].Count, s.counter(writer))
	}
	return s.counter(writer)
}

func (c *Changes) removes(e Entity) bool {
	_, found := slices.BinarySearch(c.Removed, e)
	return found
}

// checkFamilies says whether an entity would be without its parent, or its own ancestor.
func (s *Store) checkFamilies(c *Changes) error {
	made := map[Entity]Entity{} // to its parent
	for i := range c.Edits {
		if e := &c.Edits[i]; e.Created {
			made[e.Entity] = e.Parent
		}
	}
	rooted := map[Entity]bool{0: true} // it has been followed to an entity that exists
	for i := range c.Edits {
		number := c.Edits[i].Entity
		if !c.Edits[i].Created {
			continue
		}
		for at, steps := number, 0; !rooted[at]; steps++ {
			parent, isMade := made[at]
			if !isMade {
				if s.byNumber[at] == nil || c.removes(at) {
					return fmt.Errorf("entity %v is created below entity %v, which does not exist", number, at)
				}
				break
			}
			if steps > len(made) {
				return fmt.Errorf("entity %v is created below itself", number)
			}
			at = parent
		}
		rooted[number] = true
	}
	if len(c.Removed) == 0 {
		return nil
	}
	for _, number := range c.Removed {
		for _, below := range s.byNumber[number].below {
			if !c.removes(below) {
				return fmt.Errorf("entity %v is removed, and entity %v below it is not", number, below)
			}
		}
	}
	return nil
}
