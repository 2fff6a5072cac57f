// Package balance says which server gives how much of its work to which, so that all have about the same. Each server plans for itself from what all have
// said, and they come to the same plan.
package balance

import (
	"cmp"
	"slices"
)

// A Load is what one server says of a period.
type Load struct {
	Server  string
	Work    uint64 // what it computed: steps of entities in a run, nanoseconds of processor time in a live program
	Leaving bool   // it gives everything away
}

// A Weight is what one entity of a server takes of its work.
type Weight struct {
	Entity string
	Work   uint64
}

// A Move gives an entity to another server.
type Move struct {
	Entity string
	To     string
}

// tolerance: who has less than 1/20 above the mean gives nothing, so entities do not go to and fro.
const tolerance = 20

// share is an amount of work that a server is to give or to get.
type share struct {
	server string
	work   uint64
}

// Plan returns what a server gives away. Loads are those of all servers, itself included; mine are its entities, heaviest or lightest in any order. What
// is at rest has no weight, and stays, unless the server leaves.
func Plan(self string, loads []Load, mine []Weight) []Move {
	loads, mine = slices.Clone(loads), slices.Clone(mine)
	slices.SortFunc(loads, func(a, b Load) int { return cmp.Compare(a.Server, b.Server) })
	slices.SortFunc(mine, func(a, b Weight) int {
		return cmp.Or(cmp.Compare(b.Work, a.Work), cmp.Compare(a.Entity, b.Entity))
	})
	gives, takes, leaving := shares(loads, self)
	if len(takes) == 0 {
		return nil
	}
	var moves []Move
	for _, g := range gives {
		// The greatest need is met first; of equal ones, that of the first name.
		for len(takes) > 0 && g.work > 0 {
			slices.SortStableFunc(takes, func(a, b share) int { return cmp.Compare(b.work, a.work) })
			part := min(g.work, takes[0].work)
			if part == 0 {
				break
			}
			if g.server == self {
				moves, mine = give(moves, mine, takes[0].server, part)
			}
			g.work -= part
			takes[0].work -= part
		}
	}
	if leaving { // and what weighs nothing, or was too much for everybody
		for i, w := range mine {
			moves = append(moves, Move{w.Entity, takes[i%len(takes)].server})
		}
	}
	return moves
}

// shares says who has to give how much, who can take how much, and whether the server itself leaves.
func shares(loads []Load, self string) (gives, takes []share, leaving bool) {
	total, staying := uint64(0), uint64(0)
	for _, l := range loads {
		total += l.Work
		if !l.Leaving {
			staying++
		}
		leaving = leaving || l.Leaving && l.Server == self
	}
	if staying == 0 {
		return nil, nil, leaving
	}
	mean := total / staying
	for _, l := range loads {
		switch {
		case l.Leaving:
			gives = append(gives, share{l.Server, l.Work})
		case l.Work > mean+mean/tolerance:
			gives = append(gives, share{l.Server, l.Work - mean})
		case l.Work <= mean:
			takes = append(takes, share{l.Server, mean - l.Work})
		}
	}
	return gives, takes, leaving
}

// give picks entities of so much work, heaviest first, and none that would be more than half of itself too much.
func give(moves []Move, mine []Weight, to string, work uint64) ([]Move, []Weight) {
	var stays []Weight
	for _, w := range mine {
		if w.Work == 0 || w.Work/2 > work || work == 0 {
			stays = append(stays, w)
			continue
		}
		work -= min(work, w.Work)
		moves = append(moves, Move{w.Entity, to})
	}
	return moves, stays
}
