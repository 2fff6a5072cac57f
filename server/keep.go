package server

// A spare is memory that is used again and again: what it takes follows what is put into it, up and down. Else one
// burst to each of ten thousand connections would be held on to for the rest of the run.
type spare struct{ few int } // how many uses in a row took a quarter of it, or less

const fewUses = 32

// keep empties a slice for its next use, and does not clear it. After many small uses it returns half as much memory; but up to least elements
// stay.
func keep[T any](s []T, use *spare, least int) []T {
	if cap(s) <= least || 4*len(s) > cap(s) {
		use.few = 0
		return s[:0]
	}
	if use.few++; use.few < fewUses {
		return s[:0]
	}
	use.few = 0
	return make([]T, 0, cap(s)/2)
}
