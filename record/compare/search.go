package compare

import (
	"slices"

	"metasim/metasim"
	"metasim/record/journal"
)

// A search is for the first difference of one client in one direction. The checkpoints of the index narrow it to a range of items,
// which are read from the journals.
type search struct {
	client string
	inputs bool // else outputs
	within journal.Range
	found  [2][]item // in A and B, from within.Equal on
}

// An item is a delivery, a send or a leave in a journal.
type item struct {
	hash  uint64          // equal in both runs only if the items are equal
	at    metasim.Instant // when it happened; of a leave at the end of the run, that end
	when  metasim.Instant // when it is due or was sent; of a leave, when the client did something last
	leave bool
	from  metasim.ClientID
	seq   uint64
}

// A difference is the first item in which the two runs differ for a search.
type difference struct {
	search   *search
	at, when metasim.Instant // the earlier of the two
	items    [2]*item        // nil: that run has none
}

// newSearches returns a search for each client and direction that differ, as far as it may find the first difference of all: what
// is equal for longer than another cannot.
func newSearches(clients []string, sides [2]*side, end *end) (all []*search, differ []string) {
	bounds := map[bool]metasim.Instant{} // of inputs, and of outputs
	for _, client := range clients {
		for _, inputs := range []bool{false, true} {
			s := &search{client: client, inputs: inputs}
			within, found := journal.FirstDifference(s.history(sides[0]), s.history(sides[1]))
			if !found {
				continue
			}
			s.within = within
			if !inputs {
				differ = append(differ, client)
			}
			all = append(all, s)
			if b, ok := bounds[inputs]; !ok || within.Bound.Before(b) {
				bounds[inputs] = within.Bound
			}
		}
	}
	cutOff := func(client string) bool { return sides[0].cutOff(client) || sides[1].cutOff(client) }
	if end != nil || slices.ContainsFunc(clients, cutOff) {
		return all, differ // a history that was cut off is shorter without a difference
	}
	last := metasim.Later(bounds[false], bounds[true])
	return slices.DeleteFunc(all, func(s *search) bool { return last.Before(s.within.From) }), differ
}

func (s *search) history(of *side) *journal.History {
	if s.inputs {
		return &of.client(s.client).Inputs
	}
	return &of.client(s.client).Outputs
}

// first returns the first item of a search that differs; nil if there is none, because one run was cut off or ends earlier. lacks is the
// instant of the first item that a run lacks because it was cut off; Infinity if there is none.
func (s *search) first(sides [2]*side, end *end) (d *difference, lacks metasim.Instant) {
	for i := range max(len(s.found[0]), len(s.found[1])) {
		cutOff := false
		d = &difference{search: s, at: metasim.Infinity, when: metasim.Infinity}
		for run, items := range s.found {
			if i < len(items) {
				d.items[run] = &items[i]
				d.at, d.when = metasim.Earlier(d.at, items[i].at), metasim.Earlier(d.when, items[i].when)
			} else if sides[run].cutOff(s.client) {
				cutOff = true
			}
		}
		if cutOff {
			return nil, d.when
		}
		if d.items[0] == nil || d.items[1] == nil || d.items[0].hash != d.items[1].hash {
			if end.explains(d) {
				return nil, metasim.Infinity
			}
			return d, metasim.Infinity
		}
	}
	return nil, metasim.Infinity
}

// An end is the end of the run whose scenario ends it before the other one.
type end struct {
	at  metasim.Instant
	run int
}

// newEnd returns nil where both runs had the same end.
func newEnd(sides [2]*side) *end {
	a, b := sides[0].run.End(), sides[1].run.End()
	switch {
	case a.Before(b):
		return &end{a, 0}
	case b.Before(a):
		return &end{b, 1}
	}
	return nil
}

// explains reports whether a difference is only that one run ends earlier: what the other run has more is at or after that end. A
// client of the run that ends may have left before, because it had nothing more to do.
func (e *end) explains(d *difference) bool {
	if e == nil {
		return false
	}
	short, long := d.items[e.run], d.items[1-e.run]
	return (short == nil || short.leave || !short.at.Before(e.at)) && (long == nil || !long.at.Before(e.at))
}

// explains reports whether an output is a leave that one run alone has, and the inputs differ only because the client had left.
func (d *difference) explains(inputs *difference) bool {
	for run, i := range d.items {
		if i != nil && i.leave && inputs.items[run] == nil && !inputs.at.Before(i.at) {
			return true
		}
	}
	return false
}
