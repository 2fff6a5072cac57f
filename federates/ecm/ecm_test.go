package ecm

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// merge merges what one writer did.
func merge(t *testing.T, s *Store, writer uint32, act func(v *View)) {
	t.Helper()
	v := s.View(writer)
	act(v)
	require.NoError(t, v.Err())
	_, err := s.Merge([]Writer{{Written{"w", v.Changes()}, writer}})
	require.NoError(t, err)
}

// What another system wrote is seen at once, and goes with the entities that the system itself removes.
func TestWhatIsHandedOver(t *testing.T) {
	s := NewStore(nil)
	merge(t, s, 0, func(v *View) {
		for range 2 {
			v.Set(v.Create(0), "a", []byte{1}, OneTime)
		}
	})
	v := s.View(0)
	v.Write([]Edit{{Entity: 1, Set: []Component{{"a", []byte{8}, Periodic}}}, {Entity: 2, Set: []Component{{"a", []byte{9}, Periodic}}}})
	seen := map[Entity]byte{}
	for e, value := range v.With("a") {
		seen[e] = value[0]
	}
	assert.Equal(t, map[Entity]byte{1: 8, 2: 9}, seen)
	v.Remove(2)
	assert.Equal(t, Changes{Removed: []Entity{2}, Edits: []Edit{{Entity: 1, Set: []Component{{"a", []byte{8}, Periodic}}}}}, v.Changes())
}

// Memory is used again.
func TestChangesInMemory(t *testing.T) {
	s := NewStore(nil)
	merge(t, s, 0, func(v *View) { v.Set(v.Create(0), "a", []byte{1}, OneTime) })
	c := s.Since(0)
	b := c.Append(nil)
	var m Memory
	decoded, err := m.Decode(b)
	require.NoError(t, err)
	edit, set := &decoded.Edits[0], &decoded.Edits[0].Set[0]
	decoded, err = m.Decode(b)
	require.NoError(t, err)
	assert.Same(t, edit, &decoded.Edits[0])
	assert.Same(t, set, &decoded.Edits[0].Set[0])
	v := s.ReadOnly()
	c = v.Since(0, &m)
	assert.Same(t, edit, &c.Edits[0])
	assert.Same(t, set, &c.Edits[0].Set[0])
}

func TestWhatCameAndWentBetweenIsNotTold(t *testing.T) {
	s := NewStore(nil)
	merge(t, s, 0, func(v *View) { v.Set(v.Create(0), "a", []byte{1}, OneTime) })
	seen := s.Version()
	merge(t, s, 1, func(v *View) { v.Set(v.Create(1), "a", []byte{2}, OneTime) })
	merge(t, s, 0, func(v *View) { v.Set(1, "b", []byte{3}, OneTime) })
	merge(t, s, 2, func(v *View) { v.Remove(entityOf(1, 1)); v.Unset(1, "b") })
	c := s.Since(seen)
	assert.Empty(t, c.Removed)
	assert.Empty(t, c.Edits)
	assert.Equal(t, []Counter{{0, 1}, {1, 1}}, c.Counters, "or a reader would give the number again")
	again := s.Since(s.Version())
	assert.True(t, again.Empty())
}

// A component that was removed, set again and removed again is still there for a reader of the beginning.
func TestARemovalIsTold(t *testing.T) {
	s := NewStore(nil)
	merge(t, s, 0, func(v *View) { v.Set(v.Create(0), "a", []byte{1}, OneTime) })
	seen := s.Version()
	merge(t, s, 0, func(v *View) { v.Unset(1, "a") })
	merge(t, s, 0, func(v *View) { v.Set(1, "a", []byte{1}, Periodic) })
	between := s.Version()
	merge(t, s, 0, func(v *View) { v.Unset(1, "a") })
	assert.Equal(t, []Edit{{Entity: 1, Removed: []string{"a"}}}, s.Since(seen).Edits)
	assert.Equal(t, []Edit{{Entity: 1, Removed: []string{"a"}}}, s.Since(between).Edits)
	s.Forget(between)
	assert.Equal(t, []Edit{{Entity: 1, Removed: []string{"a"}}}, s.Since(between).Edits)
	s.Forget(s.Version())
	assert.Empty(t, s.byNumber[1].gone)
}

func TestAOneTimeChangeIsNotHiddenByALaterSample(t *testing.T) {
	s := NewStore(nil)
	merge(t, s, 0, func(v *View) { v.Create(0) })
	seen := s.Version()
	merge(t, s, 0, func(v *View) { v.Set(1, "a", []byte{1}, OneTime) })
	between := s.Version()
	merge(t, s, 0, func(v *View) { v.Set(1, "a", []byte{2}, Periodic) })
	assert.Equal(t, OneTime, s.Since(seen).Edits[0].Set[0].Kind)
	assert.Equal(t, Periodic, s.Since(between).Edits[0].Set[0].Kind)
	merge(t, s, 0, func(v *View) { v.Set(1, "a", []byte{3}, OneTime); v.Set(1, "a", []byte{4}, Periodic) })
	assert.Equal(t, OneTime, s.Since(between).Edits[0].Set[0].Kind)
}

// Two systems write at the same time: the later one stands, a removal beats a write, and each case is reported.
func TestConflicts(t *testing.T) {
	s := NewStore(nil)
	merge(t, s, 0, func(v *View) {
		for range 3 {
			v.Set(v.Create(0), "a", []byte{0}, OneTime)
		}
	})
	one, two, three := s.View(1), s.View(2), s.View(3)
	one.Set(1, "a", []byte{1}, OneTime)
	two.Set(1, "a", []byte{2}, OneTime)
	two.Set(2, "a", []byte{2}, OneTime)
	two.Set(two.Create(2), "a", []byte{9}, OneTime)
	three.Remove(2)
	three.Unset(3, "a")
	one.Set(3, "a", []byte{5}, OneTime)
	writers := []Writer{{Written{"one", one.Changes()}, 1}, {Written{"two", two.Changes()}, 2}, {Written{"three", three.Changes()}, 3}}
	conflicts, err := s.Merge(writers)
	require.NoError(t, err)
	assert.Equal(t, []Conflict{
		{1, "a", "two", "one"}, {2, "", "three", "two"}, {entityOf(2, 1), "", "three", "two"}, {3, "a", "three", "one"},
	}, conflicts)
	v := s.ReadOnly()
	value, _ := v.Get(1, "a")
	assert.Equal(t, []byte{2}, value)
	_, found := v.Get(3, "a")
	assert.False(t, found)
	assert.Equal(t, 2, s.Len())
	assert.Equal(t, "a of entity 1: what two wrote stands, what one wrote is dropped", conflicts[0].String())
	assert.Equal(t, "entity 2:1: three removed it, what two wrote to it is dropped", conflicts[2].String())
}

// What a system wrote may come from another process: nothing of it reaches the store unless all of it fits.
func TestWhatDoesNotFitChangesNothing(t *testing.T) {
	odd := errors.New("is odd")
	s := NewStore(Schema{"even": func(b []byte) error {
		if len(b)%2 == 1 {
			return odd
		}
		return nil
	}})
	merge(t, s, 0, func(v *View) { v.Set(v.Create(v.Create(0)), "a", nil, OneTime) })
	hash := s.Hash()
	set := func(e Entity, name string, value ...byte) []Edit {
		return []Edit{{Entity: e, Set: []Component{{name, value, OneTime}}}}
	}
	first, second, third := entityOf(1, 1), entityOf(1, 2), entityOf(1, 3)
	for _, c := range []struct {
		c    Changes
		want string
	}{
		{Changes{Edits: set(9, "a")}, "system w: entity 9, which is changed, does not exist"},
		{Changes{Edits: set(1, "even", 1)}, "system w: even of entity 1: is odd"},
		{Changes{Edits: set(1, "")}, "system w: a component of entity 1 whose type has 0 bytes, not 1 to 255"},
		{Changes{Removed: []Entity{7}}, "system w: entity 7, which is removed, does not exist"},
		{Changes{Removed: []Entity{1}}, "system w: entity 1 is removed, and entity 2 below it is not"},
		{Changes{Removed: []Entity{2}, Edits: set(2, "a", 1)}, "system w: entity 2 is changed and removed"},
		{Changes{Edits: []Edit{{Entity: 1, Removed: []string{"b"}}}}, "system w: b of entity 1, which is removed, does not exist"},
		{Changes{Edits: []Edit{{Entity: 1, Created: true}}}, "system w: it creates entity 1, whose number is not its own, or was used before"},
		{Changes{Edits: []Edit{{Entity: first, Created: true}}}, "system w: entity 1:1 is created, and the counter of its writer does not know it"},
		{Changes{Edits: []Edit{{Entity: first, Created: true, Parent: 8}}, Counters: []Counter{{1, 1}}},
			"system w: entity 1:1 is created below entity 8, which does not exist"},
		{Changes{Edits: []Edit{{Entity: first, Created: true, Parent: 2}}, Removed: []Entity{2}, Counters: []Counter{{1, 1}}},
			"system w: entity 1:1 is created below entity 2, which does not exist"},
		{Changes{Edits: []Edit{{Entity: second, Created: true, Parent: third}, {Entity: third, Created: true, Parent: second}}, Counters: []Counter{{1, 3}}},
			"system w: it creates entity 1:2 below entity 1:3, which is younger"},
		{Changes{Counters: []Counter{{2, 1}}}, "system w: it creates entities as writer 2, and it is writer 1"},
	} {
		_, err := s.Merge([]Writer{{Written{"w", c.c}, 1}})
		assert.EqualError(t, err, c.want)
		assert.ErrorAs(t, err, new(*WriterError))
		assert.Equal(t, hash, s.Hash())
	}
	cycle := Changes{Edits: []Edit{{Entity: 8, Created: true, Parent: 9}, {Entity: 9, Created: true, Parent: 8}}, Counters: []Counter{{0, 9}}}
	assert.EqualError(t, s.Apply(cycle), "entity 8 is created below itself")
}

func TestTheFirstMistakeOfASystemStays(t *testing.T) {
	s := NewStore(Schema{"never": func([]byte) error { return errors.New("is never right") }})
	merge(t, s, 0, func(v *View) { v.Create(0) })
	for _, c := range []struct {
		view *View
		act  func(v *View)
		want string
	}{
		{s.View(1), func(v *View) { v.Set(1, "never", nil, OneTime); v.Set(7, "a", nil, OneTime) }, "it sets never of entity 1: is never right"},
		{s.View(1), func(v *View) { v.Set(7, "a", nil, OneTime); v.Create(0) }, "it sets a of entity 7, which does not exist"},
		{s.View(1), func(v *View) { v.Create(7) }, "it creates an entity below entity 7, which does not exist"},
		{s.View(1), func(v *View) { v.Remove(1); v.Set(1, "a", nil, OneTime) }, "it sets a of entity 1, which does not exist"},
		{s.ReadOnly(), func(v *View) { v.Remove(1) }, "it writes where it may only read; write in PreUpdate or Update"},
	} {
		c.act(c.view)
		assert.EqualError(t, c.view.Err(), c.want)
	}
}

// Bytes that Append would write otherwise are refused, each with its reason.
func TestOtherEncodingsAreRefused(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  string
	}{
		{"", "byte 0 of encoded changes: they end here; the sender speaks another version, or is broken"},
		{"\x02\x00\x00\x00\x00", "version 2 of the encoding, this program knows 1"},
		{"\x01\x80\x00\x00\x00\x00", "a number with needless bytes"},
		{"\x01\x00\x00\x00\x00\x00", "1 bytes too many"},
		{"\x01\x01\x01a\x00\x00\x00", `type "a" does not occur`},
		{"\x01\x02\x01b\x01a\x00\x00\x00", `type "a" is not behind "b"`},
		{"\x01\x01\x00\x00\x00\x00", "the name of a type has 0 bytes, not 1 to 255"},
		{"\x01\x00\x01\x00\x00\x00\x00", "the counter of writer 0 is 0, or out of order"},
		{"\x01\x00\x00\x01\x00\x00", "no entity, or one out of order"},
		{"\x01\x00\x00\x00\x01\x01\x00\x00\x00", "nothing changes of entity 1"},
		{"\x01\x00\x00\x00\x01\x01\x01\x01\x00\x00", "entity 1 is its own parent"},
		{"\x01\x00\x00\x00\x01\x01\x02", "neither 0 nor 1 where entity 1 is created or not"},
		{"\x01\x01\x01a\x00\x00\x01\x01\x00\x01\x00\x03\x00\x00", "kind 3 of a change"},
		{"\x01\x01\x01a\x00\x00\x01\x01\x00\x01\x00\x01\x00\x01\x00", "a of entity 1 is set and removed"},
		{"\x01\x01\x01a\x00\x00\x01\x01\x01\x00\x00\x01\x00", "entity 1 is created, and loses a"},
		{"\x01\xff\xff\xff\xff\x0f", "4294967295 of what 0 bytes have no room for"},
	} {
		_, err := Decode([]byte(c.bytes))
		assert.ErrorAs(t, err, new(*FormatError), "%q", c.bytes)
		assert.ErrorContains(t, err, c.want)
	}
}

// What is removed is walked once, however deep it is: a system in a sandbox could hold a run with a chain otherwise, as its limit of time ends its own code alone.
func TestALongChainIsRemoved(t *testing.T) {
	s := NewStore(nil)
	v := s.View(1)
	first := v.Create(0)
	e := first
	for range 100_000 {
		e = v.Create(e)
	}
	other := v.Create(0)
	v.Remove(first)
	require.NoError(t, v.Err())
	assert.Equal(t, []Entity{other}, slices.Collect(v.All()))
	assert.Len(t, v.Changes().Edits, 1)
}
