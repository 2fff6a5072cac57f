package slab

// A Use counts the uses of a slice whose memory is used again and again. Memory that was needed for one burst is returned after many
// small uses: thousands of connections and queues would otherwise keep it for the rest of a run.
type Use struct{ small int } // how many uses in a row took a quarter of the memory, or less

// smallUses is after how many small uses half of the memory is returned.
const smallUses = 32

// Reuse empties a slice for its next use, and does not clear it. Up to least elements of memory are never returned.
func Reuse[T any](s []T, use *Use, least int) []T {
	if cap(s) <= least || 4*len(s) > cap(s) {
		use.small = 0
		return s[:0]
	}
	if use.small++; use.small < smallUses {
		return s[:0]
	}
	use.small = 0
	return make([]T, 0, cap(s)/2)
}
