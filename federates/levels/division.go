package levels

// A division says how many of the secondaries take part, and at which of them each level is.
type division struct {
	auto   bool
	active int   // those that take part: the first ones
	of     []int // by level: its secondary
	busy   []bool
	less   uint64 // since this step fewer would be enough; 0: they would not
	most   int    // of those that were needed since then

	starts, retires uint64
}

// newDivision lets levels take turns, in the order of the file. With auto one secondary takes part, until more are needed.
func newDivision(levels, count int, auto bool) division {
	d := division{auto: auto, active: count, of: make([]int, levels), busy: make([]bool, levels)}
	if auto {
		d.active, d.starts = 1, 1
	}
	for level := range d.of {
		d.of[level] = level % d.active
	}
	return d
}
