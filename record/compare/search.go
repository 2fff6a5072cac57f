package compare

import (
	"slices"

	"metasim/metasim"
	"metasim/record/journal"
)

// A search is where the chains of one client part, in one direction.
type search struct {
	name    string
	inputs  bool // else outputs
	parting journal.Parting
	found   [2][]item // in A and B, from parting.Equal on
}

// An item is a delivery or a send, or a leave, as it lies in a journal.
type item struct {
	hash   uint64          // two runs share it only if they share the item
	at     metasim.Instant // when it came to be: of a leave because of the end of the run, that end
	when   metasim.Instant // when it is due, or was sent, or what the client did last before it left
	leave  bool
	offset int64 // of its record
	from   metasim.ClientID
	seq    uint64
}

func (s *search) chain(of *side) *journal.Chain {
	if s.inputs {
		return &of.track(s.name).Inputs
	}
	return &of.track(s.name).Outputs
}

// start returns the checkpoint from which on a run is looked at.
func (s *search) start(run int) journal.Checkpoint {
	if run == 0 {
		return s.parting.A
	}
	return s.parting.B
}

// wanted is how many items of a run must be seen.
func (s *search) wanted(run int, of *side) int {
	return int(min(s.parting.Until, s.chain(of).Count) - s.parting.Equal)
}

// searches returns where the chains of the clients part that both runs have, as far as one of them may be the first to
// do so: a chain that is equal for longer than another cannot.
func searches(names []string, sides [2]*side) []*search {
	var all []*search
	bounds := map[bool]metasim.Instant{} // of inputs, and of outputs
	for _, name := range names {
		for _, inputs := range []bool{false, true} {
			s := &search{name: name, inputs: inputs}
			p, parted := journal.Part(s.chain(sides[0]), s.chain(sides[1]))
			if !parted {
				continue
			}
			s.parting = p
			all = append(all, s)
			if b, ok := bounds[inputs]; !ok || p.Bound.Before(b) {
				bounds[inputs] = p.Bound
			}
		}
	}
	if !sides[0].whole() || !sides[1].whole() {
		return all // where one run is shorter it parts from the other without a difference
	}
	last := metasim.Later(bounds[false], bounds[true])
	return slices.DeleteFunc(all, func(s *search) bool { return last.Before(s.parting.A.At) })
}

// A parted is the first item in which two chains differ.
type parted struct {
	search   *search
	at, when metasim.Instant // the earlier of the two
	items    [2]*item        // nil: that run has none
}

// first returns the first item of a search that differs; nil if there is none, as one run was only ended sooner.
func (s *search) first(sides [2]*side) *parted {
	a, b := s.found[0], s.found[1]
	for i := range max(len(a), len(b)) {
		p := &parted{search: s, at: metasim.Infinity, when: metasim.Infinity}
		for run, items := range s.found {
			if i < len(items) {
				p.items[run] = &items[i]
				p.at, p.when = metasim.Earlier(p.at, items[i].at), metasim.Earlier(p.when, items[i].when)
			} else if sides[run].short(s.name) {
				return nil
			}
		}
		if p.items[0] == nil || p.items[1] == nil || p.items[0].hash != p.items[1].hash {
			return p
		}
	}
	return nil
}

// leaves reports whether an output differs in that the client left, before the end, in one run alone, and all that its
// inputs differ in is that it was not there any more.
func (p *parted) leaves(inputs *parted) bool {
	for run, i := range p.items {
		if i != nil && i.leave && inputs.items[run] == nil && !inputs.at.Before(i.at) {
			return true
		}
	}
	return false
}
