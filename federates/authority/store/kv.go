package store

import (
	"context"
	"errors"
	"time"
)

// A KV is a key-value store. Keys are text, and are ordered by their bytes. An error other than those below means that it is not known what was done.
type KV interface {
	// Do does a batch as one change if all its conditions hold, and returns whether they did.
	Do(ctx context.Context, b Batch) (done bool, err error)
	// Range returns the pairs with from <= key < to, by key: as they are now, even if another member wrote them; at most limit, 0 for all.
	Range(ctx context.Context, from, to string, limit int) ([]Pair, error)
	// Watch returns a channel that receives something after changes, whoever made them: once for several, if nobody receives. It is closed when the
	// context ends.
	Watch(ctx context.Context) (<-chan struct{}, error)
	// Hold writes a key that vanishes when it is released, and at most ttl after this process has ended or lost the store. Error: ErrHeld if the key is there.
	Hold(ctx context.Context, key string, value []byte, ttl time.Duration) (Held, error)
	// Close gives up what is held.
	Close() error
}

// A Held is a key that is there as long as its holder.
type Held interface {
	// Lost is closed when the key has vanished or may have.
	Lost() <-chan struct{}
	// Release removes the key.
	Release(ctx context.Context) error
}

// A Pair is a key and its value.
type Pair struct {
	Key   string
	Value []byte
}

// A Span is all keys with From <= key < To.
type Span struct{ From, To string }

// A Batch is one change. It deletes first.
type Batch struct {
	If     []Pair // each key has this value; nil: it is not there
	Delete []Span
	Put    []Pair
}

// The errors of key-value stores.
var (
	ErrHeld        = errors.New("the key is held by another process")
	ErrBusy        = errors.New("another process has opened the file")
	ErrUnavailable = errors.New("the store does not answer")
)
