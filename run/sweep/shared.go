package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"metasim/internal/filelock"
	"metasim/run/sweep/lease"
	"metasim/wire/transport"
)

// A sharer is one of the workers that share a directory, without a coordinator. One goroutine has it.
type sharer struct {
	*meeting
	sweep   *Sweep
	watch   *lease.Watch
	room    string // for the directories of runs that go on
	next    lease.Next
	held    map[lease.Portion]bool
	running int
	came    chan came
	ended   func(*Row)
}

// came is what came of a portion.
type came struct {
	portion lease.Portion
	rows    []*Row
	err     error
}

// runShared carries out runs until all are done, by this worker or others.
func (s *Sweep) runShared(ctx context.Context, ended func(*Row)) (err error) {
	silence := max(cmp.Or(s.options.Share.Silence, transport.DefaultPeerTimeout), leastSilence)
	w := &sharer{meeting: s.meeting, sweep: s, room: s.meeting.own, held: map[lease.Portion]bool{}, came: make(chan came), ended: ended,
		watch: &lease.Watch{Worker: s.meeting.worker, Runs: s.Plan.Runs(), Period: min(silence/beats, time.Second), Silence: silence}}
	w.silence = silence
	if s.options.Share.Silence < 0 {
		w.watch.Silence = 0 // never
	}
	if s.options.Keep {
		err = os.MkdirAll(filepath.Join(s.Dir, keptDir), 0o700)
	} else {
		var lock *os.File
		w.room, lock, err = temporary(os.TempDir())
		defer func() { err = errors.Join(err, os.RemoveAll(w.room), filelock.Close(lock)) }()
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err = w.share(ctx); err != nil {
		stop(err)
		err = errors.Join(err, w.handBack())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var r *results
	if err == nil {
		r, err = w.conclude()
	} else if found, _, e := gather(w.dir, w.plan, w.own); e == nil { // so that it can be told how far the sweep is
		r = found
	}
	if r != nil {
		err = errors.Join(err, s.results.Close())
		s.results = r
	}
	if errors.Is(err, fs.ErrNotExist) && !isShared(s.Dir) {
		return fmt.Errorf("the sweep in %s was over while this worker was silent, and went on without it; what it did last does not count", s.Dir)
	}
	return err
}

// share carries out portions until all runs are done.
func (w *sharer) share(ctx context.Context) error {
	tick := time.NewTicker(w.watch.Period)
	defer tick.Stop()
	err := errors.Join(w.beat(), w.look(false))
	for err == nil && (!w.next.Over || w.running > 0) {
		if err = w.fill(ctx); err != nil {
			return err
		}
		select {
		case c := <-w.came:
			w.running--
			if err = c.err; err == nil {
				delete(w.held, c.portion)
				w.tell(c.rows)
			}
			if err == nil && len(w.next.Todo) == 0 {
				err = w.look(false)
			}
		case <-tick.C:
			if err = w.beat(); err == nil && w.running < w.sweep.options.Workers { // else there is nothing that it could do
				err = w.look(true)
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

// look looks what there is to do.
func (w *sharer) look(counted bool) error {
	found, err := w.list(counted)
	if err != nil {
		return err
	}
	w.next = w.watch.Next(found, counted)
	return w.write(w.next.Gone)
}

// fill claims as many portions as this worker carries out at a time.
func (w *sharer) fill(ctx context.Context) error {
	for w.running < w.sweep.options.Workers && !w.next.Over && ctx.Err() == nil {
		n := &w.next
		if w.suspects() {
			n.Lost = nil // the next look may find their worker alive
		}
		switch {
		case len(n.Lost) > 0:
			p := n.Lost[0]
			n.Lost = n.Lost[1:]
			if err := w.takeOver(ctx, p); err != nil {
				return err
			}
		case len(n.Todo) > 0:
			p := n.Todo[0]
			n.Todo = n.Todo[1:]
			mine, err := w.move(todoDir, p, takenDir, p.By(w.worker))
			if err != nil {
				return err
			}
			if mine {
				w.begin(ctx, p.By(w.worker))
			}
		default:
			return nil
		}
	}
	return nil
}

// suspects reports whether this worker is at a run at which another one was lost. It is at one of these at a time: else one that ends its worker would make others look as bad.
func (w *sharer) suspects() bool {
	for p := range w.held {
		if p.Lost > 0 {
			return true
		}
	}
	return false
}

// takeOver takes a portion from a worker that is lost. If it has several runs, it is split, and each run is claimed alone. A run at which several workers were lost is not tried again.
func (w *sharer) takeOver(ctx context.Context, p lease.Portion) error {
	again := p.Again(w.worker)
	mine, err := w.move(takenDir, p, takenDir, again)
	if err != nil || !mine {
		return err
	}
	if say := w.sweep.options.Say; say != nil {
		say(fmt.Sprintf("worker %s has not said anything for %v; others take its runs", p.Worker, w.watch.Silence))
	}
	switch {
	case again.Lost >= retries:
		row := w.sweep.rowOf(lease.Lease{ID: p.First, Attempt: again.Attempt})
		row.giveUp(silentWhy)
		if err := w.publish(again, []*Row{row}); err != nil {
			return err
		}
		w.tell([]*Row{row})
	case again.Runs > 1:
		return errors.Join(w.write(again.Split()), os.Remove(w.path(takenDir, again)))
	default:
		w.begin(ctx, again)
	}
	return nil
}

// begin begins to carry a portion out.
func (w *sharer) begin(ctx context.Context, p lease.Portion) {
	w.running++
	w.held[p] = true
	go func() {
		rows, err := w.carryOut(ctx, p)
		w.came <- came{p, rows, err}
	}()
}

// carryOut carries out a portion and publishes what came of it.
func (w *sharer) carryOut(ctx context.Context, p lease.Portion) (rows []*Row, err error) {
	for id := p.First; id < p.First+p.Runs; id++ {
		l := lease.Lease{ID: id, Attempt: p.Attempt}
		row, dir := w.sweep.rowOf(l), filepath.Join(w.room, attemptName(l))
		if err := w.sweep.carryOut(ctx, row, dir); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := w.keep(dir, id); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, w.publish(p, rows)
}

// keep gives the directory of a run its place if it is to be kept, and removes it else. What another attempt has put there stays: it came to the same, or the table says that it did not.
func (w *sharer) keep(dir string, id int) error {
	if !w.sweep.options.Keep {
		return os.RemoveAll(dir)
	}
	kept := filepath.Join(w.sweep.Dir, keptDir, strconv.Itoa(id))
	err := os.Rename(dir, kept)
	if errors.Is(err, fs.ErrNotExist) { // a scenario that cannot be loaded has none
		return nil
	}
	if err != nil {
		if _, there := os.Stat(kept); there == nil {
			return os.RemoveAll(dir)
		}
	}
	return err
}

// tell tells of runs that have ended.
func (w *sharer) tell(rows []*Row) {
	for _, row := range rows {
		w.ended(row)
	}
}

// handBack ends what goes on, and puts it back for others, as if it had not begun.
func (w *sharer) handBack() (err error) {
	for ; w.running > 0; w.running-- {
		if c := <-w.came; c.err == nil {
			delete(w.held, c.portion)
			w.tell(c.rows)
		}
	}
	for p := range w.held {
		_, e := w.move(takenDir, p, todoDir, p.By("")) // others may have taken it over
		err = errors.Join(err, e)
	}
	return err
}
