package frames

import (
	"fmt"
	"math/bits"

	"metasim/metasim"
)

// A Rate is frames in a second, as a fraction: 60000/1001 for the 59.94 of television.
type Rate struct{ Num, Den uint32 }

func (r Rate) String() string {
	if r.Den == 1 {
		return fmt.Sprint(r.Num)
	}
	return fmt.Sprintf("%d/%d", r.Num, r.Den)
}

// Time returns when frame n is, in a count that begins with 0 at 0: n Den / Num seconds, rounded to the nearest nanosecond. It is
// computed from n, and not added up, so that nothing drifts.
func (r Rate) Time(n uint64) metasim.Time {
	high, low := bits.Mul64(uint64(r.Den)*1_000_000_000, n) // Den times a billion is below 2^62
	low, carry := bits.Add64(low, uint64(r.Num)/2, 0)
	high += carry
	if high >= uint64(r.Num) {
		return metasim.Forever
	}
	t, _ := bits.Div64(high, low, uint64(r.Num))
	return metasim.Time(min(t, uint64(metasim.Forever)))
}

// Slower returns the rate of a layer that shows one frame of k: 60000/1001 by 2 is 60000/2002, its frame m being frame 2m of the
// whole rate, to the nanosecond. k times Den must fit into 32 bits.
func (r Rate) Slower(k uint32) Rate { return Rate{r.Num, r.Den * k} }
