package show

import (
	"cmp"
	"math"
	"slices"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// A stretch is a part of the critical path on the page, or several parts of one client that are too short to be drawn one by one. Then work
// is less than end - begin.
type stretch struct {
	client     metasim.ClientID
	begin, end int64
	work       int64
}

// stretches returns the critical path in at most so many stretches, if there are not more clients. Their work is that of the parts.
func stretches(t *trace.Timeline, most int) []stretch {
	resolution := int64(-1)
	if len(t.Critical) > most {
		resolution = max(1, t.Wall()>>24)
	}
	for {
		all := stretchesOf(t, resolution)
		if len(all) <= max(most, len(t.Names)) || resolution > math.MaxInt64/2 {
			return all
		}
		resolution *= 2
	}
}

// stretchesOf joins parts of a client if the time from the begin of the first to the end of the last is at most the resolution.
func stretchesOf(t *trace.Timeline, resolution int64) []stretch {
	var all []stretch
	open := make([]int, len(t.Names)) // the client's last stretch, as 1 + its index in all
	for _, p := range t.Critical {
		took := p.End - p.Begin
		if i := open[p.Client] - 1; i >= 0 && p.End-all[i].begin <= resolution {
			all[i].end = p.End
			all[i].work += took
			continue
		}
		all = append(all, stretch{p.Client, p.Begin, p.End, took})
		open[p.Client] = len(all)
	}
	slices.SortStableFunc(all, func(a, b stretch) int { return cmp.Compare(a.begin, b.begin) })
	return all
}
