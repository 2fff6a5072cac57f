// Package served is a key-value store that members reach by messages: the store of a run. One client has a [Server], and each member a [Member], which asks it, and again until
// it is answered. So a store of package store works in simulated time: what its members write, when each leads, and what is lost with one that dies follow from the run alone.
//
// The caller's duties:
//
//  1. Receive is called with the member that really sent the question, and what it returns is sent to that one. Links may lose, double and reorder.
//  2. Tick is called at Wake, or later.
//  3. A member that begins again has a later life than before.
package served

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"metasim/federates/authority/store"
	"metasim/metasim"
)

// What a member asks.
const (
	doBatch   = "do"
	readRange = "range"
	holdKey   = "hold"
	release   = "release"
	renew     = "renew" // all that this life of the member holds
)

// A question is what a member asks. A life of a member numbers its questions.
type question struct {
	Life   metasim.Instant `json:"life"` // when it began
	Number uint64          `json:"number"`
	Do     string          `json:"do"`
	Batch  store.Batch     `json:"batch,omitzero"`
	From   string          `json:"from,omitempty"`
	To     string          `json:"to,omitempty"`
	Limit  int             `json:"limit,omitempty"`
	Key    string          `json:"key,omitempty"`
	Value  []byte          `json:"value,omitempty"`
	TTL    metasim.Time    `json:"ttl,omitempty"`
}

// An answer is to the question of its number.
type answer struct {
	Life   metasim.Instant `json:"life"`
	Number uint64          `json:"number"`
	Done   bool            `json:"done,omitempty"`
	Pairs  []store.Pair    `json:"pairs,omitempty"`
}

// A Hold says what became of a key that members hold.
type Hold struct {
	NS     metasim.Time `json:"ns"`
	Step   uint32       `json:"step"`
	Key    string       `json:"key"`
	Member string       `json:"member"`
	What   string       `json:"what"` // "held", "released", or "expired": the member did not renew it
}

// A Server is the store.
type Server struct {
	Holds []Hold // in their order

	kv    store.KV
	held  []lease // in the order in which they were taken
	heard map[string]heard
	log   [sha256.Size]byte // of all batches that were done, chained
	done  uint64
}

type lease struct {
	key, member string
	life        metasim.Instant
	ttl         metasim.Time
	until       metasim.Time
}

// heard is the last question of a member, and what was answered.
type heard struct {
	life   metasim.Instant
	number uint64
	answer []byte
}

// NewServer returns a store without anything.
func NewServer() *Server { return &Server{kv: store.NewMemory().Open(), heard: map[string]heard{}} }

// A QuestionError: what a member sent is no question.
type QuestionError struct {
	From, Why string
}

func (e *QuestionError) Error() string {
	return e.From + " sent the store what is no question of a member: " + e.Why
}

// Receive answers a question. Nil: it came late, and nobody waits for its answer. Where it returns an error the sender did wrong, and nothing has changed.
func (s *Server) Receive(now metasim.Instant, from string, payload []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(payload, &q); err != nil {
		return nil, &QuestionError{from, err.Error()}
	}
	if last, known := s.heard[from]; known {
		switch c := q.Life.Compare(last.life); {
		case c < 0, c == 0 && q.Number < last.number:
			return nil, nil
		case c == 0 && q.Number == last.number:
			return last.answer, nil
		}
	}
	if err := s.expire(now); err != nil {
		return nil, err
	}
	a := answer{Life: q.Life, Number: q.Number}
	if err := s.carryOut(now, from, &q, &a); err != nil {
		return nil, err
	}
	b, err := json.Marshal(&a)
	if err != nil {
		return nil, err
	}
	s.heard[from] = heard{q.Life, q.Number, b}
	return b, nil
}

func (s *Server) carryOut(now metasim.Instant, from string, q *question, a *answer) (err error) {
	switch q.Do {
	case doBatch:
		a.Done, err = s.do(q.Batch)
	case readRange:
		a.Pairs, err = s.kv.Range(context.Background(), q.From, q.To, q.Limit)
	case holdKey:
		if a.Done, err = s.do(store.Batch{If: []store.Pair{{Key: q.Key}}, Put: []store.Pair{{Key: q.Key, Value: q.Value}}}); a.Done {
			s.held = append(s.held, lease{q.Key, from, q.Life, q.TTL, now.Time.Add(q.TTL)})
			s.Holds = append(s.Holds, Hold{now.Time, now.Step, q.Key, from, "held"})
		}
	case release:
		err = s.end(now, "released", func(l *lease) bool { return l.key == q.Key && l.member == from && l.life == q.Life })
	case renew:
		for i := range s.held {
			if l := &s.held[i]; l.member == from && l.life == q.Life {
				l.until = now.Time.Add(l.ttl)
				a.Pairs = append(a.Pairs, store.Pair{Key: l.key})
			}
		}
	default:
		err = &QuestionError{from, fmt.Sprintf("it wants %q", q.Do)}
	}
	return err
}

// do does a batch, and adds it to the digest.
func (s *Server) do(b store.Batch) (bool, error) {
	done, err := s.kv.Do(context.Background(), b)
	if err != nil || !done {
		return false, err
	}
	text, err := json.Marshal(&b)
	if err != nil {
		return false, err
	}
	s.done++
	s.log = sha256.Sum256(append(append(binary.LittleEndian.AppendUint64(nil, s.done), s.log[:]...), text...))
	return true, nil
}

// end removes keys that are held no more.
func (s *Server) end(now metasim.Instant, what string, which func(*lease) bool) (err error) {
	s.held = slices.DeleteFunc(s.held, func(l lease) bool {
		if err != nil || !which(&l) {
			return false
		}
		if _, err = s.do(store.Batch{Delete: []store.Span{{From: l.key, To: l.key + "\x00"}}}); err == nil {
			s.Holds = append(s.Holds, Hold{now.Time, now.Step, l.key, l.member, what})
		}
		return err == nil
	})
	return err
}

func (s *Server) expire(now metasim.Instant) error {
	return s.end(now, "expired", func(l *lease) bool { return now.Time >= l.until })
}

// Wake is when what a member holds vanishes next; metasim.Forever if nobody holds anything.
func (s *Server) Wake() metasim.Time {
	at := metasim.Forever
	for i := range s.held {
		at = min(at, s.held[i].until)
	}
	return at
}

// Tick removes what members hold and have not renewed.
func (s *Server) Tick(now metasim.Instant) error { return s.expire(now) }

// Digest is that of all batches that were done, in their order, and says how many these are.
func (s *Server) Digest() (batches uint64, digest string) {
	return s.done, hex.EncodeToString(s.log[:])
}
