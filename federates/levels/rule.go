package levels

import (
	"cmp"
	"slices"
)

// A rule says which levels of a plan are loaded. A level stays while a performer touches its buffer, whichever has loaded it.
type rule struct {
	policy  Policy
	levels  []Level
	is      []bool // loaded
	order   []int  // of the levels, by where their buffers begin along X
	longest float64
	inner   []bool // scratch of Update
	outer   []bool
}

// newRule returns the state in which no level is loaded.
func newRule(levels []Level, policy Policy) *rule {
	n := len(levels)
	l := &rule{policy: policy, levels: levels, is: make([]bool, n), inner: make([]bool, n), outer: make([]bool, n)}
	for i := range levels {
		l.order = append(l.order, i)
		l.longest = max(l.longest, levels[i].Outer.Max.X-levels[i].Outer.Min.X)
	}
	slices.SortStableFunc(l.order, func(a, b int) int { return cmp.Compare(levels[a].Outer.Min.X, levels[b].Outer.Min.X) })
	return l
}

// Is reports whether a level is loaded.
func (l *rule) Is(level int) bool { return l.is[level] }

// near calls f for the levels whose buffers a box touches.
func (l *rule) near(b Box, f func(level int)) {
	end, _ := slices.BinarySearchFunc(l.order, b.Max.X, func(i int, x float64) int {
		if l.levels[i].Outer.Min.X <= x {
			return -1
		}
		return 1
	})
	for k := end - 1; k >= 0; k-- {
		level := &l.levels[l.order[k]]
		// Twice the longest: of a rounded sum no level may be missed.
		if level.Outer.Min.X < b.Min.X-2*l.longest {
			return
		}
		if level.Outer.meets(b) {
			f(l.order[k])
		}
	}
}

// Update says where the performers are, and returns the levels that are loaded and unloaded because of it, in order.
func (l *rule) Update(performers []Box) (load, unload []int) {
	clear(l.inner)
	clear(l.outer)
	for _, b := range performers {
		l.near(b, func(level int) {
			l.outer[level] = true
			l.inner[level] = l.inner[level] || l.levels[level].Inner.meets(b)
		})
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
