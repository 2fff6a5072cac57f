package compare

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"metasim/metasim"
	"metasim/record/journal"
)

// A reading reads from one run the items that the searches ask for.
type reading struct {
	run    int
	side   *side
	differ map[metasim.ClientID]bool // clients whose outputs are not the same in both runs
	sends  map[sendID]uint64         // hashes of the sends of these clients
}

// A sendID names a send.
type sendID struct {
	from metasim.ClientID
	seq  uint64
}

// read reads from one run the items that the searches ask for. A delivery is compared by the hash of its send, which a second pass reads.
// If the outputs of its sender are equal in both runs, the number of the send is enough: equal numbers mean equal sends.
func read(run int, of *side, searches []*search, differ []string) error {
	r := &reading{run: run, side: of, differ: map[metasim.ClientID]bool{}, sends: map[sendID]uint64{}}
	for _, name := range differ {
		r.differ[of.ids[name]] = true
	}
	var parts []*part
	for _, s := range searches {
		parts = append(parts, r.part(s))
	}
	if err := scan(of, parts); err != nil {
		return err
	}
	if err := scan(of, r.sent(searches)); err != nil {
		return err
	}
	for _, s := range searches {
		if s.inputs {
			r.complete(s.found[run])
		}
	}
	return nil
}

// part returns the part of the journal in which a search looks for its difference.
func (r *reading) part(s *search) *part {
	h := s.history(r.side)
	p := &part{of: r.side.ids[s.client], inputs: s.inputs, from: s.within.Equal, until: min(s.within.Until, h.Count)}
	p.number, p.offset = h.Before(p.from)
	p.take = func(number uint64, record *journal.Record, d *journal.Delivery) {
		i := item{seq: number}
		switch {
		case d == nil:
			r.output(&i, record)
		case int(d.From) < len(r.side.ids):
			i = item{at: d.Due, when: d.Due, from: d.From, seq: d.Seq}
		default:
			return
		}
		s.found[r.run] = append(s.found[r.run], i)
	}
	return p
}

// output is a send or a leave.
func (r *reading) output(i *item, record *journal.Record) {
	i.hash = journal.Hash(record.Event)
	switch ev := record.Event.(type) {
	case *metasim.Send:
		i.at, i.when, i.from = ev.Sent, ev.Sent, ev.Client
	case *metasim.Leave:
		i.at, i.when, i.from, i.leave = ev.Now, ev.Now, ev.Client, true
		if end := r.side.run.End(); r.side.index.Clients[ev.Client].Granted == end {
			i.at = end
		}
	}
}

// sent is the parts of the journal that have the sends of what was received.
func (r *reading) sent(searches []*search) (parts []*part) {
	var wanted []sendID
	for _, s := range searches {
		if !s.inputs {
			continue
		}
		for i := range s.found[r.run] {
			if d := &s.found[r.run][i]; r.differ[d.from] {
				wanted = append(wanted, sendID{d.from, d.seq})
			}
		}
	}
	slices.SortFunc(wanted, func(a, b sendID) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.seq, b.seq)) })
	var last *part
	for _, id := range wanted {
		number, offset := r.side.index.Clients[id.from].Outputs.Before(id.seq)
		if last == nil || last.of != id.from || last.offset != offset {
			last = &part{of: id.from, from: id.seq, number: number, offset: offset}
			last.take = func(number uint64, record *journal.Record, _ *journal.Delivery) {
				r.sends[sendID{id.from, number}] = journal.Hash(record.Event)
			}
			parts = append(parts, last)
		}
		last.until = id.seq + 1
	}
	return parts
}

// complete fills in the hashes of deliveries.
func (r *reading) complete(found []item) {
	for i := range found {
		d := &found[i]
		content, known := r.sends[sendID{d.from, d.seq}]
		if !known {
			content = d.seq
		}
		d.hash = journal.HashDelivery(d.when, r.side.run.Manifest.Clients[d.from], content)
	}
}

// A part is a row of items of one client in one direction, and where its records begin.
type part struct {
	of          metasim.ClientID
	inputs      bool
	offset      int64  // of the record with the item of this number; of the first record, if that is 0
	number      uint64 // of the next item
	from, until uint64 // numbers of the items that are wanted
	take        func(number uint64, record *journal.Record, d *journal.Delivery)
}

// maxGap is the longest gap between two parts, in bytes, that is read. A longer one is skipped.
const maxGap = 1 << 20

// scan reads parts of a journal, and skips what lies between them. Where the journal ends or breaks off, scan ends without an error: the
// index was made of no more.
func scan(of *side, parts []*part) error {
	parts = slices.DeleteFunc(parts, func(p *part) bool { return p.from >= p.until })
	slices.SortFunc(parts, func(a, b *part) int { return cmp.Compare(a.offset, b.offset) })
	for len(parts) > 0 {
		n, err := scanRow(of, parts)
		if errors.Is(err, io.EOF) || errors.As(err, new(*journal.TornError)) {
			return nil
		}
		if err != nil {
			return err
		}
		parts = parts[n:]
	}
	return nil
}

// scanRow reads the first parts, up to a gap of more than maxGap. It returns how many it has read.
func scanRow(of *side, parts []*part) (n int, err error) {
	scanner, err := of.run.Dir.Scan(parts[0].offset)
	if err != nil {
		return 0, err
	}
	defer func() { _ = scanner.Close() }() // a file that was only read
	a := active{}
	for at := parts[0].offset; a.parts > 0 || n < len(parts) && parts[n].offset <= at+maxGap; {
		record, err := scanner.Next()
		if err != nil {
			return n, err
		}
		at = record.Offset
		for ; n < len(parts) && parts[n].offset <= at; n++ {
			a.add(parts[n])
		}
		a.record(record)
	}
	return n, nil
}

// active are the parts that are being read, by client and direction.
type active struct {
	parts   int
	in, out map[metasim.ClientID][]*part
}

func (a *active) add(p *part) {
	if a.in == nil {
		a.in, a.out = map[metasim.ClientID][]*part{}, map[metasim.ClientID][]*part{}
	}
	a.parts++
	if p.inputs {
		a.in[p.of] = append(a.in[p.of], p)
	} else {
		a.out[p.of] = append(a.out[p.of], p)
	}
}

// record gives a record to the parts that have an item in it.
func (a *active) record(record *journal.Record) {
	if id, ok := metasim.ClientOf(record.Event); ok && len(a.out[id]) > 0 && journal.Hash(record.Event) != 0 {
		a.item(a.out, id, func(p *part) uint64 { return p.number }, record, nil)
	}
	for i := range record.Deliveries {
		d := &record.Deliveries[i]
		if len(a.in[d.To]) > 0 {
			a.item(a.in, d.To, func(*part) uint64 { return d.Number - 1 }, record, d)
		}
	}
}

// item gives an item to the parts of one client that want it, and ends those that are complete.
func (a *active) item(of map[metasim.ClientID][]*part, id metasim.ClientID, number func(*part) uint64, record *journal.Record,
	d *journal.Delivery) {
	kept := of[id][:0]
	for _, p := range of[id] {
		n := number(p)
		if p.from <= n && n < p.until {
			p.take(n, record, d)
		}
		if p.number = n + 1; p.number < p.until {
			kept = append(kept, p)
		}
	}
	a.parts -= len(of[id]) - len(kept)
	of[id] = kept
}
