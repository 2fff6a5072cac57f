package store

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"metasim/federates/authority/tree"
)

// A Store is a member: the tree in memory, which follows a key-value store. Its methods may be called by several goroutines.
type Store struct {
	cfg    Config
	kv     KV
	nonce  string
	step   chan struct{} // who has taken from it uses follow, but for its tree
	follow follower
	mu     sync.Mutex // guards follow.tree
	number uint64     // of entries; guarded by step
	name   Held
	cancel context.CancelFunc
	done   chan struct{}
	leader Held // of a member that is stepped
}

// Open makes a member of a store. Close ends it; it closes kv too. Errors: ErrOtherInstance, ErrOtherKind, ErrLimits, ErrFormat, ErrUnavailable.
func Open(ctx context.Context, kv KV, c Config) (*Store, error) {
	c, err := c.Validate()
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: c, kv: kv, nonce: c.Name + "/" + c.Draw(), step: make(chan struct{}, 1), done: make(chan struct{})}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	limits, err := enter(ctx, kv, c)
	if err != nil {
		return nil, s.failed("open", err)
	}
	first, err := tree.New(limits, c.Functions)
	if err != nil {
		return nil, err
	}
	s.follow = follower{kv: kv, limits: limits, functions: c.Functions, tree: first, lock: s.locked}
	if err := s.follow.newest(ctx); err != nil {
		return nil, s.failed("open", err)
	}
	if _, err := s.follow.catchUp(ctx, ""); err != nil {
		return nil, s.failed("open", err)
	}
	if s.name, err = kv.Hold(ctx, members+s.nonce, []byte(c.Name), c.Lease); err != nil {
		return nil, s.failed("open", err)
	}
	background, stop := context.WithCancel(context.Background())
	s.cancel = stop
	changes, err := kv.Watch(background)
	if err != nil {
		stop()
		return nil, s.failed("open", err)
	}
	s.step <- struct{}{}
	if !c.Stepped {
		go s.chores(background, changes)
	}
	return s, nil
}

// Do does a command. Errors: those of package tree, and then nothing has changed; ErrUnavailable, and then it may have been done.
func (s *Store) Do(ctx context.Context, c tree.Command) (tree.Result, error) {
	return s.write(ctx, nil, func(*tree.Tree) (tree.Command, error) { return c, nil })
}

// Transact runs a function that reads and writes, and does all that it wrote, or nothing if it returns an error. It may run several times: see tree.Propose.
// It must not call this Store: others wait until it is done.
func (s *Store) Transact(ctx context.Context, f func(*tree.Tx) error) (tree.Result, error) {
	return s.write(ctx, nil, func(t *tree.Tree) (tree.Command, error) { return t.Propose(f) })
}

// Query runs a function that reads one state of the tree. It must not call this Store, and be quick: others wait until it is done.
func (s *Store) Query(ctx context.Context, favor Favor, f func(*tree.Tx) error) error {
	if favor == Consistency {
		if err := s.Fence(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow.tree.Query(f)
}

// Get returns a node. Errors: tree.ErrNotFound; with Consistency also ErrUnavailable.
func (s *Store) Get(ctx context.Context, favor Favor, path tree.Path) (n tree.Node, err error) {
	err = s.Query(ctx, favor, func(x *tree.Tx) error {
		n, err = x.Get(path)
		return err
	})
	return n, err
}

// Select returns the nodes of a pattern, by path.
func (s *Store) Select(ctx context.Context, favor Favor, p tree.Pattern) (nodes []tree.Node, err error) {
	err = s.Query(ctx, favor, func(x *tree.Tx) error {
		nodes, err = x.Select(p)
		return err
	})
	return nodes, err
}

// Rows returns the table of a projection, by key, as this member knows it.
func (s *Store) Rows(name string) ([]tree.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow.tree.Rows(name)
}

// Row returns a row of a projection, as this member knows it.
func (s *Store) Row(name, key string) (value []byte, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow.tree.Row(name, key)
}

// Export writes the nodes of a pattern as lines of JSON.
func (s *Store) Export(ctx context.Context, favor Favor, w io.Writer, p tree.Pattern) error {
	if favor == Consistency {
		if err := s.Fence(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow.tree.Export(w, p)
}

// importBytes is how much of an import goes into one transaction.
const importBytes = 256 << 10

// Import does the commands that Export wrote, several in each transaction. What else is in the tree stays. It returns how many were done: with an error, some.
func (s *Store) Import(ctx context.Context, r io.Reader) (done int, err error) {
	all, err := tree.Import(r)
	if err != nil {
		return 0, err
	}
	for len(all) > 0 {
		n, size := 0, 0
		for n < min(len(all), s.follow.limits.Commands) && (n == 0 || size < importBytes) {
			size += len(all[n].Payload.Bytes) + 200
			n++
		}
		if _, err := s.Do(ctx, tree.Command{Kind: tree.KindTransaction, Commands: all[:n]}); err != nil {
			return done, err
		}
		all, done = all[n:], done+n
	}
	return done, nil
}

// Members returns the names of the members that are there.
func (s *Store) Members(ctx context.Context) ([]string, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	span := below(members)
	pairs, err := s.kv.Range(ctx, span.From, span.To, 0)
	if err != nil {
		return nil, s.failed("ask for the members", err)
	}
	var names []string
	for _, p := range pairs {
		name, _, _ := strings.Cut(strings.TrimPrefix(p.Key, members), "/")
		names = append(names, name)
	}
	return names, nil
}

// Session opens a session: nodes may be kept by it (tree.Keep) until end is called, or this process has ended. Errors: ErrHeld if another process has it.
func (s *Store) Session(ctx context.Context, name string) (end func(context.Context) error, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	held, err := s.kv.Hold(ctx, sessions+name, []byte(s.nonce), s.cfg.Lease)
	if err != nil {
		return nil, s.failed("open session "+name, err)
	}
	_, err = s.Transact(ctx, func(x *tree.Tx) error {
		_, err := x.Do(tree.Command{Kind: tree.KindOpenSession, Name: name})
		if errors.Is(err, tree.ErrSessionOpen) { // its process has ended, as the key was free
			if _, err := x.Do(tree.Command{Kind: tree.KindEndSession, Name: name}); err != nil {
				return err
			}
			_, err = x.Do(tree.Command{Kind: tree.KindOpenSession, Name: name})
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, held.Release(ctx))
	}
	return func(ctx context.Context) error {
		_, err := s.Do(ctx, tree.Command{Kind: tree.KindEndSession, Name: name})
		if errors.Is(err, tree.ErrSession) {
			err = nil // it has ended already
		}
		return errors.Join(err, held.Release(ctx))
	}, nil
}

// Close ends a member. Sessions that it opened end with it.
func (s *Store) Close() error {
	s.cancel()
	if s.cfg.Stepped {
		close(s.done)
	}
	<-s.done
	return s.kv.Close()
}
