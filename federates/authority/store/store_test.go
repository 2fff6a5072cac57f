package store_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/authority/store"
	"metasim/federates/authority/store/storetest"
	"metasim/federates/authority/tree"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.KV {
		return store.NewMemory().Open
	})
}

// A member of another instance, or of another kind, is refused and says of what the store is; so is one with other limits.
func TestWhoMayJoin(t *testing.T) {
	m := store.NewMemory()
	ctx := context.Background()
	open := func(c store.Config) (*store.Store, error) { return store.Open(ctx, m.Open(), c) }
	first, err := open(store.Config{Instance: "x", Kind: "homeserver", Name: "a", Limits: tree.Limits{Payload: 100}})
	require.NoError(t, err)
	defer first.Close()
	_, err = open(store.Config{Instance: "x", Kind: "simserver", Name: "b"})
	require.ErrorIs(t, err, store.ErrOtherKind)
	require.ErrorContains(t, err, `of "homeserver", and this member is a "simserver"`)
	_, err = open(store.Config{Instance: "y", Kind: "homeserver", Name: "b"})
	require.ErrorIs(t, err, store.ErrOtherInstance)
	_, err = open(store.Config{Instance: "x", Kind: "homeserver", Name: "b", Limits: tree.Limits{Payload: 200}})
	require.ErrorIs(t, err, store.ErrLimits)
	second, err := open(store.Config{Instance: "x", Kind: "homeserver", Name: "b"})
	require.NoError(t, err)
	defer second.Close()
	_, err = second.Do(ctx, tree.Put("/large", make([]byte, 101)))
	require.ErrorIs(t, err, tree.ErrPayload, "with the limits of the store")
	names, err := first.Members(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, names)
	for _, c := range []store.Config{{}, {Instance: "x"}, {Instance: "x", Kind: "a/b", Name: "c"}, {Instance: "x", Kind: "k", Name: "n", Timeout: -time.Second}} {
		_, err := open(c)
		require.Error(t, err)
	}
}

// A procedure that takes long keeps its member from nothing: it sees what others write, and can be closed.
func TestSlowProcedure(t *testing.T) {
	m := store.NewMemory()
	ctx := t.Context()
	began := make(chan struct{})
	slow := func(ctx context.Context, _ tree.Firing) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}
	cfg := store.Config{Instance: "x", Kind: "homeserver", Name: "a", Procedures: map[string]store.ProcedureFunc{"slow": slow}}
	a, err := store.Open(ctx, m.Open(), cfg)
	require.NoError(t, err)
	_, err = a.Do(ctx, tree.PutProcedure("/p", "slow"))
	require.NoError(t, err)
	_, err = a.Do(ctx, tree.Register(tree.Trigger{ID: "t", Filter: tree.Path("/n").Pattern(), Procedure: "/p"}))
	require.NoError(t, err)
	_, err = a.Do(ctx, tree.Put("/n", nil))
	require.NoError(t, err)
	<-began
	cfg.Name = "b"
	b, err := store.Open(ctx, m.Open(), cfg)
	require.NoError(t, err)
	defer b.Close()
	_, err = b.Do(ctx, tree.Put("/m", nil))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := a.Get(ctx, store.LowLatency, "/m")
		return err == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, a.Close())
}

// A store that loses answers, or does a batch and says that it did not, has each write once: the writer finds its own entry in the log.
type forgetful struct {
	store.KV
	calls int
}

func (f *forgetful) Do(ctx context.Context, b store.Batch) (bool, error) {
	f.calls++
	if f.calls%3 == 0 {
		return false, fmt.Errorf("%w: planted", store.ErrUnavailable)
	}
	done, err := f.KV.Do(ctx, b)
	if f.calls%3 == 1 {
		return false, errors.Join(err, fmt.Errorf("%w: planted, though it was done", store.ErrUnavailable))
	}
	return done, err
}

func TestLostAnswers(t *testing.T) {
	m := store.NewMemory()
	ctx := t.Context()
	cfg := store.Config{Instance: "x", Kind: "homeserver", Name: "a"}
	first, err := store.Open(ctx, m.Open(), cfg)
	require.NoError(t, err)
	defer first.Close()
	s, err := store.Open(ctx, &forgetful{KV: m.Open()}, cfg)
	require.NoError(t, err)
	defer s.Close()
	for i := range 20 {
		_, err := s.Do(ctx, tree.Create(tree.At("n", strconv.Itoa(i)), nil))
		require.NoError(t, err, "it is not told that what it has made exists")
	}
	n, err := first.Get(ctx, store.Consistency, "/n")
	require.NoError(t, err)
	require.Equal(t, 20, n.ChildListLength)
}

// An overtaken store lets other members write, and take a snapshot, before its writer can read its own entry. If it is silent too, the writer does not
// know whether its entry was written.
type overtaken struct {
	store.KV
	others func()
	silent bool
}

func (o *overtaken) Do(ctx context.Context, b store.Batch) (bool, error) {
	done, err := o.KV.Do(ctx, b)
	if done && o.others != nil {
		others := o.others
		o.others = nil
		others()
		if o.silent {
			return false, fmt.Errorf("%w: planted", store.ErrUnavailable)
		}
	}
	return done, err
}

// A write that is in a snapshot before its writer has seen it is not done again.
func TestOvertaken(t *testing.T) {
	for _, silent := range []bool{false, true} {
		m := store.NewMemory()
		ctx := t.Context()
		other, err := store.Open(ctx, m.Open(), store.Config{Instance: "x", Kind: "homeserver", Name: "b", Every: 2})
		require.NoError(t, err)
		defer other.Close()
		kv := &overtaken{KV: m.Open(), silent: silent}
		s, err := store.Open(ctx, kv, store.Config{Instance: "x", Kind: "homeserver", Name: "a"})
		require.NoError(t, err)
		defer s.Close()
		kv.others = func() {
			for range 4 {
				_, err := other.Do(ctx, tree.Put("/other", nil))
				require.NoError(t, err)
			}
		}
		r, err := s.Do(ctx, tree.Create("/mine", []byte("1")))
		if silent {
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.ErrorContains(t, err, "which may have been done")
		} else {
			require.NoError(t, err)
			require.Len(t, r.Nodes, 1)
		}
		n, err := other.Get(ctx, store.Consistency, "/mine")
		require.NoError(t, err)
		require.EqualValues(t, 1, n.PayloadVersion)
	}
}

// Members that write at once lose nothing, and come to the same tree.
func TestWritersAtOnce(t *testing.T) {
	m := store.NewMemory()
	ctx := t.Context()
	var all []*store.Store
	for _, name := range []string{"a", "b", "c"} {
		s, err := store.Open(ctx, m.Open(), store.Config{Instance: "x", Kind: "homeserver", Name: name, Every: 20})
		require.NoError(t, err)
		defer s.Close()
		all = append(all, s)
	}
	var writers sync.WaitGroup
	for _, s := range all {
		writers.Go(func() {
			for range 50 {
				_, err := s.Transact(ctx, func(x *tree.Tx) error {
					n, err := strconv.Atoi(string(x.Data("/count", []byte("0"))))
					if err != nil {
						return err
					}
					_, err = x.Do(tree.Put("/count", strconv.AppendInt(nil, int64(n+1), 10)))
					return err
				})
				assert.NoError(t, err)
			}
		})
	}
	writers.Wait()
	for _, s := range all {
		n, err := s.Get(ctx, store.Consistency, "/count")
		require.NoError(t, err)
		require.Equal(t, "150", string(n.Payload.Bytes))
		require.Equal(t, uint64(150), n.PayloadVersion)
	}
}
