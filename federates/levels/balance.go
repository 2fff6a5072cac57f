package levels

import (
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/world"
	"metasim/metasim"
)

// Costs are what the secondaries took for the steps of the world, as they were measured. The states do not depend on them.
type costs struct {
	pending       []int64 // measured, and not looked at
	steps         uint64  // for which they are
	at            uint64  // the step of the latest measurement
	before, after []float64
	moves         []Move
}

// A Move is a level or a model that was given to another secondary because of measured costs.
type Move struct {
	Iteration    uint64
	Time         metasim.Time
	Level, Model string // one is empty
	From, To     string // secondaries
}

// balance moves levels and models between the secondaries of these names, if costs were measured since the last time.
func (o *owners) balance(c *costs, names []string, i world.Info, name func(ecm.Entity) string) {
	if len(c.pending) != len(names) {
		return
	}
	cost := c.pending[:o.active]
	c.pending, c.after = nil, c.after[:0]
	for _, ns := range cost {
		c.after = append(c.after, float64(ns)/float64(max(1, c.steps)))
	}
	if c.before == nil {
		c.before = slices.Clone(c.after)
	}
	all := o.burdens()
	for _, n := range rebalance(all, slices.Clone(c.after)) {
		b := &all[n]
		m := Move{Iteration: i.Iteration, Time: i.Time, From: names[b.from], To: names[b.owner]}
		if b.level >= 0 {
			o.of[b.level], m.Level = b.owner, o.plan.Levels[b.level].Name
		} else {
			b.unit.home, m.Model = b.owner, name(b.unit.entity)
		}
		c.moves = append(c.moves, m)
	}
	o.house()
}

// A burden is what moves from one secondary to another as one: a level with all that is at home in it, or a model of no level.
type burden struct {
	level       int   // -1: none
	unit        *unit // of no level
	from, owner int
	size        int // models
}

// burdens returns what may be moved: levels in order, then models.
func (o *owners) burdens() (all []burden) {
	at := map[int]int{}
	for _, u := range o.order {
		if u.level < 0 {
			all = append(all, burden{-1, u, u.home, u.home, 1})
			continue
		}
		n, known := at[u.level]
		if !known {
			n = len(all)
			at[u.level] = n
			all = append(all, burden{level: u.level, from: u.home, owner: u.home})
		}
		all[n].size++
	}
	return all
}

// Costs that differ by less than tolerance of the highest are equal, as they are measured. A move has to take a part of leastGain off that.
const (
	tolerance = 0.15
	leastGain = 0.05
)

// rebalance gives burdens other owners, until costs are about equal, or no single move makes the highest of them lower. A burden is taken to cost as much of its owner as it has of its models. It returns which burdens
// have moved, each once.
func rebalance(all []burden, cost []float64) (moved []int) {
	sizes := make([]int, len(cost))
	for n := range all {
		sizes[all[n].owner] += all[n].size
	}
	each := make([]float64, len(cost)) // of a model
	for k := range cost {
		each[k] = cost[k] / float64(max(1, sizes[k]))
	}
	for range all {
		high, low := 0, 0
		for k := range cost {
			if cost[k] > cost[high] {
				high = k
			}
			if cost[k] < cost[low] {
				low = k
			}
		}
		gap := cost[high] - cost[low]
		if gap <= tolerance*cost[high] {
			return moved
		}
		best, lowest := -1, (1-leastGain)*cost[high]
		for n := range all {
			if b := &all[n]; b.owner == high && b.from == high {
				takes := each[high] * float64(b.size)
				if after := max(cost[high]-takes, cost[low]+takes); after < lowest {
					best, lowest = n, after
				}
			}
		}
		if best < 0 {
			return moved
		}
		takes := each[high] * float64(all[best].size)
		cost[high], cost[low] = cost[high]-takes, cost[low]+takes
		all[best].owner = low
		moved = append(moved, best)
	}
	return moved
}
