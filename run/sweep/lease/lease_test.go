package lease_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/run/sweep/lease"
)

// Whatever workers do, each run has exactly one result that counts, or is given up after so many workers were lost at it; and what comes after that is compared with it.
func TestEachRunCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const retries = 3
		n, workers := rapid.IntRange(1, 12).Draw(t, "runs"), rapid.IntRange(1, 4).Draw(t, "workers")
		var all []lease.Lease
		for id := range n {
			all = append(all, lease.Lease{ID: id, Attempt: 1})
		}
		q := lease.NewQueue(all, retries)
		has := make([][]lease.Lease, workers) // what each worker was sent, and may finish, lost or not
		results, given, taken := map[int]string{}, map[int]bool{}, map[lease.Lease]bool{}
		finish := func(w int) {
			l := has[w][0]
			has[w] = has[w][1:]
			digest := fmt.Sprint(l.ID, rapid.IntRange(0, 9).Draw(t, "chance") == 0)
			switch verdict := q.Finish(w, l, digest); {
			case given[l.ID]:
				require.Equal(t, lease.Unknown, verdict)
			case results[l.ID] == "":
				require.Equal(t, lease.Counts, verdict)
				results[l.ID] = digest
			case results[l.ID] == digest:
				require.Equal(t, lease.Equal, verdict)
			default:
				require.Equal(t, lease.Differs, verdict)
			}
			require.Equal(t, lease.Unknown, q.Finish(w, l, digest), "it was finished once")
		}
		lost := func(w int) {
			for _, l := range q.Lost(w) {
				require.Empty(t, results[l.ID])
				require.False(t, given[l.ID])
				given[l.ID] = true
			}
			require.Zero(t, q.Held(w))
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			w := rapid.IntRange(0, workers-1).Draw(t, "worker")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				if l, ok := q.Take(w); ok {
					require.False(t, taken[l], "an attempt is made once")
					require.Empty(t, results[l.ID])
					taken[l] = true
					has[w] = append(has[w], l)
				}
			case 2:
				if len(has[w]) > 0 {
					finish(w)
				}
			default:
				lost(w)
			}
			require.Equal(t, len(results)+len(given) == n, q.Over())
		}
		for rounds := 0; !q.Over(); rounds++ { // one good worker ends it, whatever the others hold
			require.Less(t, rounds, 100*n)
			for w := 1; w < workers; w++ {
				lost(w)
			}
			if l, ok := q.Take(0); ok {
				has[0] = append(has[0], l)
			}
			if len(has[0]) > 0 {
				finish(0)
			}
		}
	})
}

// A run that costs every worker its life is given up; a run that was only sent after it is not.
func TestPoison(t *testing.T) {
	q := lease.NewQueue([]lease.Lease{{ID: 7, Attempt: 1}, {ID: 8, Attempt: 1}}, 2)
	for w := range 2 {
		first, _ := q.Take(w)
		second, _ := q.Take(w)
		require.Equal(t, []int{7, 8}, []int{first.ID, second.ID})
		poison := q.Lost(w)
		if w == 0 {
			require.Empty(t, poison)
		} else {
			require.Equal(t, []lease.Lease{{ID: 7, Attempt: 2}}, poison)
		}
	}
	last, ok := q.Take(2)
	require.True(t, ok)
	require.Equal(t, lease.Lease{ID: 8, Attempt: 3}, last)
	require.Equal(t, lease.Counts, q.Finish(2, last, "d"))
	require.True(t, q.Over())
}
