package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"metasim/federates/authority/tree"
)

func (s *Store) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// bound gives a context without a deadline that of the config.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.cfg.Timeout)
}

// failed says what a member wanted of the store, and that it has no answer if that is why.
func (s *Store) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w in time: has it a majority of its members? %w", ErrUnavailable, err)
	}
	return fmt.Errorf("member %s of %s, %s: %w", s.cfg.Name, s.cfg.Instance, what, err)
}

// take waits until this goroutine may use the store.
func (s *Store) take(ctx context.Context) error {
	select {
	case <-s.done:
		return ErrClosed
	default:
	}
	select {
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-s.step:
		return nil
	}
}

func (s *Store) give() { s.step <- struct{}{} }

// perhaps is what failed where it is not known whether it was done.
const perhaps = "write, which may have been done,"

// write appends what propose makes of the tree, if the pairs of also are in the store: else ErrHeld.
func (s *Store) write(ctx context.Context, also []Pair, propose func(*tree.Tree) (tree.Command, error)) (tree.Result, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.take(ctx); err != nil {
		return tree.Result{}, s.failed("write", err)
	}
	defer s.give()
	s.number++
	id := s.nonce + "/" + strconv.FormatUint(s.number, 10)
	var unknown error // why it is not known whether a batch was done
	loads := s.follow.loads
	for {
		b, r, index, wrong := s.prepare(id, propose)
		if wrong != nil || len(b.Put) == 0 {
			// What is wrong, or was read, may be so only in an old state.
			mine, err := s.follow.catchUp(ctx, id)
			switch {
			case mine != nil:
				return *mine, nil
			case err != nil:
				return tree.Result{}, s.failed("write", err)
			case unknown != nil && s.follow.loads != loads:
				return tree.Result{}, s.failed(perhaps, unknown)
			case s.index() == index:
				return tree.Result{Index: index}, wrong
			}
			continue
		}
		b.If = append(b.If, also...)
		done, failure := s.kv.Do(ctx, b)
		mine, err := s.follow.catchUp(ctx, id)
		if done { // its entry may be in a snapshot already. The state before it was this one, so this is what it did; what follows is read when it is wanted
			mine = &r
		}
		if mine != nil {
			s.compact(ctx)
			return *mine, nil
		}
		unknown = cmp.Or(unknown, failure)
		lost := cmp.Or(failure, err) // the first says why
		switch {
		case unknown != nil && s.follow.loads != loads: // in a snapshot nobody finds it
			return tree.Result{}, s.failed(perhaps, unknown)
		case lost != nil && (ctx.Err() != nil || !errors.Is(lost, ErrUnavailable)):
			return tree.Result{}, s.failed(perhaps, lost)
		case ctx.Err() != nil:
			return tree.Result{}, s.failed(perhaps, ctx.Err())
		case lost != nil:
			pause(ctx, 20*time.Millisecond)
		case !done && s.index() == index: // so it is not the head that differs
			return tree.Result{}, s.failed("write", ErrHeld)
		}
	}
}

// prepare makes the batch that appends a command to the log as this member knows it, and says what the command does. The batch is empty if there is nothing to write.
func (s *Store) prepare(id string, propose func(*tree.Tree) (tree.Command, error)) (b Batch, r tree.Result, index uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	index = s.follow.tree.Index()
	c, err := propose(s.follow.tree)
	if err != nil || c.Kind == tree.KindTransaction && len(c.Commands) == 0 {
		return b, r, index, err
	}
	if _, err := c.Encode(); err != nil {
		return b, r, index, err
	}
	if r, err = s.follow.tree.Try(c); err != nil {
		return b, r, index, err
	}
	text, err := json.Marshal(entry{id, c})
	if err != nil {
		return b, r, index, err
	}
	b = Batch{
		If:  []Pair{{keyHead, strconv.AppendUint(nil, index, 10)}},
		Put: []Pair{{keyHead, strconv.AppendUint(nil, index+1, 10)}, {indexed(logs, index+1), text}},
	}
	if len(r.Fired) > 0 {
		fired, err := json.Marshal(r.Fired)
		if err != nil {
			return Batch{}, r, index, err
		}
		if len(fired)+len(text) > maxBatch+maxBatch/4 {
			return Batch{}, r, index, fmt.Errorf("%w: %d procedures, of which is known in %d bytes; do it in several commands", ErrFirings, len(r.Fired), len(fired))
		}
		b.Put = append(b.Put, Pair{indexed(firings, index+1), fired})
	}
	return b, r, index, nil
}

// compact writes a snapshot if the log is long. If that fails, the next writer tries it.
func (s *Store) compact(ctx context.Context) {
	due := func() bool { return s.index() >= s.follow.snapshot.Index+s.cfg.Every }
	if !due() {
		return
	}
	err := s.follow.newest(ctx)
	if err == nil && due() {
		err = s.follow.save(ctx)
	}
	if err != nil {
		s.cfg.Log.Warn("no snapshot was written", "member", s.cfg.Name, "commands", s.index(), "error", err)
	}
}

func (s *Store) index() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow.tree.Index()
}

// Fence waits until this member knows all that was written before.
func (s *Store) Fence(ctx context.Context) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.take(ctx); err != nil {
		return s.failed("read", err)
	}
	defer s.give()
	_, err := s.follow.catchUp(ctx, "")
	return s.failed("read", err)
}
