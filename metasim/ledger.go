package metasim

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"iter"

	"metasim/internal/fifo"
)

// A Ledger counts what was sent, and what each client was given and has handled, and computes the digest that proves that two
// runs were the same. Observe every event and its effects in order, live or from a journal.
//
// A delivery counts when its recipient has acknowledged it. Whether a client that leaves was given more ahead of that depends
// on real time, so what it never handled counts as undelivered.
type Ledger struct {
	names    []string
	accounts []account
	finished bool
	hashes   hashes
	later    func(Hashing) bool // nil: all is hashed at once
}

type account struct {
	Account
	pending fifo.Queue[Message] // given, and not acknowledged: Account.Delivered counts those that are
}

// An Account is what a Ledger knows of one client.
type Account struct {
	Sent      uint64  // publishes
	Lost      uint64  // messages to it that a link dropped
	Queued    uint64  // messages to it that arrive some day, copies included
	Delivered uint64  // of those, handled
	Grants    uint64  // authorizations; their number depends on real time
	End       Instant // its last activity
	Joined    bool
	Left, Cut bool
	Result    []byte // JSON: the result of its model
}

// NewLedger returns an empty ledger for clients of these names, in order (see Dispatcher.Names).
func NewLedger(names []string) *Ledger {
	return &Ledger{names: names, accounts: make([]account, len(names)), hashes: newHashes(names)}
}

// Observe counts one event and its effects; ev is nil for those of a Settle. It keeps payloads, but not the slice. What
// follows a Finish does not count.
func (l *Ledger) Observe(ev Event, effects []Effect) {
	if l.finished {
		return
	}
	evicted := false
	for _, e := range effects {
		if _, evicted = e.(*Evict); evicted {
			break
		}
	}
	if !evicted {
		l.event(ev)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case *Queue:
			l.accounts[e.To].Queued++
		case *Lose:
			l.accounts[e.To].Lost++
		case *Deliver:
			a := &l.accounts[e.To]
			a.pending.Push(e.Message)
		case *Authorize:
			l.accounts[e.To].Grants++
		case *Finish:
			l.finished = true
		}
	}
}

func (l *Ledger) event(ev Event) {
	switch ev := ev.(type) {
	case *Join:
		l.accounts[ev.Client].Joined = true
	case *Send:
		a := &l.accounts[ev.Client]
		l.hash(Hashing{client: ev.Client, sent: true, message: Message{Seq: a.Sent, Channel: ev.Channel, Sent: ev.Sent, Payload: ev.Payload}})
		a.Sent++
		a.End = Later(a.End, ev.Sent)
	case *Advance:
		l.report(ev.Client, ev.Now, ev.Acked)
	case *PollWait:
		l.report(ev.Client, ev.Now, ev.Acked)
	case *Leave:
		a := &l.accounts[ev.Client]
		if ev.Cut {
			a.Cut = true
			return
		}
		l.report(ev.Client, ev.Now, ev.Acked)
		a.Left = true
		a.Result = ev.Result
		a.pending = fifo.Queue[Message]{}
	}
}

func (l *Ledger) report(id ClientID, now Instant, acked uint64) {
	a := &l.accounts[id]
	a.End = Later(a.End, now)
	n := int(acked - a.Delivered)
	handled := a.pending.All()[:n]
	for i := range handled {
		m := &handled[i]
		a.End = Later(a.End, m.Due)
		l.hash(Hashing{client: id, message: *m})
	}
	a.pending.Drop(n)
	a.Delivered = acked
}

// hash adds to a digest, now or later.
func (l *Ledger) hash(h Hashing) {
	if l.later == nil || !l.later(h) {
		l.hashes.add(&h)
	}
}

// HashLater lets later say what is hashed later: it returns true for what it will give to Hash, in this order, and false where all before is hashed, of sends or of the rest. Before a
// digest is asked for all must be.
func (l *Ledger) HashLater(later func(Hashing) bool) { l.later = later }

// Hash does what later has taken. Any goroutine may call it, also during Observe: one at a time for sends, and one at a time for the rest.
func (l *Ledger) Hash(h Hashing) { l.hashes.add(&h) }

// Account returns what is known of one client so far.
func (l *Ledger) Account(id ClientID) Account { return l.accounts[id].Account }

// Unhandled returns what a client was given and has not acknowledged: the deliveries after Account.Delivered. It is valid until the next Observe.
func (l *Ledger) Unhandled(id ClientID) []Message { return l.accounts[id].pending.All() }

// ClientDigest returns the digest over what a client has handled so far.
func (l *Ledger) ClientDigest(id ClientID) Digest { return l.hashes.client(id) }

// Digest returns the digest of the run so far: over the names of the clients, in order, each with its digest.
func (l *Ledger) Digest() Digest { return RunDigest(l.shares()) }

// SendsOf returns the hash of what a client has sent so far, heard or not: instants, channels and payloads.
func (l *Ledger) SendsOf(id ClientID) uint64 { return l.hashes.sends[id] }

// SendsDigest returns the digest of all that the clients have sent so far, heard or not: over the names of the clients, in order, each
// with the number and the hash of its sends.
func (l *Ledger) SendsDigest() Digest { return RunSendsDigest(l.shares()) }

// A Share is what one client adds to the digests of a run.
type Share struct {
	Name        string
	Digest      Digest // of what it has handled
	Sent, Sends uint64 // see Account.Sent and Ledger.SendsOf
}

func (l *Ledger) shares() iter.Seq[Share] {
	return func(yield func(Share) bool) {
		for i, name := range l.names {
			if a := &l.accounts[i]; !yield(Share{name, l.ClientDigest(ClientID(i)), a.Sent, l.hashes.sends[i]}) {
				return
			}
		}
	}
}

// RunDigest returns the digest of a run, see Ledger.Digest. The clients come in order of name; more than one dispatcher may have counted them.
func RunDigest(clients iter.Seq[Share]) Digest {
	return combine(clients, func(h hash.Hash, c Share) { h.Write(c.Digest[:]) })
}

// RunSendsDigest does so for what the clients have sent, see Ledger.SendsDigest.
func RunSendsDigest(clients iter.Seq[Share]) Digest {
	return combine(clients, func(h hash.Hash, c Share) {
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, c.Sent), c.Sends))
	})
}

func combine(clients iter.Seq[Share], add func(hash.Hash, Share)) Digest {
	h := sha256.New() // a hash never fails
	for c := range clients {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(c.Name))))
		h.Write([]byte(c.Name))
		add(h, c)
	}
	return Digest(h.Sum(nil))
}

// Totals counts (message, recipient) pairs, except Sent, which counts publishes.
type Totals struct {
	Sent, Delivered, Dropped, Undelivered uint64
	End                                   Instant // the latest activity of any client
}

// Totals sums up the run so far.
func (l *Ledger) Totals() Totals {
	var t Totals
	for i := range l.accounts {
		a := &l.accounts[i]
		t.Sent += a.Sent
		t.Delivered += a.Delivered
		t.Dropped += a.Lost
		t.Undelivered += a.Queued - a.Delivered
		t.End = Later(t.End, a.End)
	}
	return t
}
