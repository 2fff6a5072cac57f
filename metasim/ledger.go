package metasim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"metasim/internal/fifo"
	"metasim/internal/foldhash"
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
	scratch  []byte
	shared   sharedHashes
}

type account struct {
	Account
	chain   hash.Cloner
	pending fifo.Queue[Message] // given, and not acknowledged: Account.Delivered counts those that are
}

// An Account is what a Ledger knows of one client.
type Account struct {
	Sent      uint64  // publishes
	Sends     uint64  // a hash of them, heard or not: instants, channels and payloads
	Lost      uint64  // messages to it that a link dropped
	Queued    uint64  // messages to it that arrive some day, copies included
	Delivered uint64  // of those, handled
	Grants    uint64  // authorizations; their number depends on real time
	End       Instant // its last activity
	Joined    bool
	Left, Cut bool
	Result    []byte // JSON: the result of its model
}

// Digest is a SHA-256, as design section 4.2 defines it.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// NewLedger returns an empty ledger for clients of these names, in order (see Dispatcher.Names).
func NewLedger(names []string) *Ledger {
	l := &Ledger{names: names, accounts: make([]account, len(names))}
	for i := range l.accounts {
		l.accounts[i].chain = newChain()
		l.accounts[i].Sends = foldhash.Seed
	}
	return l
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
		a.Sent++
		a.Sends = foldhash.Word(a.Sends, HashSend(ev.Sent, ev.Channel, ev.Payload))
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
		l.hash(a, m)
	}
	a.pending.Drop(n)
	a.Delivered = acked
}

// hash adds a delivery to a client's digest.
func (l *Ledger) hash(a *account, m *Message) {
	l.scratch = l.appendDelivery(l.scratch[:0], m)
	if len(m.Payload) < leastShared {
		l.scratch = append(l.scratch, m.Payload...)
	}
	a.chain.Write(l.scratch) // a hash never fails
	if len(m.Payload) >= leastShared {
		a.chain = l.shared.hash(a.chain, m)
	}
}

// appendDelivery is what a client's digest hashes of one delivery, before its payload: instants, then sender, channel and payload, each
// with its length; little-endian.
func (l *Ledger) appendDelivery(b []byte, m *Message) []byte {
	b = appendInstant(b, m.Due)
	b = appendInstant(b, m.Sent)
	sender := l.names[m.From]
	b = binary.LittleEndian.AppendUint32(b, uint32(len(sender)))
	b = append(b, sender...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Channel)))
	b = append(b, m.Channel...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(m.Payload)))
}

func appendInstant(b []byte, i Instant) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(i.Time))
	return binary.LittleEndian.AppendUint32(b, i.Step)
}

// Account returns what is known of one client so far.
func (l *Ledger) Account(id ClientID) Account { return l.accounts[id].Account }

// Unhandled returns what a client was given and has not acknowledged: the deliveries after Account.Delivered. It is valid until the next Observe.
func (l *Ledger) Unhandled(id ClientID) []Message { return l.accounts[id].pending.All() }

// ClientDigest returns the digest over what a client has handled so far.
func (l *Ledger) ClientDigest(id ClientID) Digest {
	return Digest(l.accounts[id].chain.Sum(nil))
}

// Digest returns the digest of the run so far: over the names of the clients, in order, each with its digest.
func (l *Ledger) Digest() Digest {
	h := sha256.New()
	for i, name := range l.names {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(name))))
		h.Write([]byte(name))
		d := l.ClientDigest(ClientID(i))
		h.Write(d[:])
	}
	return Digest(h.Sum(nil))
}

// HashSend is the hash of a send: its instant, channel and payload.
func HashSend(sent Instant, channel string, payload []byte) uint64 {
	h := foldhash.Word(foldhash.Word(foldhash.Seed, uint64(sent.Time)), uint64(sent.Step))
	return foldhash.Bytes(foldhash.Bytes(h, channel), payload)
}

// SendsDigest returns the digest of all that the clients have sent so far, heard or not: over the names of the clients, in order, each
// with the number and the hash of its sends.
func (l *Ledger) SendsDigest() Digest {
	h := sha256.New()
	for i, name := range l.names {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(name))))
		h.Write([]byte(name))
		a := &l.accounts[i]
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, a.Sent), a.Sends))
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
