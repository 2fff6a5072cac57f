package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"metasim/metasim"
	"metasim/record/journal"
)

// A Passage is one message on its way to one recipient, as a journal tells: a line of `metasim log`.
type Passage struct {
	From    string      `json:"from"`
	To      string      `json:"to"`
	Channel string      `json:"channel"`
	Seq     uint64      `json:"seq"` // counts the sender's publishes, from 0
	Sent    LogInstant  `json:"sent"`
	Due     *LogInstant `json:"due"` // nil: lost on the way
	Size    int         `json:"size"`
	Payload []byte      `json:"payload"` // base64 in JSON
	// Undelivered: it was not handled by its recipient, which had left, or the run ended before.
	Undelivered bool `json:"undelivered,omitempty"`
}

// A LogInstant is an instant, in JSON as [nanoseconds, step].
type LogInstant metasim.Instant

// MarshalJSON writes [nanoseconds, step].
func (i LogInstant) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]int64{int64(i.Time), int64(i.Step)})
}

// A Log is what a journal tells of a run.
type Log struct {
	Manifest *journal.Manifest
	Ledger   *metasim.Ledger
	// Passages are in the order of (due, recipient, delivery); then the lost ones, by (sent, sender, number, recipient).
	Passages []Passage
	// Torn says where the journal breaks off, if it does: what is before that was read. It is a *journal.TornError.
	Torn error
}

// ReadLog reads a run directory.
func ReadLog(path string) (*Log, error) {
	dir, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	manifest, err := dir.Manifest()
	if err != nil {
		return nil, err
	}
	r, err := dir.OpenJournal()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // a file that was only read
	l := &Log{Manifest: manifest, Ledger: metasim.NewLedger(manifest.Clients)}
	var torn *journal.TornError
	if err := l.read(r); errors.As(err, &torn) {
		l.Torn = err
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l.sort()
	return l, nil
}

func (l *Log) read(r *journal.Reader) error {
	for {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.known(entry); err != nil {
			return err
		}
		l.Ledger.Observe(entry.Event, entry.Effects)
		for _, e := range entry.Effects {
			switch e := e.(type) {
			case *metasim.Queue:
				p := l.passage(e.To, e.Message)
				due := LogInstant(e.Message.Due)
				p.Due = &due
				l.Passages = append(l.Passages, p)
			case *metasim.Lose:
				l.Passages = append(l.Passages, l.passage(e.To, e.Message))
			}
		}
	}
}

// known refuses a journal that belongs to another manifest.
func (l *Log) known(entry journal.Entry) error {
	n := metasim.ClientID(len(l.Manifest.Clients))
	for _, e := range entry.Effects {
		if q, ok := e.(*metasim.Queue); ok && (q.To >= n || q.Message.From >= n) {
			return fmt.Errorf("the journal has a client that the manifest does not name; they are not of one run")
		}
	}
	if j, ok := entry.Event.(*metasim.Join); ok && j.Client >= n {
		return fmt.Errorf("the journal has a client that the manifest does not name; they are not of one run")
	}
	return nil
}

func (l *Log) passage(to metasim.ClientID, m metasim.Message) Passage {
	names := l.Manifest.Clients
	payload := m.Payload
	if payload == nil {
		payload = []byte{}
	}
	return Passage{
		From: names[m.From], To: names[to], Channel: m.Channel, Seq: m.Seq, Sent: LogInstant(m.Sent),
		Size: len(m.Payload), Payload: payload,
	}
}

// sort brings the passages into their order, and finds out which were not handled: a client handles what it gets in
// order, so the first ones that are for it, as many as it handled.
func (l *Log) sort() {
	slices.SortStableFunc(l.Passages, func(a, b Passage) int {
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
	})
	left := map[string]uint64{}
	for i, name := range l.Manifest.Clients {
		left[name] = l.Ledger.Account(metasim.ClientID(i)).Delivered
	}
	for i := range l.Passages {
		p := &l.Passages[i]
		if p.Due == nil {
			continue
		}
		p.Undelivered = left[p.To] == 0
		if !p.Undelivered {
			left[p.To]--
		}
	}
}

func (i LogInstant) compare(j LogInstant) int { return metasim.Instant(i).Compare(metasim.Instant(j)) }
