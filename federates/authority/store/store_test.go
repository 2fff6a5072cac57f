package store_test

import (
	"context"
	"testing"
	"time"

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
