package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"metasim/internal/problem"
	"metasim/run/sweep"
)

// sweepOutcome is what metasim sweep --json prints.
type sweepOutcome struct {
	OK    bool   `json:"ok"` // all runs came to their end
	Error string `json:"error"`
	sweep.Status
	Table string  `json:"table"`
	WallS float64 `json:"wall_s"`
}

// sweepFlags say how a sweep is carried out.
type sweepFlags struct {
	how              sweep.Options
	cluster          sweep.Cluster
	share            bool
	launch, progress string
	json             bool
}

func (h *sweepFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVarP(&h.how.Workers, "jobs", "j", 2*runtime.NumCPU(), "carry out this `number` of runs at a time; by default two for each processor, as they wait for the disk too")
	flags.BoolVar(&h.how.Keep, "keep", false, "keep the directory of each run, with its journal, in runs/<id> of that directory")
	flags.BoolVar(&h.how.Retry, "retry", false, "do runs again that have failed")
	flags.StringVar(&h.how.How.Transport, "transport", "mem", "the `transport` of each run, as for metasim run")
	flags.StringVar(&h.launch, "launch", "local", "carry the runs out by this `launcher`: local, or slurm, which starts --workers on hosts of a cluster. What follows -- is for\n"+
		"salloc, or for srun if metasim runs in a job")
	flags.IntVar(&h.cluster.Workers, "workers", 0, "have Slurm start this `number` of workers, each with a processor, and each at one run at a time")
	flags.StringVar(&h.cluster.Remote, "remote", "", "what metasim is called on these hosts: a `program` in the PATH there, or its path (default: the path that it has here)")
	flags.BoolVar(&h.share, "share", false, "share --out with other processes, here or on other hosts, that are started with the same command: each is a worker, and together\n"+
		"they carry out each run once, without a coordinator")
	flags.DurationVar(&h.cluster.Silence, "silence", 30*time.Second, "let others take the runs of a worker that says nothing for this `time`; less than 3s is 3s, and -1s is for ever")
	flags.StringVar(&h.progress, "progress", "auto", "`how` to show on the standard error how far the sweep is: auto, plain or none")
	flags.BoolVar(&h.json, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
}

// options returns how to carry out a sweep, unless flags contradict one another.
func (h *sweepFlags) options(cmd *cobra.Command, args []string) (sweep.Options, error) {
	o := h.how
	_, o.How.LaunchOptions = splitAtDash(cmd, args)
	switch {
	case h.launch != "local" && h.launch != "slurm":
		return o, fmt.Errorf("there is no launcher %q for a sweep; use local or slurm", h.launch)
	case h.share && h.launch != "local":
		return o, errors.New("--share is for workers without a coordinator, and --launch starts some that have one; leave one of them out")
	case h.launch == "local" && (cmd.Flags().Changed("workers") || cmd.Flags().Changed("remote") || cmd.Flags().Changed("silence") && !h.share):
		return o, errors.New("--workers, --remote and --silence are for --launch slurm (the last also for --share); add it, or use -j")
	case h.launch == "slurm" && cmd.Flags().Changed("jobs"):
		return o, errors.New("-j is for runs on this host; use --workers with --launch slurm")
	case h.progress != "auto" && h.progress != "plain" && h.progress != "none":
		return o, fmt.Errorf("there is no --progress %q; use auto, plain or none", h.progress)
	}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("this program cannot find its own file: %w", err)
	}
	o.How.Self, o.How.NoTrace = []string{self}, true
	if h.share {
		o.Share = &sweep.Share{Silence: h.cluster.Silence}
	}
	if h.launch == "slurm" {
		h.cluster.LaunchOptions, o.How.LaunchOptions = o.How.LaunchOptions, nil
		if h.cluster.Remote == "" {
			h.cluster.Remote = self
		}
		o.Cluster = &h.cluster
	}
	return o, nil
}

// sweep carries out a sweep that open opens, and prints its outcome.
func (h *sweepFlags) sweep(cmd *cobra.Command, args []string, std streams, open func(sweep.Options) (*sweep.Sweep, []problem.Problem, error)) error {
	out, err := h.carryOut(cmd, args, std, open)
	if h.json {
		if err != nil {
			out.Error = err.Error()
		}
		return errors.Join(err, failed(printJSON(std.out, out)))
	}
	if out.Runs > 0 {
		printSweep(std.out, &out)
	}
	return err
}

func (h *sweepFlags) carryOut(cmd *cobra.Command, args []string, std streams, open func(sweep.Options) (*sweep.Sweep, []problem.Problem, error)) (out sweepOutcome, err error) {
	o, err := h.options(cmd, args)
	if err != nil {
		return out, badUsage(err)
	}
	var line *sweepLine
	o.Say = func(text string) { line.say(text) }
	if o.Cluster != nil {
		o.Cluster.Say = o.Say
	}
	s, warnings, err := open(o)
	printEach(std.err, "warning", warnings)
	if err != nil {
		return out, badUsage(err)
	}
	line = &sweepLine{w: std.err, rewrites: h.progress == "auto" && canRewrite(std.err), silent: h.progress == "none", before: s.Status(), workers: max(o.Workers, 1)}
	if o.Cluster != nil {
		line.workers = o.Cluster.Workers
	}
	line.here = s.Shared()
	began := time.Now()
	line.last = began
	err = s.Run(cmd.Context(), func(row *sweep.Row) { line.ended(row, time.Since(began)) })
	line.clear()
	out = sweepOutcome{Status: s.Status(), WallS: time.Since(began).Seconds(), Table: filepath.Join(s.Dir, "table.csv")}
	switch {
	case err != nil:
		err = fmt.Errorf("%w; %d of %d runs are done, and the same command goes on", err, out.Done, out.Runs)
	case out.Failed > 0:
		err = fmt.Errorf("%d of %d runs failed: see the column error of %s; --retry does them again", out.Failed, out.Runs, out.Table)
	}
	out.OK = err == nil
	return out, failed(errors.Join(err, s.Close()))
}

// say tells what happens beside the sweep.
func (l *sweepLine) say(text string) {
	l.clear()
	fmt.Fprintln(l.w, text)
}

// A sweepLine says how far a sweep is.
type sweepLine struct {
	w                io.Writer
	rewrites, silent bool
	before           sweep.Status  // what earlier commands had done
	workers          int           // which work at once
	done, failed     int           // since then
	here             bool          // others carry runs out, too, of which it does not hear
	idle             time.Duration // until the first run began: a job waits for its hosts, and its workers start
	last             time.Time
	every            time.Duration
}

// ended takes what came of a run. The first that fails is told at once, with the command that shows it.
func (l *sweepLine) ended(row *sweep.Row, elapsed time.Duration) {
	if l.done++; l.done == 1 {
		l.idle = elapsed - time.Duration(row.WallS*1e9)
	}
	if !row.OK {
		if l.failed++; l.failed == 1 && !l.silent {
			l.clear()
			fmt.Fprintf(l.w, "run %d failed: %s\n", row.ID, row.Error)
		}
	}
	if l.silent || time.Since(l.last) < max(l.every, rewriteEvery) {
		return
	}
	l.last = time.Now()
	text := fmt.Sprintf("%d of %d runs", l.before.Done+l.done, l.before.Runs)
	left := l.before.Runs - l.before.Done - l.done
	if l.done >= min(l.workers, l.done+left) && elapsed > l.idle { // the first ones end together, so before that nobody knows
		rate := float64(l.done) / (elapsed - l.idle).Seconds()
		text += fmt.Sprintf("   %s a second   %v to go", factorText(rate), time.Duration(float64(left)/rate*1e9).Round(time.Second))
	}
	if l.here {
		text = fmt.Sprintf("%d runs here, %.3g a second", l.done, float64(l.done)/elapsed.Seconds())
	}
	if l.failed > 0 {
		text += fmt.Sprintf("   %d failed", l.failed)
	}
	if l.rewrites {
		fmt.Fprint(raw(l.w), clearLine, text[:min(len(text), columns(l.w)-1)])
		return
	}
	l.every = max(time.Second, min(2*l.every, lineEvery))
	fmt.Fprintln(l.w, text)
}

func (l *sweepLine) clear() {
	if l.rewrites {
		fmt.Fprint(raw(l.w), clearLine)
	}
}

func printSweep(w io.Writer, out *sweepOutcome) {
	fmt.Fprintf(w, "%s: %d of %d runs done, %d failed, in %s\ntable: %s\nmeans: metasim sweep table %s\npage: metasim sweep report %s\n", out.Scenario, out.Done, out.Runs, out.Failed,
		secondsText(out.WallS), out.Table, out.Dir, out.Dir)
}
