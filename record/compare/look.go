package compare

import (
	"errors"
	"io"

	"metasim/metasim"
	"metasim/record/journal"
)

// A look goes through the part of one journal in which the chains that are searched part.
type look struct {
	run      int
	side     *side
	in, out  map[metasim.ClientID]*search // by client
	searched []*search
}

// lookThrough fills in what the searches find in one run.
func lookThrough(run int, of *side, searched []*search) error {
	if len(searched) == 0 {
		return nil
	}
	l := &look{run: run, side: of, in: map[metasim.ClientID]*search{}, out: map[metasim.ClientID]*search{}, searched: searched}
	begin := searched[0].start(run).Offset
	for _, s := range searched {
		begin = min(begin, s.start(run).Offset)
		if s.inputs {
			l.in[of.ids[s.name]] = s
		} else {
			l.out[of.ids[s.name]] = s
		}
	}
	scanner, err := of.dir.Scan(begin)
	if err != nil {
		return err
	}
	defer func() { _ = scanner.Close() }() // a file that was only read
	defer l.trim()
	for missing := l.missing(); missing > 0; {
		news, err := scanner.Next()
		if errors.Is(err, io.EOF) || errors.As(err, new(*journal.TornError)) {
			return nil // as the index says; and what it does not say is not there
		}
		if err != nil {
			return err
		}
		missing -= l.take(news)
	}
	return nil
}

// missing is how many items are still to be seen.
func (l *look) missing() int {
	n := 0
	for _, s := range l.searched {
		n += max(0, s.wanted(l.run, l.side)-len(s.found[l.run]))
	}
	return n
}

// trim forgets the inputs beyond those that were handled.
func (l *look) trim() {
	for _, s := range l.searched {
		if n := s.wanted(l.run, l.side); s.inputs && len(s.found[l.run]) > n {
			s.found[l.run] = s.found[l.run][:n]
		}
	}
}

// take takes one record, and returns how many items it had that were to be seen.
func (l *look) take(news *journal.News) int {
	n := 0
	if id, ok := journal.Speaker(news.Event); ok && journal.Hash(news.Event) != 0 {
		if s := l.out[id]; s != nil && l.beyond(s, news.Offset) {
			n += l.add(s, l.output(news, s.parting.Equal+uint64(len(s.found[l.run]))))
		}
	}
	for _, d := range news.Deliveries {
		if s := l.in[d.To]; s != nil && d.Number > s.parting.Equal && int(d.From) < len(l.side.manifest.Clients) {
			n += l.add(s, l.input(news.Offset, d))
		}
	}
	return n
}

// beyond reports whether a record comes after those that are equal.
func (l *look) beyond(s *search, offset int64) bool {
	return s.parting.Equal == 0 || offset > s.start(l.run).Offset
}

func (l *look) add(s *search, i item) int {
	s.found[l.run] = append(s.found[l.run], i)
	if len(s.found[l.run]) <= s.wanted(l.run, l.side) {
		return 1
	}
	return 0
}

// output is a send or a leave.
func (l *look) output(news *journal.News, seq uint64) item {
	i := item{hash: journal.Hash(news.Event), offset: news.Offset, seq: seq}
	switch ev := news.Event.(type) {
	case *metasim.Send:
		i.at, i.when, i.from = ev.Sent, ev.Sent, ev.Client
	case *metasim.Leave:
		i.at, i.when, i.from, i.leave = ev.Now, ev.Now, ev.Client, true
		if end := l.side.end(); l.side.index.Clients[ev.Client].Granted == end {
			i.at = end
		}
	}
	return i
}

// input is a delivery. What was sent is known by its hash where the sender's outputs part, and by its number where they
// are equal.
func (l *look) input(offset int64, d journal.Delivery) item {
	content := d.Seq
	if s := l.out[d.From]; s != nil && d.Seq >= s.parting.Equal {
		if k := int(d.Seq - s.parting.Equal); k < len(s.found[l.run]) {
			content = s.found[l.run][k].hash
		}
	}
	return item{
		hash: journal.HashDelivery(d.Due, l.side.manifest.Clients[d.From], content),
		at:   d.Due, when: d.Due, offset: offset, from: d.From, seq: d.Seq,
	}
}
