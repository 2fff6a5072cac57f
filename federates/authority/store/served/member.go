package served

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"metasim/federates/authority/store"
	"metasim/metasim"
)

// An Ask sends a question to the store, and again until take has taken its answer. Its error ends the call of the member: it is not known then what was done.
type Ask func(ctx context.Context, question []byte, take func(answer []byte) bool) error

// A Member is the store as one member has it.
type Member struct {
	ask    Ask
	life   metasim.Instant
	number uint64
	held   []*held
}

// Open returns the store of a member that begins now.
func Open(now metasim.Instant, ask Ask) *Member { return &Member{ask: ask, life: now} }

func (m *Member) call(ctx context.Context, q question) (a answer, err error) {
	m.number++
	q.Life, q.Number = m.life, m.number
	b, err := json.Marshal(&q)
	if err != nil {
		return a, err
	}
	err = m.ask(ctx, b, func(text []byte) bool {
		var got answer
		if json.Unmarshal(text, &got) != nil || got.Life != m.life || got.Number != q.Number {
			return false // it is late, or for an earlier life
		}
		a = got
		return true
	})
	return a, err
}

// Do implements store.KV.
func (m *Member) Do(ctx context.Context, b store.Batch) (bool, error) {
	a, err := m.call(ctx, question{Do: doBatch, Batch: b})
	return a.Done, err
}

// Range implements store.KV.
func (m *Member) Range(ctx context.Context, from, to string, limit int) ([]store.Pair, error) {
	a, err := m.call(ctx, question{Do: readRange, From: from, To: to, Limit: limit})
	return a.Pairs, err
}

// Watch implements store.KV. Nobody tells a member what others have written: store.Store.Step asks.
func (m *Member) Watch(context.Context) (<-chan struct{}, error) { return nil, nil }

// Hold implements store.KV. What is held vanishes ttl, in simulated time, after the last Renew.
func (m *Member) Hold(ctx context.Context, key string, value []byte, ttl time.Duration) (store.Held, error) {
	a, err := m.call(ctx, question{Do: holdKey, Key: key, Value: value, TTL: metasim.Time(ttl)})
	if err != nil {
		return nil, err
	}
	if !a.Done {
		return nil, store.ErrHeld
	}
	h := &held{m, key, make(chan struct{})}
	m.held = append(m.held, h)
	return h, nil
}

// Renew keeps what the member holds, and takes notice of what has vanished.
func (m *Member) Renew(ctx context.Context) error {
	a, err := m.call(ctx, question{Do: renew})
	if err != nil {
		return err
	}
	m.held = slices.DeleteFunc(m.held, func(h *held) bool {
		lost := !slices.ContainsFunc(a.Pairs, func(p store.Pair) bool { return p.Key == h.key })
		if lost {
			close(h.lost)
		}
		return lost
	})
	return nil
}

// Close implements store.KV. What is held vanishes when it is not renewed.
func (m *Member) Close() error { return nil }

// held is a key that a member holds.
type held struct {
	of   *Member
	key  string
	lost chan struct{}
}

func (h *held) Lost() <-chan struct{} { return h.lost }

func (h *held) Release(ctx context.Context) error {
	_, err := h.of.call(ctx, question{Do: release, Key: h.key})
	return err
}
