// Package interest finds what an observer is to be told of: the entities near it, the farther the less often. What is not in the grid costs nothing, so
// entities at rest are taken out of it.
//
// The world is a square, divided into cells; an observer looks into those that its farthest ring reaches. Lengths are micrometres.
package interest

import "fmt"

// A Ring is how often an observer is told of entities within a distance.
type Ring struct {
	Within int64  // micrometres from the observer; above 0
	Every  uint64 // steps; above 0
}

// Config says what a grid is.
type Config struct {
	Side  int64  // of the world, in micrometres; above 0. Coordinates beyond it count as its edge
	Cell  int64  // side of a cell, in micrometres; above 0. The radius of the nearest ring is a good one
	Rings []Ring // nearest first; at least one
}

// maxCells bounds the memory of a grid (24 bytes each).
const maxCells = 1 << 24

// A ConfigError says what of a Config makes no sense.
type ConfigError struct{ Field, Why string }

func (e *ConfigError) Error() string { return "interest: " + e.Field + " " + e.Why }

// Validate says what makes no sense.
func (c *Config) Validate() error {
	switch {
	case c.Side <= 0:
		return &ConfigError{"Side", fmt.Sprintf("is %d; write a length above 0", c.Side)}
	case c.Cell <= 0 || (c.Side/c.Cell+1) > maxCells/(c.Side/c.Cell+1):
		return &ConfigError{"Cell", fmt.Sprintf("is %d; the side may have at most 4095 of them", c.Cell)}
	case len(c.Rings) == 0:
		return &ConfigError{"Rings", "is empty; write how often an observer is told"}
	}
	for i, r := range c.Rings {
		if r.Within <= 0 || r.Within > 1<<31 || r.Every == 0 || i > 0 && r.Within <= c.Rings[i-1].Within {
			return &ConfigError{fmt.Sprintf("Rings[%d]", i), "is not farther than the one before it, beyond 2147 m, or has no period"}
		}
	}
	return nil
}

// A Grid knows where entities are. Each has a small number, which its user gives.
type Grid struct {
	cfg   Config
	wide  int64 // cells of a side
	cells [][]entry
	where []place // by entity
}

type entry struct {
	x, y   int64
	entity int
}

type place struct{ cell, slot int } // cell -1: it is not in the grid

// New returns an empty grid.
func New(cfg Config) (*Grid, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	wide := cfg.Side/cfg.Cell + 1
	return &Grid{cfg: cfg, wide: wide, cells: make([][]entry, wide*wide)}, nil
}

// column is the column or row of a coordinate.
func (g *Grid) column(x int64) int64 { return min(max(x, 0), g.cfg.Side) / g.cfg.Cell }

// Put adds an entity, or moves it.
func (g *Grid) Put(entity int, x, y int64) {
	for len(g.where) <= entity {
		g.where = append(g.where, place{cell: -1})
	}
	cell := int(g.column(y)*g.wide + g.column(x))
	if at := g.where[entity]; at.cell == cell {
		g.cells[cell][at.slot] = entry{x, y, entity}
		return
	}
	g.Remove(entity)
	g.where[entity] = place{cell, len(g.cells[cell])}
	g.cells[cell] = append(g.cells[cell], entry{x, y, entity})
}

// Remove takes an entity out, if it is in.
func (g *Grid) Remove(entity int) {
	if entity >= len(g.where) || g.where[entity].cell < 0 {
		return
	}
	at := g.where[entity]
	list := g.cells[at.cell]
	last := list[len(list)-1]
	list[at.slot] = last
	g.where[last.entity].slot = at.slot
	g.cells[at.cell] = list[:len(list)-1]
	g.where[entity].cell = -1
}

// At returns where an entity was put, if it is in the grid.
func (g *Grid) At(entity int) (x, y int64, in bool) {
	if entity >= len(g.where) || g.where[entity].cell < 0 {
		return 0, 0, false
	}
	e := g.cells[g.where[entity].cell][g.where[entity].slot]
	return e.x, e.y, true
}

// Due appends the entities of which an observer is to be told in a step. Each has its turn by its number, so not all of a ring are told at once. Their order
// is that of the cells: whoever lets it reach a result sorts them.
func (g *Grid) Due(due []int, step uint64, x, y int64) []int {
	rings := g.cfg.Rings
	far := rings[len(rings)-1].Within
	for row := g.column(y - far); row <= g.column(y+far); row++ {
		for column := g.column(x - far); column <= g.column(x+far); column++ {
			for i := range g.cells[row*g.wide+column] {
				e := &g.cells[row*g.wide+column][i]
				dx, dy := e.x-x, e.y-y
				d := dx*dx + dy*dy
				if dx > far || -dx > far || dy > far || -dy > far {
					continue // and d may have overflowed
				}
				for k := range rings {
					if d <= rings[k].Within*rings[k].Within {
						if (step+uint64(e.entity))%rings[k].Every == 0 {
							due = append(due, e.entity)
						}
						break
					}
				}
			}
		}
	}
	return due
}
