package etcd_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"metasim/federates/authority/store"
	"metasim/federates/authority/tree"
)

// What clients do with a register, which is a node: an operation, and what they saw.
type input struct {
	kind     string // "read", "put", "swap"
	register tree.Path
	old, new string
}

type output struct {
	value   string // of a read
	swapped bool
	unknown bool // it was not said whether it was done
}

// register is what the node of one path must look like: any order of operations in which each takes effect between its call and its return.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		by := map[tree.Path][]porcupine.Operation{}
		for _, o := range history {
			by[o.Input.(input).register] = append(by[o.Input.(input).register], o)
		}
		for _, p := range by {
			parts = append(parts, p)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		i, o := in.(input), out.(output)
		switch i.kind {
		case "read":
			return o.value == state.(string), state
		case "put":
			return true, i.new
		}
		swaps := state.(string) == i.old
		if swaps {
			state = i.new
		}
		return o.unknown || o.swapped == swaps, state
	},
}

// A load is clients that read and write, each over a member of its own.
type load struct {
	began   time.Time
	round   atomic.Int64
	done    atomic.Int64 // operations with an answer
	mu      sync.Mutex
	history []porcupine.Operation
	created []tree.Path // what was acknowledged
}

// reader is the client that only reads: its member knows what others write from the log alone.
const reader = 2

// client works until the context ends.
func (l *load) client(ctx context.Context, s *store.Store, id int) {
	draw := rand.New(rand.NewPCG(1, uint64(id)))
	var last input
	for n := 0; ctx.Err() == nil; n++ {
		i := input{kind: []string{"read", "put", "swap", "swap"}[draw.IntN(4)], register: tree.At("r", fmt.Sprint(l.round.Load())), new: fmt.Sprintf(`"%d.%d"`, id, n)}
		if last.register == i.register {
			i.old = last.new
		}
		if i.kind == "swap" && i.old == "" || id == reader {
			i.kind = "read"
		}
		called := time.Since(l.began)
		o, known := perform(s, i)
		returned := int64(time.Since(l.began))
		if o.unknown {
			returned = math.MaxInt64
		}
		mine := tree.At("created", fmt.Sprintf("%d.%d", id, n))
		err := errors.New("a reader creates nothing")
		if id != reader {
			_, err = s.Do(context.Background(), tree.Create(mine, nil))
		}
		l.mu.Lock()
		if known || o.unknown {
			l.history = append(l.history, porcupine.Operation{ClientId: id, Input: i, Call: int64(called), Output: o, Return: returned})
		}
		if err == nil {
			l.created = append(l.created, mine)
		}
		l.mu.Unlock()
		if known {
			l.done.Add(1)
		}
		last = i
		if i.kind == "read" {
			last.new = o.value
		}
	}
}

// perform does an operation. It is not known if there was no answer; a write may have been done all the same.
func perform(s *store.Store, i input) (o output, known bool) {
	ctx := context.Background()
	switch i.kind {
	case "read":
		n, err := s.Get(ctx, store.Consistency, i.register)
		o.value = string(n.Payload.Bytes)
		return o, err == nil || errors.Is(err, tree.ErrNotFound)
	case "put":
		_, err := s.Do(ctx, tree.Put(i.register, []byte(i.new)))
		o.unknown = err != nil
		return o, err == nil
	}
	_, err := s.Do(ctx, tree.Swap(i.register, tree.DataMatches(i.old), []byte(i.new)))
	refused := errors.Is(err, tree.ErrMismatch) || errors.Is(err, tree.ErrNotFound)
	o.swapped, o.unknown = err == nil, err != nil && !refused
	return o, err == nil || refused
}

// The leader of three members is killed again and again while three clients read and write, each over a member of its own: what was acknowledged is there, and
// what all of them saw is linearizable.
func TestLeaderKilled(t *testing.T) {
	c := start(t, 3)
	l := &load{began: time.Now()}
	var members []*store.Store
	for i := range 3 {
		members = append(members, c.member(t, "/x/", config(fmt.Sprint(i))))
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i, s := range members {
		clients.Go(func() { l.client(ctx, s, i) })
	}
	more := func(n int64) { // so many operations have had an answer
		want := l.done.Load() + n
		for deadline := time.Now().Add(time.Minute); l.done.Load() < want; <-time.After(5 * time.Millisecond) {
			require.True(t, time.Now().Before(deadline), "clients go on")
		}
	}
	for round := range *kills {
		l.round.Store(int64(round))
		more(10)
		leader := c.leader()
		c.kill(leader)
		more(10)
		c.run(leader)
		c.leader()
	}
	stop()
	clients.Wait()
	for round := range *kills {
		i := input{kind: "read", register: tree.At("r", fmt.Sprint(round))}
		called := int64(time.Since(l.began))
		o, known := perform(members[0], i)
		for again := time.Now(); !known && time.Since(again) < time.Minute; { // a busy machine answers later than in Timeout; a read that had no answer has seen nothing
			called = int64(time.Since(l.began))
			o, known = perform(members[0], i)
		}
		require.True(t, known, "%v has no answer", i.register)
		l.history = append(l.history, porcupine.Operation{ClientId: 0, Input: i, Call: called, Output: o, Return: int64(time.Since(l.began))})
	}
	created, err := members[1].Select(t.Context(), store.Consistency, tree.Pattern{tree.Is("created"), tree.NameMatches("")})
	require.NoError(t, err)
	for _, path := range l.created {
		_, there := slices.BinarySearchFunc(created, path, func(n tree.Node, p tree.Path) int { return cmp.Compare(n.Path, p) })
		require.True(t, there, "%s was acknowledged", path)
	}
	unknown := 0
	for _, o := range l.history {
		if o.Output.(output).unknown {
			unknown++
		}
	}
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(register, l.history, time.Minute))
	t.Logf("%d kills, %d operations, %d without an answer, %d nodes that were acknowledged, %v", *kills, len(l.history), unknown, len(l.created), time.Since(l.began).Round(time.Second))
}
