package spatial

import "math"

// A Grid finds boxes by where they are. Each has a number, from 0 on.
//
// A box is in one cell, in which its lower corner is. A cell is a column along Z that is wider than the box, so a box reaches one cell further at most. Widths are powers of
// two: each has cells of its own.
type Grid struct {
	tiers []tier
	spots []spot // by number
}

// A tier is the cells of one width.
type tier struct {
	width float64 // infinite: of boxes that are too wide for any other, all in one cell
	count int     // of boxes
	cells map[cell][]int
}

type cell struct{ x, y int32 }

// A spot is where a box is.
type spot struct {
	box  Box
	tier int // from 1 on; 0: it is nowhere
	cell cell
}

const (
	narrowest = 1.0 / 128
	widest    = 1 << 40
	farthest  = 1 << 30 // cells beyond are one
)

// Put puts a box where it is now.
func (g *Grid) Put(number int, b *Box) {
	g.Remove(number)
	for number >= len(g.spots) {
		g.spots = append(g.spots, spot{})
	}
	k := g.tierOf(widthOf(b))
	t := &g.tiers[k]
	at := t.cell(b.Min)
	t.cells[at] = append(t.cells[at], number)
	t.count++
	g.spots[number] = spot{*b, k + 1, at}
}

// Remove takes a box away, if it is there.
func (g *Grid) Remove(number int) {
	if number >= len(g.spots) || g.spots[number].tier == 0 {
		return
	}
	s := &g.spots[number]
	t := &g.tiers[s.tier-1]
	t.count--
	if t.cells[s.cell] = without(t.cells[s.cell], number); len(t.cells[s.cell]) == 0 {
		delete(t.cells, s.cell)
	}
	*s = spot{}
}

// without removes a number from a list that has it, and changes the order.
func without(list []int, number int) []int {
	last := len(list) - 1
	for i := range list {
		if list[i] == number {
			list[i] = list[last]
			break
		}
	}
	return list[:last]
}

// Meeting calls f for each box that meets one, in any order.
func (g *Grid) Meeting(b *Box, f func(number int)) {
	for k := range g.tiers {
		t := &g.tiers[k]
		from, to := t.cell(b.Min), t.cell(b.Max)
		if columns, rows := int(to.x)-int(from.x)+2, int(to.y)-int(from.y)+2; columns > t.count || rows > t.count || columns*rows > t.count {
			g.all(k, b, f)
			continue
		}
		for x := from.x - 1; x <= to.x; x++ {
			for y := from.y - 1; y <= to.y; y++ {
				for _, number := range t.cells[cell{x, y}] {
					if b.Meets(&g.spots[number].box) {
						f(number)
					}
				}
			}
		}
	}
}

// all looks at each box of a tier: it has fewer than there are cells where they may be.
func (g *Grid) all(tier int, b *Box, f func(number int)) {
	for number := range g.spots {
		if s := &g.spots[number]; s.tier == tier+1 && b.Meets(&s.box) {
			f(number)
		}
	}
}

// widthOf returns how wide the cell of a box is.
func widthOf(b *Box) float64 {
	edge := max(b.Max.X-b.Min.X, b.Max.Y-b.Min.Y, narrowest)
	if !(edge < widest) {
		return math.Inf(1)
	}
	_, exponent := math.Frexp(edge) // edge < 2^exponent
	return math.Ldexp(1, exponent)
}

func (g *Grid) tierOf(width float64) int {
	for k := range g.tiers {
		if g.tiers[k].width == width {
			return k
		}
	}
	g.tiers = append(g.tiers, tier{width: width, cells: map[cell][]int{}})
	return len(g.tiers) - 1
}

func (t *tier) cell(at Vector) cell {
	if math.IsInf(t.width, 1) {
		return cell{}
	}
	return cell{column(at.X / t.width), column(at.Y / t.width)}
}

func column(x float64) int32 {
	switch {
	case x >= farthest:
		return farthest
	case x > -farthest:
		return int32(math.Floor(x))
	}
	return -farthest
}
