package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"metasim/internal/foldhash"
	"metasim/metasim"
)

// An Index has what each client of a journal received and sent as histories, which can be compared with those of another run. It
// lies beside the journal, and is written when the journal is closed.
type Index struct {
	Size    int64  // bytes of the journal; with another size the index is not of that journal
	Sum     uint32 // CRC-32C of the journal; see Dir.CheckIndex
	Clients []ClientIndex

	made bool // by reading the journal
}

// A ClientIndex is the part of one client in an index.
type ClientIndex struct {
	Inputs  History // the deliveries that it handled, in order
	Outputs History // what it sent, in order, and then its leave
	Left    bool    // Outputs end with its leave
	// Granted is how far it was authorized last. A client that leaves when it is authorized to the end of the run leaves because
	// nothing more comes, and not at the instant of its last action.
	Granted metasim.Instant
}

// An indexer makes an index while a journal is written or read.
type indexer struct {
	index     Index
	names     []uint64    // hashes of the names: runs with different clients can be compared
	delivered []delivered // by client
	hashed    bool        // messages have no payloads: see inFlight
}

// delivered is what was delivered to a client, and how much of that it has not acknowledged.
type delivered struct {
	history History // of all that was delivered
	unacked []state // of the history after each delivery that is not acknowledged; those before first are done with
	first   int
}

// A state is a history after an item.
type state struct {
	hash uint64
	at   metasim.Instant
}

func newIndexer(names []string) *indexer {
	x := &indexer{index: Index{Clients: make([]ClientIndex, len(names))}, delivered: make([]delivered, len(names))}
	for i, name := range names {
		x.names = append(x.names, foldhash.Bytes(foldhash.Seed, name))
		x.index.Clients[i].Outputs = newHistory(len(names))
		x.index.Clients[i].Inputs = newHistory(len(names))
		x.delivered[i].history = newHistory(len(names))
	}
	return x
}

// observe takes one entry, whose record begins at offset. It leaves out clients without a name.
func (x *indexer) observe(offset int64, ev metasim.Event, effs []metasim.Effect) {
	switch ev := ev.(type) {
	case *metasim.Send:
		if t := x.client(ev.Client); t != nil {
			t.Outputs.add(metasim.HashSend(ev.Sent, ev.Channel, ev.Payload), ev.Sent, offset)
		}
	case *metasim.Advance:
		x.acknowledge(ev.Client, ev.Acked)
	case *metasim.PollWait:
		x.acknowledge(ev.Client, ev.Acked)
	case *metasim.Leave:
		if t := x.client(ev.Client); t != nil && !ev.Cut {
			x.acknowledge(ev.Client, ev.Acked)
			t.Left = true
			t.Outputs.add(hashLeave(ev.Now, ev.Acked, ev.Result), ev.Now, offset)
			x.delivered[ev.Client].unacked, x.delivered[ev.Client].first = nil, 0
		}
	}
	for _, e := range effs {
		switch e := e.(type) {
		case *metasim.Deliver:
			if max(int(e.To), int(e.Message.From)) < len(x.names) {
				x.deliver(offset, e)
			}
		case *metasim.Authorize:
			if t := x.client(e.To); t != nil {
				t.Granted = e.Until
			}
		}
	}
}

// client returns the index of a client, or nil for one without a name.
func (x *indexer) client(id metasim.ClientID) *ClientIndex {
	if int(id) >= len(x.index.Clients) {
		return nil
	}
	return &x.index.Clients[id]
}

func (x *indexer) deliver(offset int64, d *metasim.Deliver) {
	a, m := &x.delivered[d.To], &d.Message
	a.history.add(hashDelivery(m.Due, x.names[m.From], x.hashSend(m)), m.Due, offset)
	if a.first > len(a.unacked)/2 {
		a.unacked = a.unacked[:copy(a.unacked, a.unacked[a.first:])]
		a.first = 0
	}
	a.unacked = append(a.unacked, state{a.history.Hash, m.Due})
}

// hashSend returns the hash of the send of a message.
func (x *indexer) hashSend(m *metasim.Message) uint64 {
	if x.hashed {
		return binary.LittleEndian.Uint64(m.Payload)
	}
	return metasim.HashSend(m.Sent, m.Channel, m.Payload)
}

// acknowledge extends a client's inputs to the delivery of this number.
func (x *indexer) acknowledge(id metasim.ClientID, number uint64) {
	t := x.client(id)
	if t == nil {
		return
	}
	a, in := &x.delivered[id], &t.Inputs
	if number <= in.Count || number-in.Count > uint64(len(a.unacked)-a.first) {
		return // nothing new; or more than was delivered, which a dispatcher refuses
	}
	a.first += int(number - in.Count)
	last := a.unacked[a.first-1]
	in.Count, in.Hash, in.At = number, last.hash, last.at
}

// finish completes the index of a journal of size bytes with a checksum.
func (x *indexer) finish(size int64, sum uint32) *Index {
	x.index.Size, x.index.Sum = size, sum
	for i := range x.index.Clients {
		in := &x.index.Clients[i].Inputs
		*in = x.delivered[i].history.cut(*in) // how much was delivered but not handled depends on real time
	}
	return &x.index
}

// buildIndex makes the index of a journal by reading it. Names are those of the clients. It also returns the *[TornError] at which
// the journal breaks off, if it does.
func buildIndex(r *Reader, names []string) (index *Index, torn, err error) {
	x := newIndexer(names)
	x.index.made = true
	x.hashed, r.dec.sent.hashed = true, true
	for {
		offset := max(r.offset, int64(headerSize))
		e, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return x.finish(r.offset, 0), nil, nil
		case errors.As(err, new(*TornError)):
			return x.finish(r.offset, 0), err, nil
		case err != nil:
			return nil, nil, err
		}
		x.observe(offset, e.Event, e.Effects)
	}
}

// The file of an index, all integers little-endian:
//
//	8 bytes  magic "MSIMINDX"
//	u32      version: 2; one with another version is made anew
//	u64      bytes of the journal
//	u32      CRC-32C of the journal
//	u32      number of clients
//	of each client:
//	  u8     1 if it left, else 0
//	  instant  how far it was authorized
//	  of its inputs, then of its outputs:
//	    u64      count
//	    u64      hash
//	    instant  of the last item: i64 time, u32 step
//	    u64      items between two checkpoints
//	    u32      number of checkpoints
//	    of each: u64 hash, instant, u64 offset
//	    u8       binary logarithm of the nanoseconds of a span
//	    u32      number of marks
//	    of each: u64 count, u64 hash, instant, u64 offset
//	u32      CRC-32C of all before
const (
	indexMagic   = "MSIMINDX"
	indexVersion = 2

	checkpointSize = 8 + 12 + 8
	markSize       = 8 + checkpointSize
	historySize    = 8 + 8 + 12 + 8 + 4 + 1 + 4 // without checkpoints and marks
	clientSize     = 1 + 12 + 2*historySize
)

func (x *Index) append(b []byte) []byte {
	start := len(b)
	b = append(b, indexMagic...)
	b = appendFixed(b, uint32(indexVersion), x.Size, x.Sum, uint32(len(x.Clients)))
	for i := range x.Clients {
		c := &x.Clients[i]
		b = c.Outputs.append(c.Inputs.append(appendFixed(b, c.Left, c.Granted)))
	}
	return appendFixed(b, crc32.Checksum(b[start:], castagnoli))
}

func (h *History) append(b []byte) []byte {
	b = appendFixed(b, h.Count, h.Hash, h.At, h.Every, uint32(len(h.Checkpoints)), h.Checkpoints)
	return appendFixed(b, h.Shift, uint32(len(h.Marks)), h.Marks)
}

// appendFixed appends values of a fixed size: a struct is its fields.
func appendFixed(b []byte, values ...any) []byte {
	for _, v := range values {
		b, _ = binary.Append(b, binary.LittleEndian, v) // fails only for another kind of value
	}
	return b
}

// errNoIndex tells that a file is not an index, or is damaged.
var errNoIndex = errors.New("it is damaged, or not an index")

// ErrIndexVersion tells that another version of metasim has written an index.
var ErrIndexVersion = errors.New("the index has another version of the format")

// parseIndex reads the file of an index. It refuses everything that append does not write.
func parseIndex(b []byte) (*Index, error) {
	rest, ok := bytes.CutPrefix(b, []byte(indexMagic))
	if !ok || len(rest) < 4 {
		return nil, errNoIndex
	}
	end := len(b) - 4
	r := &indexReader{rest: rest[:len(rest)-4]}
	x := new(Index)
	var v uint32
	r.read(&v, &x.Size, &x.Sum)
	n := r.count(clientSize)
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, errNoIndex
	}
	if v != indexVersion {
		return nil, ErrIndexVersion
	}
	for range n {
		var c ClientIndex
		var left uint8
		r.read(&left, &c.Granted)
		r.history(&c.Inputs)
		r.history(&c.Outputs)
		c.Left = left == 1
		x.Clients = append(x.Clients, c)
		if r.bad || left > 1 {
			return nil, errNoIndex
		}
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errNoIndex
	}
	return x, nil
}

// An indexReader reads what append writes. After an error it is bad.
type indexReader struct {
	rest []byte
	bad  bool
}

// read reads values of a fixed size.
func (r *indexReader) read(values ...any) {
	for _, v := range values {
		n, err := binary.Decode(r.rest, binary.LittleEndian, v)
		r.rest, r.bad = r.rest[n:], r.bad || err != nil
	}
}

// count reads how many things of at least size bytes follow.
func (r *indexReader) count(size int) int {
	var n uint32
	r.read(&n)
	if uint64(n)*uint64(size) > uint64(len(r.rest)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *indexReader) history(h *History) {
	r.read(&h.Count, &h.Hash, &h.At, &h.Every)
	if n := r.count(checkpointSize); n > 0 {
		h.Checkpoints = make([]Checkpoint, n)
		r.read(h.Checkpoints)
	}
	r.read(&h.Shift)
	if n := r.count(markSize); n > 0 {
		h.Marks = make([]Mark, n)
		r.read(h.Marks)
	}
	// Every is a power of two, and there is a checkpoint after each Every items.
	if h.Every < 1 || h.Every&(h.Every-1) != 0 || h.Count/h.Every != uint64(len(h.Checkpoints)) {
		r.bad = true
	}
	last := uint64(0)
	for i := range h.Marks {
		r.bad = r.bad || h.Marks[i].Count <= last || h.Marks[i].Count > h.Count
		last = h.Marks[i].Count
	}
}
