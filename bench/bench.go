package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"metasim/federates"
)

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

// A failedError says which workload could not be measured. Where a run fails, each of its clients has an error: the first is
// enough.
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
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.value, b.value) })
	return samples[len(samples)/2], nil
}

func (h *harness) sample(ctx context.Context, w *workload, amount int) (sample, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, measureTimeout, fmt.Errorf("it took more than %v", measureTimeout))
	defer cancel()
	return w.measure(ctx, h, amount)
}

// workloads are all there are, in the order of the table: floors first, then what a run is made of, then whole runs.
func workloads() []workload {
	return slices.Concat(
		rawLocal(), rawPingPong(), rawLockStep(),
		pingPong(), lockStep(), throughput(), decision(),
		pholds(), sparse(), helics(),
		idle(), straggler(), star(), crowd(), worlds(), followers(),
		busy(), journals(), memories(), traces(),
	)
}

// simulators makes one of each kind that can be handed to another process.
func simulators() []federates.Participant {
	return []federates.Participant{
		&stepper{}, &pinger{}, &relay{}, &pholdModel{}, &worldModel{}, &frameNode{}, &echoCentre{}, &exchanger{}, &logicalProcess{}, &forwarder{},
		&beacon{}, &source{}, &sink{},
	}
}

// UnmarshalJSON makes the participant that MarshalJSON wrote in another process.
func (p *participant) UnmarshalJSON(text []byte) error {
	var packed packedClient
	if err := json.Unmarshal(text, &packed); err != nil {
		return err
	}
	for _, s := range simulators() {
		if fmt.Sprintf("%T", s) == packed.Kind {
			p.name, p.simulator = packed.Name, s
			return json.Unmarshal(packed.Simulator, s)
		}
	}
	return fmt.Errorf("there is no simulator %q; add it to simulators", packed.Kind)
}

// Child does the job on in. Options.Self must start a program that calls Child with its standard input.
func Child(ctx context.Context, in io.Reader) (err error) {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("a child is given its job on its standard input: %w", err)
	}
	stop, err := profile(j.Profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	switch j.Kind {
	case clientsJob:
		return runClients(ctx, j)
	case echoJob:
		return rawClients(ctx, j, echo)
	case lockJob:
		return rawClients(ctx, j, exchange)
	case burnJob:
		return burnUntilEOF(in)
	}
	return fmt.Errorf("a child knows no job %q", j.Kind)
}
