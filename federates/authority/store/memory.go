package store

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Memory is a key-value store that ends with the process. Members of one process may share it.
type Memory struct {
	mu       sync.Mutex
	pairs    []Pair // by key
	watchers []chan struct{}
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{} }

// Open returns the store as one member has it: what that one holds vanishes when it is closed.
func (m *Memory) Open() KV { return &memoryMember{of: m} }

type memoryMember struct {
	of   *Memory
	mu   sync.Mutex
	held []*memoryHeld
}

func (m *Memory) find(key string) (int, bool) {
	return slices.BinarySearchFunc(m.pairs, key, func(p Pair, key string) int { return strings.Compare(p.Key, key) })
}

func (m *Memory) do(b Batch) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range b.If {
		at, found := m.find(c.Key)
		if found != (c.Value != nil) || found && !bytes.Equal(m.pairs[at].Value, c.Value) {
			return false
		}
	}
	for _, s := range b.Delete {
		from, _ := m.find(s.From)
		to, _ := m.find(s.To)
		m.pairs = slices.Delete(m.pairs, from, max(from, to))
	}
	for _, p := range b.Put {
		p.Value = append([]byte{}, p.Value...)
		if at, found := m.find(p.Key); found {
			m.pairs[at] = p
		} else {
			m.pairs = slices.Insert(m.pairs, at, p)
		}
	}
	for _, w := range m.watchers {
		select {
		case w <- struct{}{}:
		default: // it has not yet seen an earlier change, and will look at both
		}
	}
	return true
}

func (m *memoryMember) Do(ctx context.Context, b Batch) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return m.of.do(b), nil
}

func (m *memoryMember) Range(ctx context.Context, from, to string, limit int) ([]Pair, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	begin, _ := m.of.find(from)
	end, _ := m.of.find(to)
	end = max(begin, end)
	if limit > 0 {
		end = min(end, begin+limit)
	}
	return slices.Clone(m.of.pairs[begin:end]), nil // values are replaced, never written into
}

func (m *memoryMember) Watch(ctx context.Context) (<-chan struct{}, error) {
	w := make(chan struct{}, 1)
	m.of.mu.Lock()
	m.of.watchers = append(m.of.watchers, w)
	m.of.mu.Unlock()
	context.AfterFunc(ctx, func() {
		m.of.mu.Lock()
		defer m.of.mu.Unlock()
		m.of.watchers = slices.DeleteFunc(m.of.watchers, func(other chan struct{}) bool { return other == w })
		close(w)
	})
	return w, nil
}

func (m *memoryMember) Hold(ctx context.Context, key string, value []byte, _ time.Duration) (Held, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	done, err := m.Do(ctx, Batch{If: []Pair{{Key: key}}, Put: []Pair{{key, value}}})
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, ErrHeld
	}
	h := &memoryHeld{of: m, key: key, lost: make(chan struct{})}
	m.held = append(m.held, h)
	return h, nil
}

func (m *memoryMember) Close() error {
	m.mu.Lock()
	held := slices.Clone(m.held)
	m.mu.Unlock()
	for _, h := range held {
		h.end()
	}
	return nil
}

type memoryHeld struct {
	of   *memoryMember
	key  string
	lost chan struct{}
	once sync.Once
}

func (h *memoryHeld) Lost() <-chan struct{} { return h.lost }

func (h *memoryHeld) Release(context.Context) error {
	h.end()
	return nil
}

func (h *memoryHeld) end() {
	h.once.Do(func() {
		h.of.of.do(Batch{Delete: []Span{{h.key, h.key + "\x00"}}})
		close(h.lost)
		h.of.mu.Lock()
		defer h.of.mu.Unlock()
		h.of.held = slices.DeleteFunc(h.of.held, func(other *memoryHeld) bool { return other == h })
	})
}
