package storetest

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

// A Load is clients that read and write, and what they have seen.
type Load struct {
	Round atomic.Int64 // they use a register of its own in each
	Done  atomic.Int64 // operations with an answer

	began   time.Time
	mu      sync.Mutex
	history []porcupine.Operation
	created []tree.Path // what was acknowledged
}

// NewLoad returns one without clients.
func NewLoad() *Load { return &Load{began: time.Now()} }

// A Client does one thing after the other.
type Client struct {
	load  *Load
	id, n int
	reads bool
	draw  *rand.Rand
	last  input
}

// Client returns a client; its id is its own. reads: it only reads, so its member knows what others write from the log alone.
func (l *Load) Client(seed uint64, id int, reads bool) *Client {
	return &Client{load: l, id: id, reads: reads, draw: rand.New(rand.NewPCG(seed, uint64(id)))}
}

// Act has a client do an operation over a member, and make a node unless it only reads.
func (c *Client) Act(s *store.Store) {
	l := c.load
	i := input{kind: []string{"read", "put", "swap", "swap"}[c.draw.IntN(4)], register: registerOf(l.Round.Load()), new: fmt.Sprintf(`"%d.%d"`, c.id, c.n)}
	if c.last.register == i.register {
		i.old = c.last.new
	}
	if i.kind == "swap" && i.old == "" || c.reads {
		i.kind = "read"
	}
	called := time.Since(l.began)
	o, known := perform(s, i)
	returned := int64(time.Since(l.began))
	if o.unknown {
		returned = math.MaxInt64
	}
	mine := tree.At("created", fmt.Sprintf("%d.%d", c.id, c.n))
	err := errors.New("a reader creates nothing")
	if !c.reads {
		_, err = s.Do(context.Background(), tree.Create(mine, nil))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known || o.unknown {
		l.history = append(l.history, porcupine.Operation{ClientId: c.id, Input: i, Call: int64(called), Output: o, Return: returned})
	}
	if err == nil {
		l.created = append(l.created, mine)
	}
	if known {
		l.Done.Add(1)
	}
	c.n++
	c.last = i
	if i.kind == "read" {
		c.last.new = o.value
	}
}

func registerOf(round int64) tree.Path { return tree.At("r", fmt.Sprint(round)) }

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

// Seen is how much the clients of a Load have seen.
type Seen struct{ Operations, Unknown, Created int }

// Add adds what others have seen.
func (s *Seen) Add(o Seen) {
	s.Operations, s.Unknown, s.Created = s.Operations+o.Operations, s.Unknown+o.Unknown, s.Created+o.Created
}

// Check reads all registers when the clients have ended. What was acknowledged is there, and what all of them saw is linearizable.
func (l *Load) Check(t testing.TB, s *store.Store) (seen Seen) {
	t.Helper()
	for round := range l.Round.Load() + 1 {
		i := input{kind: "read", register: registerOf(round)}
		called := int64(time.Since(l.began))
		o, known := perform(s, i)
		for again := time.Now(); !known && time.Since(again) < time.Minute; { // a busy machine answers later than in Timeout; a read that had no answer has seen nothing
			called = int64(time.Since(l.began))
			o, known = perform(s, i)
		}
		require.True(t, known, "%v has no answer", i.register)
		l.history = append(l.history, porcupine.Operation{ClientId: 0, Input: i, Call: called, Output: o, Return: int64(time.Since(l.began))})
	}
	created, err := s.Select(t.Context(), store.Consistency, tree.Pattern{tree.Is("created"), tree.NameMatches("")})
	require.NoError(t, err)
	for _, path := range l.created {
		_, there := slices.BinarySearchFunc(created, path, func(n tree.Node, p tree.Path) int { return cmp.Compare(n.Path, p) })
		require.True(t, there, "%s was acknowledged", path)
	}
	for _, o := range l.history {
		if o.Output.(output).unknown {
			seen.Unknown++
		}
	}
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(register, l.history, time.Minute))
	seen.Operations, seen.Created = len(l.history), len(l.created)
	return seen
}
