package levels

import (
	"slices"

	"metasim/federates/spatial"
)

// A rule says which levels of a plan are loaded. A level stays while a performer touches its buffer, whichever has loaded it.
type rule struct {
	policy Policy
	levels []Level
	is     []bool       // loaded
	grid   spatial.Grid // of the levels, with their buffers
	inner  []bool       // scratch of Update
	outer  []bool
}

// newRule returns the state in which no level is loaded.
func newRule(levels []Level, policy Policy) *rule {
	n := len(levels)
	l := &rule{policy: policy, levels: levels, is: make([]bool, n), inner: make([]bool, n), outer: make([]bool, n)}
	for i := range levels {
		l.grid.Put(i, &levels[i].Outer)
	}
	return l
}

// Is reports whether a level is loaded.
func (l *rule) Is(level int) bool { return l.is[level] }

// look returns the levels whose buffers the box may touch, in order, and which it may be in.
func (l *rule) look(s *seeker) []int {
	if !s.knew || !s.box.Within(&s.room) {
		s.knew, s.near, s.room = true, s.near[:0], s.box.Grown(1+s.box.Edge())
		l.grid.Meeting(&s.room, func(level int) { s.near = append(s.near, level) })
		slices.Sort(s.near)
	}
	return s.near
}

// Update is told where the performers are, and returns the levels that are loaded and unloaded because of it, in order.
func (l *rule) Update(performers []tracked) (load, unload []int) {
	clear(l.inner)
	clear(l.outer)
	for i := range performers {
		p := &performers[i]
		if p.in = p.in[:0]; p.entity == 0 {
			continue
		}
		for _, level := range l.look(&p.seeker) {
			if of := &l.levels[level]; of.Outer.Meets(&p.box) {
				p.in = append(p.in, level)
				l.outer[level] = true
				l.inner[level] = l.inner[level] || of.Inner.Meets(&p.box)
			}
		}
	}
	for i := range l.levels {
		is := l.inner[i] || l.outer[i] && (l.is[i] || l.policy == Document)
		switch {
		case is && !l.is[i]:
			load = append(load, i)
		case !is && l.is[i]:
			unload = append(unload, i)
		}
		l.is[i] = is
	}
	return load, unload
}
