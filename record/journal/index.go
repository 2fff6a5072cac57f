package journal

import (
	"errors"
	"io"

	"metasim/metasim"
)

// An Index says of a journal, without reading it, what each client was given and what it sent, in chains that can be
// compared with those of another run. It lies beside the journal, and is written when that is closed.
type Index struct {
	Size    int64 // of the journal: of any other it says nothing
	Clients []Track
}

// A Track is one client's part in an index.
type Track struct {
	Inputs  Chain // the deliveries that it handled, in order: Number is the count
	Outputs Chain // what it sent, in order, and then its leave
	Left    bool  // Outputs end with its leave
	// Granted is how far it was authorized last. Who leaves when authorized to the end of the run leaves because nothing
	// more comes, and not at the instant of what it did last.
	Granted metasim.Instant
}

// An indexer makes an index while a journal is written or read.
type indexer struct {
	index Index
	names []uint64 // hashes of the clients' names, so that runs with other clients beside them can be compared
	ahead []ahead  // of each client
}

// ahead is what was delivered to a client, and how much of it is not acknowledged.
type ahead struct {
	chain  Chain  // with all that was delivered
	values []link // the chain after each delivery that is not acknowledged, from first on
	first  int
}

// A link is a chain after an item.
type link struct {
	hash uint64
	at   metasim.Instant
}

func newIndexer(names []string) *indexer {
	x := &indexer{index: Index{Clients: make([]Track, len(names))}, ahead: make([]ahead, len(names))}
	for i, name := range names {
		x.names = append(x.names, foldBytes(seedHash, name))
		x.index.Clients[i].Outputs = Chain{Hash: seedHash, Every: firstEvery}
		x.index.Clients[i].Inputs = Chain{Hash: seedHash, Every: firstEvery}
		x.ahead[i].chain = Chain{Hash: seedHash, Every: firstEvery}
	}
	return x
}

// observe takes one entry, or a part of one, whose record begins at offset. Clients that it was not told of are left out.
func (x *indexer) observe(offset int64, ev metasim.Event, effs []metasim.Effect) {
	switch ev := ev.(type) {
	case *metasim.Send:
		if t := x.track(ev.Client); t != nil {
			t.Outputs.add(hashSend(ev.Sent, ev.Channel, ev.Payload), ev.Sent, offset)
		}
	case *metasim.Advance:
		x.acknowledge(ev.Client, ev.Acked)
	case *metasim.PollWait:
		x.acknowledge(ev.Client, ev.Acked)
	case *metasim.Leave:
		if t := x.track(ev.Client); t != nil && !ev.Cut {
			x.acknowledge(ev.Client, ev.Acked)
			t.Left = true
			t.Outputs.add(hashLeave(ev.Now, ev.Acked, ev.Result), ev.Now, offset)
			x.ahead[ev.Client].values, x.ahead[ev.Client].first = nil, 0
		}
	}
	for _, e := range effs {
		switch e := e.(type) {
		case *metasim.Deliver:
			if max(int(e.To), int(e.Message.From)) < len(x.names) {
				x.deliver(offset, e)
			}
		case *metasim.Authorize:
			if t := x.track(e.To); t != nil {
				t.Granted = e.Until
			}
		}
	}
}

func (x *indexer) track(id metasim.ClientID) *Track {
	if int(id) >= len(x.index.Clients) {
		return nil
	}
	return &x.index.Clients[id]
}

func (x *indexer) deliver(offset int64, d *metasim.Deliver) {
	a, m := &x.ahead[d.To], &d.Message
	a.chain.add(hashDelivery(m.Due, x.names[m.From], hashSend(m.Sent, m.Channel, m.Payload)), m.Due, offset)
	if a.first > len(a.values)/2 {
		a.values = a.values[:copy(a.values, a.values[a.first:])]
		a.first = 0
	}
	a.values = append(a.values, link{a.chain.Hash, m.Due})
}

// acknowledge moves a client's inputs on to the delivery of that number.
func (x *indexer) acknowledge(id metasim.ClientID, number uint64) {
	t := x.track(id)
	if t == nil {
		return
	}
	a, in := &x.ahead[id], &t.Inputs
	if number <= in.Count || number-in.Count > uint64(len(a.values)-a.first) {
		return // nothing new; or what no dispatcher lets pass
	}
	a.first += int(number - in.Count)
	last := a.values[a.first-1]
	in.Count, in.Hash, in.At = number, last.hash, last.at
}

// finish completes the index of a journal of size bytes.
func (x *indexer) finish(size int64) *Index {
	x.index.Size = size
	for i := range x.index.Clients {
		in, all := &x.index.Clients[i].Inputs, &x.ahead[i].chain
		in.Every = all.Every
		in.Checkpoints = all.Checkpoints[:in.Count/in.Every] // what was not handled depends on real time
	}
	return &x.index
}

// BuildIndex makes the index of a journal, of clients of these names, by reading it: of one that was not closed. With it
// comes the *[TornError] at which the journal breaks off, if it does.
func BuildIndex(r *Reader, names []string) (index *Index, torn, err error) {
	x := newIndexer(names)
	for {
		offset := max(r.offset, int64(headerSize))
		e, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return x.finish(r.offset), nil, nil
		case errors.As(err, new(*TornError)):
			return x.finish(r.offset), err, nil
		case err != nil:
			return nil, nil, err
		}
		x.observe(offset, e.Event, e.Effects)
	}
}
