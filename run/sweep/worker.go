package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"metasim/internal/filelock"
	"metasim/run"
	"metasim/run/sweep/lease"
)

// An order is what the coordinator of a sweep tells a worker, one a line: first the work, then a lease again and again, or nothing but that it is there.
type order struct {
	Work  *work        `json:"work,omitempty"`
	Lease *lease.Lease `json:"lease,omitempty"`
	// Within is when the next order comes at the latest: then the coordinator is lost.
	Within time.Duration `json:"within,omitempty"`
}

// work is what a worker has to know of a sweep.
type work struct {
	Plan      *Plan  `json:"plan"`
	Text      []byte `json:"text"` // of the scenario
	Transport string `json:"transport"`
	// Attempts is where the directory of each attempt is made, if they are kept; empty: in a temporary directory of the worker's host.
	Attempts string `json:"attempts,omitempty"`
}

// A report is what a worker tells: its version at first, that it is there, what came of a run, or why it cannot carry out any.
type report struct {
	Ready  string `json:"ready,omitempty"`
	Alive  bool   `json:"alive,omitempty"`
	Row    *Row   `json:"row,omitempty"`
	Broken string `json:"broken,omitempty"`
}

// depth is how many runs a worker has at most: one that it is at, and one that it need not wait for.
const depth = 2

// A worker carries out runs of a sweep, one after the other, in a process of its own.
type worker struct {
	self     []string
	sweep    *Sweep
	attempts string
	leases   chan lease.Lease
	working  sync.WaitGroup
	lock     *os.File // says that the directory of the attempts is in use; nil: it is not a temporary one

	mu  sync.Mutex
	out *json.Encoder
}

// firstOrder is when the first order comes at the latest. Later ones say that of the next.
const firstOrder = 30 * time.Second

// errNoCoordinator tells that the coordinator is not there any more.
var errNoCoordinator = errors.New("the coordinator of the sweep has not said anything for too long")

// Work is a worker: it takes orders until in ends, and writes reports. Self is the command that starts this program.
func Work(ctx context.Context, in io.Reader, out io.Writer, self []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	w := &worker{self: self, out: json.NewEncoder(out), leases: make(chan lease.Lease, 2*depth)}
	err := w.obey(ctx, stop, ordersFrom(in))
	stop(err)
	close(w.leases)
	w.working.Wait()
	if w.lock != nil {
		err = errors.Join(err, os.RemoveAll(w.attempts), filelock.Close(w.lock))
	}
	return err
}

// ordersFrom reads orders until there are no more.
func ordersFrom(in io.Reader) <-chan order {
	orders := make(chan order)
	go func() {
		defer close(orders)
		for d := json.NewDecoder(in); ; {
			var o order
			if d.Decode(&o) != nil {
				return // the coordinator has ended, or wants no more
			}
			orders <- o
		}
	}()
	return orders
}

// obey takes orders until there are no more.
func (w *worker) obey(ctx context.Context, stop context.CancelCauseFunc, orders <-chan order) error {
	w.say(report{Ready: run.BuildVersion()})
	lost := time.After(firstOrder)
	for {
		select {
		case o, more := <-orders:
			switch {
			case !more:
				return nil
			case o.Within > 0:
				lost = time.After(o.Within)
				w.say(report{Alive: true})
			case o.Work != nil:
				if err := w.begin(ctx, stop, o.Work); err != nil {
					return err
				}
			case o.Lease != nil:
				w.leases <- *o.Lease
			}
		case <-lost:
			return errNoCoordinator
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// begin begins to carry out what leases ask for.
func (w *worker) begin(ctx context.Context, stop context.CancelCauseFunc, given *work) error {
	w.sweep = &Sweep{Plan: given.Plan, Dir: given.Attempts, text: given.Text, options: Options{Keep: given.Attempts != "", How: run.Options{
		Transport: given.Transport, Self: w.self, AllowOutside: given.Plan.Overrides.AllowOutside, NoTrace: true,
	}}}
	if err := w.sweep.options.How.Validate(); err != nil {
		return err
	}
	if w.attempts = given.Attempts; w.attempts == "" {
		var err error
		if w.attempts, w.lock, err = temporary(os.TempDir()); err != nil {
			return err
		}
	}
	w.working.Go(func() {
		for l := range w.leases {
			if ctx.Err() != nil {
				continue
			}
			row := w.sweep.rowOf(l)
			dir := filepath.Join(w.attempts, attemptName(l))
			err := w.sweep.carryOut(ctx, row, dir)
			if err == nil && !w.sweep.options.Keep {
				err = os.RemoveAll(dir)
			}
			switch {
			case ctx.Err() != nil:
			case err != nil:
				w.say(report{Broken: err.Error()})
				stop(err)
			default:
				w.say(report{Row: row})
			}
		}
	})
	return nil
}

// say writes a report.
func (w *worker) say(r report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(r) // fails only if the coordinator has ended, which its orders tell too
}
