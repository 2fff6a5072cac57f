package spatial

// A Field says which of many boxes meet, of which most move a little at a time. It has each of those that move with some room around it, and looks for others anew only when the box
// has left its room.
type Field struct {
	grid  Grid
	boxes []placed // by number
}

// A placed box is one of a Field.
type placed struct {
	box, room    Box
	there, moves bool
	near         []int // whose rooms meet its own; of two that stand still neither is near the other
}

// Put puts a box where it is now. Numbers are from 0 on.
func (f *Field) Put(number int, b *Box, moves bool) {
	for number >= len(f.boxes) {
		f.boxes = append(f.boxes, placed{})
	}
	p := &f.boxes[number]
	if p.there && p.moves == moves && b.Within(&p.room) && p.room.Edge() <= 4*b.Edge() {
		p.box = *b
		return
	}
	f.Remove(number)
	p.box, p.room, p.there, p.moves = *b, *b, true, moves
	if moves {
		p.room = b.Grown(float64(b.Edge() / 2))
	}
	f.grid.Meeting(&p.room, func(other int) {
		if q := &f.boxes[other]; moves || q.moves {
			p.near, q.near = append(p.near, other), append(q.near, number)
		}
	})
	f.grid.Put(number, &p.room)
}

// Remove takes a box away, if it is there.
func (f *Field) Remove(number int) {
	if number >= len(f.boxes) || !f.boxes[number].there {
		return
	}
	p := &f.boxes[number]
	for _, other := range p.near {
		f.boxes[other].near = without(f.boxes[other].near, number)
	}
	f.grid.Remove(number)
	p.near, p.there = p.near[:0], false
}

// Meetings calls f for each two boxes that meet, of which one moves at least, once and in any order.
func (f *Field) Meetings(each func(a, b int)) {
	for number := range f.boxes {
		p := &f.boxes[number]
		if !p.there || !p.moves {
			continue
		}
		for _, other := range p.near {
			if q := &f.boxes[other]; (other > number || !q.moves) && p.box.Meets(&q.box) {
				each(number, other)
			}
		}
	}
}
