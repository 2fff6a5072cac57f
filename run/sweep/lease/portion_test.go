package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/run/sweep/lease"
)

// A name says all of a portion, and what is no name of one is left out.
func TestPortions(t *testing.T) {
	all := lease.Portions(10_000)
	require.Len(t, all, 3334)
	require.Equal(t, lease.Portion{First: 9999, Runs: 1, Attempt: 1}, all[3333])
	require.Len(t, lease.Portions(7), 7)
	again := all[1].By("w").Again("host.a-1-x")
	require.Equal(t, "3-3-2-0.host.a-1-x", again.Name(), "at which of its runs the worker was, nobody knows")
	require.Equal(t, []lease.Portion{again}, lease.ParsePortions([]string{".nfs01", "3-3-2-0.host.a-1-x", "3-3-2", "03-3-2-0", "9999-2-1-0", "-1-1-1-0", "1-0-1-0", "x"}, 10_000))
	require.Equal(t, []lease.Portion{{First: 3, Runs: 1, Attempt: 2}, {First: 4, Runs: 1, Attempt: 2}, {First: 5, Runs: 1, Attempt: 2}}, again.Split())
	require.Equal(t, "4-1-3-1.v", again.Split()[1].By("w").Again("v").Name())
	done := lease.ParsePortions([]string{"1-1-3-2.b", "1-1-2-0.b", "1-1-2-0.a", "1-1-4-3.a", "1-1-1-0.c"}, 2)
	lease.InOrder(done, 3)
	names := []string{}
	for _, p := range done {
		names = append(names, p.Name())
	}
	require.Equal(t, []string{"1-1-4-3.a", "1-1-1-0.c", "1-1-2-0.a", "1-1-2-0.b", "1-1-3-2.b"}, names, "what was given up, and then the earliest")
}

// A worker decides what to do next by the files that it finds, and by how often it has found the same ones.
func TestWatch(t *testing.T) {
	type step struct {
		listing lease.Listing
		looks   int // counted ones; 0: one that is not
		want    string
	}
	beat := func(count uint64) map[string]lease.Beat {
		return map[string]lease.Beat{"w": {Count: count, Silence: 4 * time.Second}}
	}
	slow := map[string]lease.Beat{"w": {Count: 1, Silence: 9 * time.Second}}
	held := func(b map[string]lease.Beat) lease.Listing {
		return lease.Listing{Taken: []string{"0-2-1-0.w", "2-1-1-0.me"}, Beats: b}
	}
	for name, steps := range map[string][]step{
		"all is done":                    {{lease.Listing{Todo: []string{"2-1-1-0"}, Done: []string{"0-2-1-0.w", "2-1-1-0.v"}}, 0, "over"}},
		"two attempts at a run are one":  {{lease.Listing{Todo: []string{"2-1-1-0"}, Done: []string{"0-2-1-0.w", "1-1-2-0.v"}}, 0, "todo 2-1-1-0"}},
		"what is done is left":           {{lease.Listing{Todo: []string{"0-1-2-0", "1-1-2-0", "2-1-1-0"}, Done: []string{"0-2-1-0.w"}}, 0, "todo 2-1-1-0"}},
		"a worker speaks":                {{held(beat(1)), 4, ""}, {held(beat(2)), 4, ""}, {held(beat(3)), 4, ""}},
		"a worker is silent":             {{held(beat(1)), 5, "lost 0-2-1-0.w"}, {held(beat(1)), 0, "lost 0-2-1-0.w"}, {held(beat(2)), 1, ""}},
		"it has never spoken":            {{held(nil), 4, ""}, {held(nil), 1, "lost 0-2-1-0.w"}},
		"it said that it may be silent":  {{held(slow), 9, ""}, {held(slow), 1, "lost 0-2-1-0.w"}},
		"looks in between do not count":  {{held(beat(1)), 1, ""}, {held(beat(1)), 0, ""}, {held(beat(1)), 0, ""}, {held(beat(1)), 0, ""}, {held(beat(1)), 3, ""}},
		"it had nothing meanwhile":       {{held(beat(1)), 4, ""}, {lease.Listing{Todo: []string{"0-2-1-0"}, Taken: []string{"2-1-1-0.me"}}, 1, "todo 0-2-1-0"}, {held(beat(1)), 4, ""}},
		"it was done before it was lost": {{lease.Listing{Taken: []string{"0-2-1-0.w"}, Done: []string{"0-2-1-0.w"}, Todo: []string{"2-1-1-0"}}, 9, "todo 2-1-1-0"}},
		"a run is nowhere":               {{lease.Listing{Taken: []string{"0-2-1-0.me"}}, 4, ""}, {lease.Listing{Taken: []string{"0-2-1-0.me"}}, 1, "gone 2-1-1-0"}},
		"a run is nowhere for a moment":  {{lease.Listing{Taken: []string{"0-2-1-0.me"}}, 4, ""}, {held(beat(1)), 1, ""}, {lease.Listing{Taken: []string{"0-2-1-0.me"}}, 4, ""}},
	} {
		w := &lease.Watch{Worker: "me", Runs: 3, Period: time.Second, Silence: 4 * time.Second}
		for i, s := range steps {
			next := w.Next(s.listing, s.looks > 0)
			for range s.looks - 1 {
				next = w.Next(s.listing, true)
			}
			require.Equal(t, s.want, said(next), "%s, step %d", name, i)
		}
	}
	w := &lease.Watch{Worker: "me", Runs: 3, Period: time.Second}
	for range 100 {
		require.Empty(t, said(w.Next(held(nil), true)), "others may be silent for any time")
	}
}

func said(n lease.Next) (text string) {
	if n.Over {
		return "over"
	}
	for what, all := range map[string][]lease.Portion{"todo ": n.Todo, "lost ": n.Lost, "gone ": n.Gone} {
		for _, p := range all {
			text += what + p.Name()
		}
	}
	return text
}
