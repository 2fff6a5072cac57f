package compare

import (
	"errors"
	"io"
	"slices"

	"metasim/metasim"
	"metasim/record"
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
func newSearches(clients []string, sides [2]*side, end *end) []*search {
	var all []*search
	bounds := map[bool]metasim.Instant{} // of inputs, and of outputs
	for _, client := range clients {
		for _, inputs := range []bool{false, true} {
			s := &search{client: client, inputs: inputs}
			within, differ := journal.FirstDifference(s.history(sides[0]), s.history(sides[1]))
			if !differ {
				continue
			}
			s.within = within
			all = append(all, s)
			if b, ok := bounds[inputs]; !ok || within.Bound.Before(b) {
				bounds[inputs] = within.Bound
			}
		}
	}
	cutOff := func(client string) bool { return sides[0].cutOff(client) || sides[1].cutOff(client) }
	if end != nil || slices.ContainsFunc(clients, cutOff) {
		return all // a history that was cut off is shorter without a difference
	}
	last := metasim.Later(bounds[false], bounds[true])
	return slices.DeleteFunc(all, func(s *search) bool { return last.Before(s.within.A.At) })
}

func (s *search) history(of *side) *journal.History {
	if s.inputs {
		return &of.client(s.client).Inputs
	}
	return &of.client(s.client).Outputs
}

// start returns the checkpoint from which on the journal of a run is read.
func (s *search) start(run int) journal.Checkpoint {
	if run == 0 {
		return s.within.A
	}
	return s.within.B
}

// wanted is how many items of a run must be read.
func (s *search) wanted(of *side) int {
	return int(min(s.within.Until, s.history(of).Count) - s.within.Equal)
}

// first returns the first item of a search that differs; nil if there is none, because one run was cut off or ends earlier. It also
// returns when the first item is that a run lacks because it was cut off; Infinity if there is none.
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

// explains reports whether nothing differs before the end: what the other run has is later. A client of the run that ends may have
// left before, as it had nothing more to do.
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

// A reading goes through the part of one journal in which the searches may find a difference.
type reading struct {
	run      int
	side     *side
	in, out  map[metasim.ClientID]*search // by client
	searches []*search
}

// read fills in what the searches find in one run.
func read(run int, of *side, searches []*search) error {
	if len(searches) == 0 {
		return nil
	}
	r := &reading{run: run, side: of, in: map[metasim.ClientID]*search{}, out: map[metasim.ClientID]*search{}, searches: searches}
	begin := searches[0].start(run).Offset
	missing := 0 // items still to be read
	for _, s := range searches {
		begin = min(begin, s.start(run).Offset)
		missing += max(0, s.wanted(of))
		if s.inputs {
			r.in[of.ids[s.client]] = s
		} else {
			r.out[of.ids[s.client]] = s
		}
	}
	scanner, err := of.run.Dir.Scan(begin)
	if err != nil {
		return err
	}
	defer func() { _ = scanner.Close() }() // a file that was only read
	defer r.dropUnhandled()
	for missing > 0 {
		record, err := scanner.Next()
		if errors.Is(err, io.EOF) || errors.As(err, new(*journal.TornError)) {
			return nil // the index was made of no more
		}
		if err != nil {
			return err
		}
		missing -= r.take(record)
	}
	return nil
}

// dropUnhandled forgets the inputs after the last one that the client handled.
func (r *reading) dropUnhandled() {
	for _, s := range r.searches {
		if n := s.wanted(r.side); s.inputs && len(s.found[r.run]) > n {
			s.found[r.run] = s.found[r.run][:n]
		}
	}
}

// take takes one record. It returns how many of its items were wanted.
func (r *reading) take(record *journal.Record) int {
	n := 0
	if id, ok := metasim.ClientOf(record.Event); ok && journal.Hash(record.Event) != 0 {
		if s := r.out[id]; s != nil && r.begun(s, record.Offset) {
			n += r.add(s, r.output(record.Event, s.within.Equal+uint64(len(s.found[r.run]))))
		}
	}
	for _, d := range record.Deliveries {
		if s := r.in[d.To]; s != nil && d.Number > s.within.Equal && int(d.From) < len(r.side.ids) {
			n += r.add(s, r.input(d))
		}
	}
	return n
}

// begun reports whether a record comes after the items that are known to be equal.
func (r *reading) begun(s *search, offset int64) bool {
	return s.within.Equal == 0 || offset > s.start(r.run).Offset
}

func (r *reading) add(s *search, i item) int {
	s.found[r.run] = append(s.found[r.run], i)
	if len(s.found[r.run]) <= s.wanted(r.side) {
		return 1
	}
	return 0
}

// output is a send or a leave.
func (r *reading) output(ev metasim.Event, seq uint64) item {
	i := item{hash: journal.Hash(ev), seq: seq}
	switch ev := ev.(type) {
	case *metasim.Send:
		i.at, i.when, i.from = ev.Sent, ev.Sent, ev.Client
	case *metasim.Leave:
		i.at, i.when, i.from, i.leave = ev.Now, ev.Now, ev.Client, true
		i.hash = journal.Hash(&metasim.Leave{Now: ev.Now, Acked: ev.Acked, Result: record.CanonicalResult(ev.Result)})
		if end := r.side.run.End(); r.side.index.Clients[ev.Client].Granted == end {
			i.at = end
		}
	}
	return i
}

// input is a delivery. Its content is the hash of its send where the sender's outputs are searched too; else the number of the send
// is enough, because equal numbers mean equal sends.
func (r *reading) input(d journal.Delivery) item {
	content := d.Seq
	if s := r.out[d.From]; s != nil && d.Seq >= s.within.Equal {
		if k := int(d.Seq - s.within.Equal); k < len(s.found[r.run]) {
			content = s.found[r.run][k].hash
		}
	}
	return item{
		hash: journal.HashDelivery(d.Due, r.side.run.Manifest.Clients[d.From], content),
		at:   d.Due, when: d.Due, from: d.From, seq: d.Seq,
	}
}
