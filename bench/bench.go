package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Options say what is measured and how.
type Options struct {
	// Quick measures once and briefly, and leaves out what takes long: for a look, not for a record.
	Quick bool
	// Only is a regular expression: workloads whose name and parameters ("lock step n=8 transport=mem") do not match
	// are left out. Floors that are needed are measured all the same. Empty: all.
	Only string
	// Self is the command that starts a process which calls Child.
	Self []string
	// Profile is a directory for CPU profiles, one of each process that serves or takes part. It is made if it is not there.
	// Empty: none.
	Profile string
	// Progress gets a line for each workload. Nil: nobody.
	Progress io.Writer
}

// Params are what tells workloads of one name apart.
type Params map[string]any

func (p Params) String() string {
	var s []string
	for _, key := range slices.Sorted(maps.Keys(p)) {
		s = append(s, fmt.Sprintf("%s=%v", key, p[key]))
	}
	return strings.Join(s, " ")
}

// A Result is one figure.
type Result struct {
	Name   string  `json:"name"`
	Params Params  `json:"params"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Floor  float64 `json:"floor"` // what the machine can do, in the same unit; 0: there is none
	Ratio  float64 `json:"ratio"` // how many times as long as the floor it takes; 0: there is no floor
}

// A workload is one line of the table.
type workload struct {
	name   string
	params Params
	unit   string
	cost   bool    // the smaller the better: not a rate
	floor  string  // the id of the workload that is its floor
	bound  float64 // the floor where it is known without measuring
	slow   bool    // left out of a quick run
	fixed  bool    // its amount is most, by definition, in all but a quick run
	once   bool    // it takes care of repetitions itself
	first  int     // amount of the first measurement
	most   int     // never more than this; 0: no bound
	// measure runs the workload: amount says how much of it, in whatever the workload counts.
	measure func(ctx context.Context, h *harness, amount int) (sample, error)
}

// A sample is one measurement.
type sample struct {
	value float64
	took  time.Duration // what the amount is chosen by
	more  []Result      // further figures that came with it
}

// rate is a sample of count things in a time.
func rate(count float64, took time.Duration) sample {
	return sample{value: count / took.Seconds(), took: took}
}

func (w *workload) id() string { return strings.TrimSpace(w.name + " " + w.params.String()) }

// A harness is a benchmark run.
type harness struct {
	Options
	known map[string]Result // by id
	list  []workload
}

// patience is how long one measurement may take before it counts as stuck.
const patience = 2 * time.Minute

// Run measures, one workload after the other. What could not be measured is in the error; the others are in the results.
func Run(ctx context.Context, o Options) ([]Result, error) {
	only, err := regexp.Compile(o.Only)
	if err != nil {
		return nil, fmt.Errorf("%q is no pattern: %w; use part of a name, or a regular expression", o.Only, err)
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Profile != "" {
		if err := os.MkdirAll(o.Profile, 0o755); err != nil {
			return nil, fmt.Errorf("the directory for profiles cannot be made: %w; name another", err)
		}
	}
	h := &harness{Options: o, known: map[string]Result{}, list: workloads()}
	var results []Result
	var errs []error
	for i := range h.list {
		w := &h.list[i]
		if !only.MatchString(w.id()) || o.Quick && w.slow {
			continue
		}
		got, err := h.result(ctx, w)
		if ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
		if err != nil {
			err = &failedError{w.id(), err}
			fmt.Fprintln(o.Progress, err)
			errs = append(errs, err)
		}
		results = append(results, got...)
	}
	if len(results)+len(errs) == 0 {
		return nil, fmt.Errorf("no workload matches %q; run without it to see all", o.Only)
	}
	return results, errors.Join(errs...)
}

// A failedError says which workload could not be measured. Where a run fails all its clients say so: the first is enough.
type failedError struct {
	id  string
	err error
}

func (e *failedError) Error() string {
	first, _, _ := strings.Cut(e.err.Error(), "\n")
	return e.id + ": " + first
}

func (e *failedError) Unwrap() error { return e.err }

// result measures a workload, and its floor before it.
func (h *harness) result(ctx context.Context, w *workload) ([]Result, error) {
	if r, ok := h.known[w.id()]; ok {
		return []Result{r}, nil
	}
	r := Result{Name: w.name, Params: w.params, Unit: w.unit, Floor: w.bound}
	if r.Params == nil {
		r.Params = Params{}
	}
	if w.floor != "" {
		floor, err := h.measureFloor(ctx, w.floor)
		if err != nil {
			return nil, err
		}
		r.Floor = floor
	}
	began := time.Now()
	s, err := h.median(ctx, w)
	if err != nil {
		return nil, err
	}
	r.Value = s.value
	if r.Floor > 0 && r.Value > 0 {
		r.Ratio = r.Floor / r.Value
		if w.cost {
			r.Ratio = r.Value / r.Floor
		}
	}
	h.known[w.id()] = r
	fmt.Fprintf(h.Progress, "%-60s %14s %s  (%.1f s)\n", w.id(), figure(r.Value), r.Unit, time.Since(began).Seconds())
	return append([]Result{r}, s.more...), nil
}

func (h *harness) measureFloor(ctx context.Context, id string) (float64, error) {
	i := slices.IndexFunc(h.list, func(w workload) bool { return w.id() == id })
	if i < 0 {
		return 0, fmt.Errorf("there is no workload %q to be a floor", id)
	}
	r, err := h.result(ctx, &h.list[i])
	if err != nil {
		return 0, fmt.Errorf("floor %s: %w", id, err)
	}
	return r[0].Value, nil
}

// median warms up, finds an amount that takes long enough to be measured, and measures it several times.
func (h *harness) median(ctx context.Context, w *workload) (sample, error) {
	target, times := 600*time.Millisecond, 3
	switch {
	case h.Profile != "": // one long measurement: each begins the files anew
		target, times = 8*time.Second, 1
	case h.Quick:
		target, times = 60*time.Millisecond, 1
	}
	amount := w.first
	if w.fixed && !h.Quick {
		amount = w.most
	}
	s, err := h.sample(ctx, w, amount)
	for err == nil && !w.once && s.took < target/2 && (w.most == 0 || amount < w.most) {
		more := min(20, max(2, target.Seconds()/max(s.took.Seconds(), 1e-6)))
		amount = int(float64(amount) * more)
		if w.most > 0 {
			amount = min(amount, w.most)
		}
		s, err = h.sample(ctx, w, amount)
	}
	if w.once || times == 1 || err != nil {
		return s, err
	}
	samples := []sample{s}
	for total := s.took; len(samples) < times && total < 8*target; total += s.took {
		if s, err = h.sample(ctx, w, amount); err != nil {
			return s, err
		}
		samples = append(samples, s)
	}
	slices.SortFunc(samples, func(a, b sample) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	return samples[len(samples)/2], nil
}

func (h *harness) sample(ctx context.Context, w *workload, amount int) (sample, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took more than %v", patience))
	defer cancel()
	return w.measure(ctx, h, amount)
}
