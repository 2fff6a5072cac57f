// Package bolt is a key-value store in one file (go.etcd.io/bbolt), for one process at a time. A batch is on the disk when it is done.
package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"metasim/federates/authority/store"
)

// The buckets of a file. What is held stands in both: a process that was killed could not remove it, so the next one does.
var (
	bucketPairs = []byte("pairs")
	bucketHeld  = []byte("held")
)

// lockWait is how long Open waits for another process that is about to end.
const lockWait = 200 * time.Millisecond

// A file is a store.KV.
type file struct {
	db       *bbolt.DB
	mu       sync.Mutex // guards what follows
	watchers []chan struct{}
	held     []*held
}

// Open opens a store in a file, or makes it. Errors: store.ErrBusy while another process has it open; store.ErrFormat for a file of something else.
func Open(name string) (store.KV, error) {
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w %s; end it, or give this one a file of its own", store.ErrBusy, name)
	case errors.Is(err, bbolterrors.ErrInvalid) || errors.Is(err, bbolterrors.ErrChecksum) || errors.Is(err, bbolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%w: %s: %w", store.ErrFormat, name, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", filepath.Clean(name), err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		pairs, err := tx.CreateBucketIfNotExists(bucketPairs)
		if err != nil {
			return err
		}
		left, err := tx.CreateBucketIfNotExists(bucketHeld)
		if err != nil {
			return err
		}
		err = left.ForEach(func(key, _ []byte) error { return pairs.Delete(key) })
		if err != nil {
			return err
		}
		if err := tx.DeleteBucket(bucketHeld); err != nil {
			return err
		}
		_, err = tx.CreateBucket(bucketHeld)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), db.Close())
	}
	return &file{db: db}, nil
}

// errNot ends a transaction whose conditions do not hold.
var errNot = errors.New("a condition does not hold")

func (f *file) Do(ctx context.Context, b store.Batch) (bool, error) { return f.do(ctx, b, nil) }

// do also notes a key that is held.
func (f *file) do(ctx context.Context, b store.Batch, hold []byte) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err := f.db.Update(func(tx *bbolt.Tx) error {
		pairs := tx.Bucket(bucketPairs)
		for _, c := range b.If {
			value := pairs.Get([]byte(c.Key))
			if (value != nil) != (c.Value != nil) || !bytes.Equal(value, c.Value) {
				return errNot
			}
		}
		for _, s := range b.Delete {
			if err := remove(pairs, s); err != nil {
				return err
			}
		}
		for _, p := range b.Put {
			if err := pairs.Put([]byte(p.Key), p.Value); err != nil {
				return err
			}
		}
		if hold != nil {
			return tx.Bucket(bucketHeld).Put(hold, nil)
		}
		return nil
	})
	if errors.Is(err, errNot) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", f.db.Path(), err)
	}
	f.tell()
	return true, nil
}

// remove deletes a span.
func remove(pairs *bbolt.Bucket, s store.Span) error {
	var keys [][]byte // a cursor loses its place when it deletes
	c := pairs.Cursor()
	for key, _ := c.Seek([]byte(s.From)); key != nil && string(key) < s.To; key, _ = c.Next() {
		keys = append(keys, bytes.Clone(key))
	}
	for _, key := range keys {
		if err := pairs.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// tell tells those who watch.
func (f *file) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.watchers {
		select {
		case w <- struct{}{}:
		default: // it has not yet seen an earlier change, and will look at both
		}
	}
}

func (f *file) Range(ctx context.Context, from, to string, limit int) (out []store.Pair, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = f.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketPairs).Cursor()
		for key, value := c.Seek([]byte(from)); key != nil && string(key) < to && (limit == 0 || len(out) < limit); key, value = c.Next() {
			out = append(out, store.Pair{Key: string(key), Value: append([]byte{}, value...)})
		}
		return nil
	})
	return out, err
}

func (f *file) Watch(ctx context.Context) (<-chan struct{}, error) {
	w := make(chan struct{}, 1)
	f.mu.Lock()
	f.watchers = append(f.watchers, w)
	f.mu.Unlock()
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watchers = slices.DeleteFunc(f.watchers, func(other chan struct{}) bool { return other == w })
		close(w)
	})
	return w, nil
}

func (f *file) Hold(ctx context.Context, key string, value []byte, _ time.Duration) (store.Held, error) {
	done, err := f.do(ctx, store.Batch{If: []store.Pair{{Key: key}}, Put: []store.Pair{{Key: key, Value: value}}}, []byte(key))
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, store.ErrHeld
	}
	h := &held{of: f, key: key, lost: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = append(f.held, h)
	return h, nil
}

func (f *file) Close() error {
	f.mu.Lock()
	all := slices.Clone(f.held)
	f.mu.Unlock()
	for _, h := range all {
		h.once.Do(func() { close(h.lost) }) // whoever opens the file next removes the key
	}
	return f.db.Close()
}

// A held key.
type held struct {
	of   *file
	key  string
	lost chan struct{}
	once sync.Once
}

func (h *held) Lost() <-chan struct{} { return h.lost }

func (h *held) Release(ctx context.Context) (err error) {
	h.once.Do(func() {
		defer close(h.lost)
		_, err = h.of.Do(ctx, store.Batch{Delete: []store.Span{{From: h.key, To: h.key + "\x00"}}})
		h.of.mu.Lock()
		defer h.of.mu.Unlock()
		h.of.held = slices.DeleteFunc(h.of.held, func(other *held) bool { return other == h })
	})
	return err
}
