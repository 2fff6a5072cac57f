package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"metasim/metasim"
)

// A Log is the list of the messages of a run.
type Log struct {
	Run    *Run
	Ledger *metasim.Ledger
	// Messages are in the order of (due, recipient, delivery). The lost ones follow, by (sent, sender, number, recipient).
	Messages []Message
	// Torn is the *journal.TornError at which the journal breaks off, if it does; the messages before it are there. Of a journal that
	// is not that of its run it is a *DigestError.
	Torn error
}

// A Message is one message of a run for one of its recipients, in JSON a line of metasim log.
type Message struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Channel string   `json:"channel"`
	Seq     uint64   `json:"seq"` // counts the sender's publishes, from 0
	Sent    Instant  `json:"sent"`
	Due     *Instant `json:"due"` // nil: lost on the way
	Size    int      `json:"size"`
	Payload []byte   `json:"payload"` // base64 in JSON
	// Undelivered: the recipient did not handle it, because it had left or the run ended before.
	Undelivered bool `json:"undelivered,omitempty"`
}

// An Instant is a metasim.Instant that is [nanoseconds, step] in JSON.
type Instant metasim.Instant

// MarshalJSON writes [nanoseconds, step].
func (i Instant) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]int64{int64(i.Time), int64(i.Step)})
}

func (i Instant) String() string { return metasim.Instant(i).String() }

func (i Instant) compare(j Instant) int { return metasim.Instant(i).Compare(metasim.Instant(j)) }

// ReadLog opens the run in a directory and reads its log.
func ReadLog(path string) (*Log, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	reader, err := r.OpenJournal()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // a file that was only read
	l := &Log{Run: r, Ledger: reader.Ledger}
	if err := l.read(reader); IsBeginning(err) || errors.As(err, new(*DigestError)) {
		l.Torn = err
	} else if err != nil {
		return nil, err
	}
	slices.SortStableFunc(l.Messages, inLogOrder)
	l.markUndelivered()
	return l, nil
}

func (l *Log) read(r *Journal) error {
	for {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entry.Effects {
			switch e := e.(type) {
			case *metasim.Queue:
				l.Messages = append(l.Messages, l.Run.Message(e.To, &e.Message, &e.Message.Due))
			case *metasim.Lose:
				l.Messages = append(l.Messages, l.Run.Message(e.To, &e.Message, nil))
			}
		}
	}
}

// Message returns a message of the run for one recipient, with its due instant; nil: it was lost.
func (r *Run) Message(to metasim.ClientID, m *metasim.Message, due *metasim.Instant) Message {
	names := r.Manifest.Clients
	payload := m.Payload
	if payload == nil {
		payload = []byte{} // "" in JSON, not null
	}
	return Message{
		From: names[m.From], To: names[to], Channel: m.Channel, Seq: m.Seq, Sent: Instant(m.Sent), Due: (*Instant)(due),
		Size: len(m.Payload), Payload: payload,
	}
}

func inLogOrder(a, b Message) int {
	switch {
	case a.Due == nil && b.Due == nil:
		return cmp.Or(a.Sent.compare(b.Sent), cmp.Compare(a.From, b.From), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.To, b.To))
	case a.Due == nil:
		return 1
	case b.Due == nil:
		return -1
	}
	return cmp.Or(a.Due.compare(*b.Due), cmp.Compare(a.To, b.To), a.Sent.compare(b.Sent), cmp.Compare(a.From, b.From),
		cmp.Compare(a.Seq, b.Seq))
}

// markUndelivered finds the messages that were not handled. A client handles its messages in their order, so they are the ones
// after the first Delivered.
func (l *Log) markUndelivered() {
	left := map[string]uint64{}
	for i, name := range l.Run.Manifest.Clients {
		left[name] = l.Ledger.Account(metasim.ClientID(i)).Delivered
	}
	for i := range l.Messages {
		m := &l.Messages[i]
		if m.Due == nil {
			continue
		}
		m.Undelivered = left[m.To] == 0
		if !m.Undelivered {
			left[m.To]--
		}
	}
}
