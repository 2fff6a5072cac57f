// Package storetest tries a key-value store for package store, and members over it: one suite for all of them.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/store"
	"metasim/federates/authority/tree"
)

// Run tries a store: open makes an empty one, and returns what opens a member of it; nil members mean that only one may be open at a time.
func Run(t *testing.T, empty func(t *testing.T) (open func() store.KV)) {
	for _, c := range []struct {
		name string
		try  func(t *testing.T, open func() store.KV)
	}{
		{"a batch is done if all its conditions hold", batches},
		{"ranges are by key", ranges},
		{"a watch sees changes", watches},
		{"what is held vanishes with its holder", holds},
		{"a tree is there after all members have gone", stays},
		{"a long log becomes a snapshot", snapshots},
		{"procedures run in order, and once more after a crash", procedures},
		{"what a session keeps goes with it", sessionsEnd},
	} {
		t.Run(c.name, func(t *testing.T) { c.try(t, empty(t)) })
	}
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func batches(t *testing.T, open func() store.KV) {
	ctx, kv := bounded(t), open()
	defer kv.Close()
	do := func(want bool, b store.Batch) {
		t.Helper()
		done, err := kv.Do(ctx, b)
		require.NoError(t, err)
		require.Equal(t, want, done)
	}
	do(true, store.Batch{If: []store.Pair{{Key: "a"}}, Put: []store.Pair{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte{}}}})
	do(false, store.Batch{If: []store.Pair{{Key: "a"}}, Put: []store.Pair{{Key: "a", Value: []byte("2")}}})
	do(false, store.Batch{If: []store.Pair{{Key: "a", Value: []byte("1")}, {Key: "b"}}, Delete: []store.Span{{From: "a", To: "z"}}})
	do(false, store.Batch{If: []store.Pair{{Key: "c", Value: []byte{}}}, Delete: []store.Span{{From: "a", To: "z"}}})
	do(true, store.Batch{If: []store.Pair{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte{}}}, Delete: []store.Span{{From: "a", To: "b"}},
		Put: []store.Pair{{Key: "c", Value: []byte("3")}}})
	pairs, err := kv.Range(ctx, "a", "z", 0)
	require.NoError(t, err)
	require.Equal(t, "b= c=3", text(pairs))
}

func text(pairs []store.Pair) string {
	var all []string
	for _, p := range pairs {
		all = append(all, p.Key+"="+string(p.Value))
	}
	return strings.Join(all, " ")
}

func ranges(t *testing.T, open func() store.KV) {
	ctx, kv := bounded(t), open()
	defer kv.Close()
	var b store.Batch
	for i := range 20 {
		b.Put = append(b.Put, store.Pair{Key: fmt.Sprintf("k/%02d", (i*7)%20), Value: fmt.Append(nil, (i*7)%20)})
	}
	_, err := kv.Do(ctx, b)
	require.NoError(t, err)
	pairs, err := kv.Range(ctx, "k/05", "k/17", 3)
	require.NoError(t, err)
	require.Equal(t, "k/05=5 k/06=6 k/07=7", text(pairs))
	pairs, err = kv.Range(ctx, "k/18", "k0", 0)
	require.NoError(t, err)
	require.Equal(t, "k/18=18 k/19=19", text(pairs))
	pairs, err = kv.Range(ctx, "k/9", "k0", 0)
	require.NoError(t, err)
	require.Empty(t, pairs)
}

func watches(t *testing.T, open func() store.KV) {
	ctx, kv := bounded(t), open()
	defer kv.Close()
	ctx, cancel := context.WithCancel(ctx)
	changes, err := kv.Watch(ctx)
	require.NoError(t, err)
	_, err = kv.Do(ctx, store.Batch{Put: []store.Pair{{Key: "a", Value: []byte("1")}}})
	require.NoError(t, err)
	<-changes
	cancel()
	for range changes { // until it is closed
	}
}

func holds(t *testing.T, open func() store.KV) {
	ctx, kv := bounded(t), open()
	held, err := kv.Hold(ctx, "a", []byte("1"), time.Second)
	require.NoError(t, err)
	_, err = kv.Hold(ctx, "a", []byte("2"), time.Second)
	require.ErrorIs(t, err, store.ErrHeld)
	require.NoError(t, held.Release(ctx))
	<-held.Lost()
	again, err := kv.Hold(ctx, "a", []byte("3"), time.Second)
	require.NoError(t, err)
	require.NoError(t, kv.Close())
	<-again.Lost()
	kv = open()
	defer kv.Close()
	pairs, err := kv.Range(ctx, "a", "b", 0)
	require.NoError(t, err)
	require.Empty(t, pairs)
}

// member opens a member with short times.
func member(t *testing.T, open func() store.KV, c store.Config) *store.Store {
	t.Helper()
	c.Instance, c.Kind, c.Lease = "x", "homeserver", time.Second
	if c.Name == "" {
		c.Name = "m"
	}
	s, err := store.Open(bounded(t), open(), c)
	require.NoError(t, err)
	return s
}

func stays(t *testing.T, open func() store.KV) {
	ctx := bounded(t)
	s := member(t, open, store.Config{})
	for i := range 10 {
		_, err := s.Do(ctx, tree.Put(tree.At("n", fmt.Sprint(i)), []byte("x")))
		require.NoError(t, err)
	}
	_, err := s.Do(ctx, tree.Create("/n/3", nil))
	require.ErrorIs(t, err, tree.ErrExists)
	var seen int
	r, err := s.Transact(ctx, func(x *tree.Tx) error {
		names, err := x.Children("/n")
		seen = len(names)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, []int{10, 10}, []int{seen, int(r.Index)}, "a transaction that only reads writes nothing")
	require.NoError(t, s.Close())
	_, err = s.Do(ctx, tree.Put("/late", nil))
	require.ErrorIs(t, err, store.ErrClosed)
	s = member(t, open, store.Config{})
	defer s.Close()
	var out, in strings.Builder
	all, err := tree.ParsePattern("/n/*")
	require.NoError(t, err)
	require.NoError(t, s.Export(ctx, store.LowLatency, &out, all))
	require.Equal(t, 10, strings.Count(out.String(), "\n"))
	_, err = s.Do(ctx, tree.Delete("/n"))
	require.NoError(t, err)
	done, err := s.Import(ctx, strings.NewReader(out.String()))
	require.NoError(t, err)
	require.Equal(t, 10, done)
	require.NoError(t, s.Export(ctx, store.Consistency, &in, all))
	require.Equal(t, out.String(), in.String())
}

func snapshots(t *testing.T, open func() store.KV) {
	ctx := bounded(t)
	s := member(t, open, store.Config{Every: 5})
	for i := range 23 {
		_, err := s.Do(ctx, tree.Put("/n", fmt.Append(nil, i)))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	s = member(t, open, store.Config{Every: 5})
	n, err := s.Get(ctx, store.Consistency, "/n")
	require.NoError(t, err)
	require.Equal(t, []string{"22", "23"}, []string{string(n.Payload.Bytes), fmt.Sprint(n.PayloadVersion)})
	require.NoError(t, s.Close())
	kv := open()
	defer kv.Close()
	pairs, err := kv.Range(ctx, "log/", "log0", 0)
	require.NoError(t, err)
	require.Less(t, len(pairs), 6, "the log before a snapshot is removed")
}

// notes remembers what ran.
type notes struct {
	mu   sync.Mutex
	list []string
	ran  chan struct{}
}

func (n *notes) procedure(_ context.Context, f tree.Firing) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, f.Trigger)
	if f.Trigger == "panics" {
		panic("planted")
	}
	if f.Trigger == "last" {
		n.ran <- struct{}{}
	}
	return errors.New("planted: others run all the same")
}

func procedures(t *testing.T, open func() store.KV) {
	ctx := bounded(t)
	n := &notes{ran: make(chan struct{}, 10)}
	s := member(t, open, store.Config{Procedures: map[string]store.ProcedureFunc{"note": n.procedure}})
	_, err := s.Do(ctx, tree.PutProcedure("/p", "note"))
	require.NoError(t, err)
	for i, id := range []string{"last", "b", "a", "panics"} {
		_, err := s.Do(ctx, tree.Register(tree.Trigger{ID: id, Filter: tree.Path("/w").Pattern(), Priority: []int64{-1, 0, 0, 10}[i], Procedure: "/p"}))
		require.NoError(t, err)
	}
	_, err = s.Do(ctx, tree.Put("/w", []byte("1")))
	require.NoError(t, err)
	<-n.ran
	n.mu.Lock()
	require.Equal(t, []string{"panics", "a", "b", "last"}, n.list)
	n.mu.Unlock()
	require.NoError(t, s.Close())

	// A member that wrote and died before it ran them: the next one runs them.
	kv := open()
	_, err = kv.Do(ctx, store.Batch{Put: []store.Pair{{Key: "fire/00000000000000ff", Value: []byte(`[{"trigger":"last","procedure":"note","event":{"action":"create","path":"/w"}}]`)}}})
	require.NoError(t, err)
	require.NoError(t, kv.Close())
	s = member(t, open, store.Config{Procedures: map[string]store.ProcedureFunc{"note": n.procedure}})
	<-n.ran
	require.NoError(t, s.Close())
}

func sessionsEnd(t *testing.T, open func() store.KV) {
	ctx := bounded(t)
	s := member(t, open, store.Config{})
	mine := tree.Put("/mine", nil).Kept(tree.Keep{Session: "sim"})
	_, err := s.Do(ctx, mine)
	require.ErrorIs(t, err, tree.ErrSession)
	end, err := s.Session(ctx, "sim")
	require.NoError(t, err)
	_, err = s.Session(ctx, "sim")
	require.ErrorIs(t, err, store.ErrHeld)
	_, err = s.Do(ctx, mine)
	require.NoError(t, err)
	require.NoError(t, end(ctx))
	_, err = s.Get(ctx, store.Consistency, "/mine")
	require.ErrorIs(t, err, tree.ErrNotFound)
	_, err = s.Session(ctx, "sim")
	require.NoError(t, err)
	_, err = s.Do(ctx, mine)
	require.NoError(t, err)
	require.NoError(t, s.Close(), "without an end")

	s = member(t, open, store.Config{})
	defer s.Close()
	require.Eventually(t, func() bool {
		_, err := s.Get(ctx, store.Consistency, "/mine")
		return errors.Is(err, tree.ErrNotFound)
	}, time.Minute, 5*time.Millisecond)
}
