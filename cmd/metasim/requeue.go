package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

// A job of Slurm that is put back into the queue, as it was preempted or a host of it was lost, begins again with the command that it began with. Where that is
// metasim run --launch slurm --out RUN, the run goes on. The job before may still go on somewhere: the lock of the journal keeps the two apart.

// lockPatience is how long the copy of a job that ran before may write the journal, after Slurm has started the job again. Its clients on other hosts are
// ended by then, and locks of a host that is lost are given up, as NFS does after 90 s.
const lockPatience = 2 * time.Minute

// startedAgain returns the run that a job of Slurm had begun before Slurm started the job again; nil: there is none.
func startedAgain(sc *scenarios.Scenario, o *run.Options) (*record.Run, error) {
	times, err := strconv.Atoi(os.Getenv("SLURM_RESTART_COUNT"))
	if err != nil || times == 0 || o.Launch != "slurm" || o.Out == "" {
		return nil, nil
	}
	if files, err := os.ReadDir(o.Out); errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return nil, nil // it had not begun
	}
	before, err := record.OpenToReplay(o.Out)
	if err != nil {
		return nil, err
	}
	resolved, err := sc.Resolved(o.KeepEnv)
	if err != nil {
		return nil, err
	}
	if !sameJSON(resolved, before.Manifest.Resolved) {
		return nil, fmt.Errorf("the job was started again, and %s has a run of another scenario, or with other flags; name another directory with --out", o.Out)
	}
	return before, nil
}

// sameJSON compares JSON but for white space.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// takeOver goes on with a run, once nobody else does. Where the copy of the job that ran before has brought it to its end, that is the outcome.
func takeOver(ctx context.Context, before *record.Run, o run.Options) (*run.Outcome, error) {
	told, late := false, time.After(lockPatience)
	for {
		if m := before.Manifest; !before.CanGoOn() && m.OK {
			return &run.Outcome{Scenario: m.Scenario, Seed: m.Seed, OK: true, Deterministic: m.Deterministic, Digests: m.Digests, RunDir: o.Out, Clients: []run.ClientOutcome{}}, nil
		}
		out, err := run.Resume(ctx, before, o)
		if !run.GoesOn(err) {
			return out, err
		}
		if !told {
			told = true
			o.Log.Warn("the job was started again, and its copy before still writes the run; waiting until that ends", "run", o.Out, "host", before.Manifest.Host)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late:
			return nil, fmt.Errorf("the job was started again, and after %v its copy before, on host %s, still writes %s: %w; end it there, and type metasim resume %s", lockPatience, before.Manifest.Host, o.Out, err, o.Out)
		case <-time.After(time.Second):
		}
		if before, err = record.OpenToReplay(o.Out); err != nil {
			return nil, err
		}
	}
}
