package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"metasim/internal/plain"
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

const sweepHelp = `Carry out a scenario many times, with other values each time: what sweep: in the scenario varies, and --vary. Every combination of
values is a run.

  sweep:
    seed: {from: 1, to: 100}
    links[0].delay: [1ms, 5ms, 20ms]
    clients.plant.with.mass: {from: 0.5, to: 1.5, count: 11}

The directory of the sweep has table.csv, a line for each run: its id, the values, its digests, the results of its clients as JSON and each number,
text and truth value of them in a column of its own, how long it took, and which attempt it was. The same command goes on with a sweep that was
cut off, also by SIGKILL. metasim sweep status and metasim sweep table read the directory, also meanwhile.

Exit status: 0 all runs came to their end; 1 one failed, or the sweep was cut off; 2 bad usage or a bad scenario.`

func newSweep(std streams) *cobra.Command {
	var f scenarioFlags
	var o sweep.Options
	var progress string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sweep FILE",
		Short: "Run a scenario many times, with other values each time",
		Long:  sweepHelp,
		Args:  exactly(1, "one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Overrides = args[0], f.Overrides
			out, err := sweepAll(cmd.Context(), o, progress, std)
			if asJSON {
				if err != nil {
					out.Error = err.Error()
				}
				return errors.Join(err, failed(printJSON(std.out, out)))
			}
			if out.Runs > 0 {
				printSweep(std.out, &out)
			}
			return err
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Vary, "vary", nil, "vary a value: `path=value,value`, as in links[0].delay=1ms,5ms, or path={from: 1, to: 9, step: 2}; may be repeated")
	flags.IntVarP(&o.Workers, "jobs", "j", 2*runtime.NumCPU(), "carry out this `number` of runs at a time; by default two for each processor, as they wait for the disk too")
	flags.StringVar(&o.Dir, "out", "", "the `directory` of the sweep (default: sweeps/<name>-<hash>, the same for the same sweep)")
	flags.BoolVar(&o.Keep, "keep", false, "keep the directory of each run, with its journal, in runs/<id> of that directory")
	flags.BoolVar(&o.Retry, "retry", false, "do runs again that have failed")
	flags.StringVar(&o.How.Transport, "transport", "mem", "the `transport` of each run, as for metasim run")
	flags.StringVar(&progress, "progress", "auto", "`how` to show on the standard error how far the sweep is: auto, plain or none")
	flags.BoolVar(&asJSON, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
	cmd.AddCommand(newSweepStatus(std), newSweepTable(std))
	return cmd
}

// sweepAll carries out a sweep.
func sweepAll(ctx context.Context, o sweep.Options, progress string, std streams) (out sweepOutcome, err error) {
	self, err := os.Executable()
	if err != nil {
		return out, failed(fmt.Errorf("this program cannot find its own file: %w", err))
	}
	o.How.Self, o.How.AllowOutside, o.How.NoTrace = []string{self}, o.Overrides.AllowOutside, true
	if progress != "auto" && progress != "plain" && progress != "none" {
		return out, badUsage(fmt.Errorf("there is no --progress %q; use auto, plain or none", progress))
	}
	s, warnings, err := sweep.Open(o)
	printEach(std.err, "warning", warnings)
	if err != nil {
		return out, badUsage(err)
	}
	line := &sweepLine{w: std.err, rewrites: progress == "auto" && canRewrite(std.err), silent: progress == "none", before: s.Status()}
	began := time.Now()
	line.last = began
	err = s.Run(ctx, func(row *sweep.Row) { line.ended(row, time.Since(began)) })
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

// A sweepLine says how far a sweep is.
type sweepLine struct {
	w                io.Writer
	rewrites, silent bool
	before           sweep.Status // what earlier commands had done
	done, failed     int          // since then
	last             time.Time
	every            time.Duration
}

// ended takes what came of a run. The first that fails is told at once, with the command that shows it.
func (l *sweepLine) ended(row *sweep.Row, elapsed time.Duration) {
	l.done++
	if !row.OK {
		if l.failed++; l.failed == 1 && !l.silent {
			l.clear()
			fmt.Fprintf(l.w, "run %d failed: %s\n", row.ID, plain.Text(row.Error))
		}
	}
	if l.silent || time.Since(l.last) < max(l.every, rewriteEvery) {
		return
	}
	l.last = time.Now()
	rate := float64(l.done) / elapsed.Seconds()
	left := l.before.Runs - l.before.Done - l.done
	text := fmt.Sprintf("%d of %d runs   %s a second   %v to go", l.before.Done+l.done, l.before.Runs, factorText(rate),
		time.Duration(float64(left)/rate*1e9).Round(time.Second))
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
	fmt.Fprintf(w, "%s: %d of %d runs done, %d failed, in %s\ntable: %s\nmeans: metasim sweep table %s\n", out.Scenario, out.Done, out.Runs, out.Failed,
		secondsText(out.WallS), out.Table, out.Dir)
}

func newSweepStatus(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Say how far a sweep has come",
		Args:  exactly(1, "the directory of a sweep"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := sweep.Read(args[0])
			if err != nil {
				return badUsage(err)
			}
			defer r.Close()
			if asJSON {
				return failed(printJSON(std.out, r.Status))
			}
			st := r.Status
			fmt.Fprintf(std.out, "%s: %d of %d runs done, %d failed\n", plain.Text(st.Scenario), st.Done, st.Runs, st.Failed)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

func newSweepTable(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "table DIR",
		Short: "Show the mean of each number in the results of a sweep, with its confidence interval",
		Long: "Show the mean of each number in the results of a sweep over the runs that differ in their seed alone: with the standard deviation,\n" +
			"and the 95 % confidence interval of the mean (Student's t). Runs that failed are left out.",
		Args: exactly(1, "the directory of a sweep"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := sweep.Read(args[0])
			if err != nil {
				return badUsage(err)
			}
			defer r.Close()
			all, err := r.Summaries()
			if err != nil {
				return failed(err)
			}
			if asJSON {
				return failed(printJSON(std.out, struct {
					sweep.Status
					Varied    []string        `json:"varied"`
					Summaries []sweep.Summary `json:"summaries"`
				}{r.Status, r.Others(), all}))
			}
			return failed(printSummaries(std.out, r.Others(), all))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

func printSummaries(w io.Writer, varied []string, all []sweep.Summary) error {
	if len(all) == 0 {
		fmt.Fprintln(w, "no run that came to its end has a number in its results")
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := append(append([]string(nil), varied...), "result", "n", "mean", "95 % interval", "stddev", "min", "max")
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, s := range all {
		interval, deviation := "", ""
		if s.N > 1 {
			interval, deviation = fmt.Sprintf("±%.4g", s.CI95), fmt.Sprintf("%.4g", s.StdDev)
		}
		line := append(append([]string(nil), s.Values...), s.Result, fmt.Sprint(s.N), fmt.Sprintf("%.6g", s.Mean), interval, deviation,
			fmt.Sprintf("%.6g", s.Min), fmt.Sprintf("%.6g", s.Max))
		for i := range line {
			line[i] = plain.Text(line[i])
		}
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	return t.Flush()
}
