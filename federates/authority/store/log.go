package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"metasim/federates/authority/tree"
)

// The keys of a store.
const (
	keyMeta     = "meta"     // who the store is of
	keyHead     = "head"     // how many commands were appended
	keySnapshot = "snapshot" // the newest snapshot
	keyLeader   = "leader"   // held by the member that does the chores
	logs        = "log/"     // the commands, by index
	firings     = "fire/"    // what is to be run because of a command, by its index
	chunks      = "chunk/"   // the parts of snapshots, by index and part
	members     = "member/"  // held by members
	sessions    = "session/" // held by those who opened sessions
)

// maxBatch bounds a value: etcd takes 1.5 MiB in one request.
const maxBatch = 1 << 20

// chunkSize is of the parts of a snapshot, in bytes.
const chunkSize = 512 << 10

// indexed is a key whose order is that of an index.
func indexed(prefix string, index uint64) string { return fmt.Sprintf("%s%016x", prefix, index) }

// below is the span of all keys with a prefix that ends with "/".
func below(prefix string) Span { return Span{prefix, prefix[:len(prefix)-1] + "0"} }

// meta says who a store is of.
type meta struct {
	Format   string      `json:"format"`
	Instance string      `json:"instance"`
	Kind     string      `json:"kind"`
	Limits   tree.Limits `json:"limits"`
}

const format = "metasim store 1"

// An entry is a command in the log.
type entry struct {
	ID      string       `json:"id"` // who wrote it, and a number: a writer that had no answer finds its own again
	Command tree.Command `json:"command"`
}

// A pointer is the newest snapshot.
type pointer struct {
	Index  uint64 `json:"index"`
	Chunks int    `json:"chunks"`
	Hash   string `json:"sha256"`
}

// A follower is a tree that follows the log of a store. One goroutine at a time uses it, but for the tree, which s.mu guards.
type follower struct {
	kv        KV
	limits    tree.Limits
	functions map[string]tree.Function
	tree      *tree.Tree
	snapshot  pointer // the newest that this member knows
	old       []byte  // as it is written; nil: there is none
	loads     int     // of snapshots: entries that these have were not seen
	lock      func(func())
}

// enter checks that a store is of this instance and kind, or makes it so if it is empty.
func enter(ctx context.Context, kv KV, c Config) (tree.Limits, error) {
	limits, err := c.Limits.Resolve()
	if err != nil {
		return limits, err
	}
	mine, err := json.Marshal(meta{format, c.Instance, c.Kind, limits})
	if err != nil {
		return limits, err
	}
	for {
		pairs, err := kv.Range(ctx, keyMeta, keyMeta+"\x00", 1)
		if err != nil {
			return limits, err
		}
		if len(pairs) == 0 {
			if _, err := kv.Do(ctx, Batch{If: []Pair{{Key: keyMeta}}, Put: []Pair{{keyMeta, mine}, {keyHead, []byte("0")}}}); err != nil {
				return limits, err
			}
			continue
		}
		var there meta
		switch err := json.Unmarshal(pairs[0].Value, &there); {
		case err != nil || there.Format != format:
			return limits, fmt.Errorf("%w: its format is %q, and this program reads %q; use another prefix or file", ErrFormat, there.Format, format)
		case there.Instance != c.Instance:
			return limits, fmt.Errorf("%w: of %q, and this member is of %q; use another prefix or file", ErrOtherInstance, there.Instance, c.Instance)
		case there.Kind != c.Kind:
			return limits, fmt.Errorf("%w: of %q, and this member is a %q; use another prefix or file", ErrOtherKind, there.Kind, c.Kind)
		case c.Limits != (tree.Limits{}) && there.Limits != limits:
			return limits, fmt.Errorf("%w: %+v, and this member wants %+v; all members have the same limits", ErrLimits, there.Limits, limits)
		}
		return there.Limits, nil
	}
}

// head returns how many commands the store has.
func (f *follower) head(ctx context.Context) (uint64, error) {
	pairs, err := f.kv.Range(ctx, keyHead, keyHead+"\x00", 1)
	if err != nil {
		return 0, err
	}
	if len(pairs) == 0 {
		return 0, fmt.Errorf("%w: it has no %s any more; somebody has removed it", ErrFormat, keyHead)
	}
	n, err := strconv.ParseUint(string(pairs[0].Value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: its %s is %q", ErrFormat, keyHead, pairs[0].Value)
	}
	return n, nil
}

// catchUp applies what was appended. Of the entry with an id it returns what it did; nil if that is not among them.
func (f *follower) catchUp(ctx context.Context, id string) (mine *tree.Result, err error) {
	for {
		head, err := f.head(ctx)
		if err != nil {
			return mine, err
		}
		at := f.tree.Index()
		if head == at {
			return mine, nil
		}
		if head < at {
			return mine, fmt.Errorf("%w: it has %d commands, and this member has applied %d; the store was put back to an older state: start again", ErrDiverged, head, at)
		}
		pairs, err := f.kv.Range(ctx, indexed(logs, at+1), indexed(logs, head+1), 256)
		if err != nil {
			return mine, err
		}
		if len(pairs) == 0 || pairs[0].Key != indexed(logs, at+1) {
			if err := f.load(ctx); err != nil {
				return mine, err
			}
			continue
		}
		for i, p := range pairs {
			if p.Key != indexed(logs, at+1+uint64(i)) {
				break // the rest was removed while it was read
			}
			var e entry
			if err := json.Unmarshal(p.Value, &e); err != nil {
				return mine, fmt.Errorf("%w: %s: %w", ErrDiverged, p.Key, err)
			}
			var r tree.Result
			f.lock(func() { r, err = f.tree.Apply(e.Command) })
			if err != nil {
				return mine, fmt.Errorf("%w: %s: %w", ErrDiverged, p.Key, err)
			}
			if e.ID == id {
				mine = &r
			}
		}
	}
}

// newest reads which snapshot is the newest.
func (f *follower) newest(ctx context.Context) error {
	pairs, err := f.kv.Range(ctx, keySnapshot, keySnapshot+"\x00", 1)
	if err != nil || len(pairs) == 0 {
		return err
	}
	f.old = pairs[0].Value
	if err := json.Unmarshal(f.old, &f.snapshot); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrFormat, keySnapshot, err)
	}
	return nil
}

// load replaces the tree with the newest snapshot. That it is removed while it is read is no error: the caller tries again.
func (f *follower) load(ctx context.Context) error {
	if err := f.newest(ctx); err != nil {
		return err
	}
	prefix := indexed(chunks, f.snapshot.Index) + "/"
	span := below(prefix)
	pairs, err := f.kv.Range(ctx, span.From, span.To, 0)
	if err != nil {
		return err
	}
	var text []byte
	for _, p := range pairs {
		text = append(text, p.Value...)
	}
	sum := sha256.Sum256(text)
	if hex.EncodeToString(sum[:]) != f.snapshot.Hash {
		read := f.snapshot.Index
		if err := f.newest(ctx); err != nil {
			return err
		}
		if f.snapshot.Index == read {
			return fmt.Errorf("%w: snapshot %d has %d parts of %d, or other bytes than were written", ErrFormat, f.snapshot.Index, len(pairs), f.snapshot.Chunks)
		}
		return nil
	}
	t, err := tree.Restore(text, f.limits, f.functions)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	f.lock(func() { f.tree = t })
	f.loads++
	return nil
}

// save writes a snapshot of the tree, and removes the log before it.
func (f *follower) save(ctx context.Context) error {
	var text []byte
	var index uint64
	var err error
	f.lock(func() { text, err = f.tree.Snapshot(); index = f.tree.Index() })
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	next := pointer{Index: index, Hash: hex.EncodeToString(sum[:])}
	for rest := text; len(rest) > 0; next.Chunks++ {
		part := rest[:min(len(rest), chunkSize)]
		rest = rest[len(part):]
		key := fmt.Sprintf("%s/%08x", indexed(chunks, index), next.Chunks)
		if _, err := f.kv.Do(ctx, Batch{Put: []Pair{{key, part}}}); err != nil {
			return err
		}
	}
	value, err := json.Marshal(next)
	if err != nil {
		return err
	}
	done, err := f.kv.Do(ctx, Batch{
		If:     []Pair{{keySnapshot, f.old}},
		Delete: []Span{{logs, indexed(logs, index+1)}, {chunks, indexed(chunks, index)}},
		Put:    []Pair{{keySnapshot, value}},
	})
	if err != nil || !done {
		return errors.Join(err, f.newest(ctx)) // another member was faster
	}
	f.snapshot, f.old = next, value
	return nil
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
