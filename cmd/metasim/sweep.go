package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"metasim/internal/plain"
	"metasim/internal/problem"
	"metasim/run/sweep"
)

const sweepHelp = `Carry out a scenario many times, with other values each time: what sweep: in the scenario varies, and --vary. Every combination of
values is a run.

  sweep:
    seed: {from: 1, to: 100}
    links[0].delay: [1ms, 5ms, 20ms]
    clients.plant.with.mass: {from: 0.5, to: 1.5, count: 11}

The directory of the sweep has table.csv, a line for each run: its id, the values, its digests, the results of its clients as JSON and each number,
text and truth value of them in a column of its own, how long it took, and which attempt it was. The same command goes on with a sweep that was
cut off, also by SIGKILL. metasim sweep status, table and report read the directory, also meanwhile.

Exit status: 0 all runs came to their end; 1 one failed, or the sweep was cut off; 2 bad usage or a bad scenario.`

func newSweep(std streams) *cobra.Command {
	var f scenarioFlags
	var o sweep.Options
	var h sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep FILE",
		Short: "Run a scenario many times, with other values each time",
		Long:  sweepHelp,
		Args:  beforeDash(exactly(1, "one scenario file")),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Overrides = args[0], f.Overrides
			return h.sweep(cmd, args, std, func(how sweep.Options) (*sweep.Sweep, []problem.Problem, error) {
				how.File, how.Overrides, how.Vary, how.Dir = o.File, o.Overrides, o.Vary, o.Dir
				return sweep.Open(how)
			})
		},
	}
	f.add(cmd)
	h.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Vary, "vary", nil, "vary a value: `path=value,value`, as in links[0].delay=1ms,5ms, or path={from: 1, to: 9, step: 2}; may be repeated")
	flags.StringVar(&o.Dir, "out", "", "the `directory` of the sweep (default: sweeps/<name>-<hash>, the same for the same sweep)")
	cmd.AddCommand(newSweepStatus(std), newSweepResume(std), newSweepTable(std), newSweepReport(std), newSweepWorker(std))
	return cmd
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
			for _, id := range st.Poison {
				fmt.Fprintf(std.out, "run %d was given up: workers were lost while they carried it out\n", id)
			}
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
			if err := printSummaries(std.out, r.Others(), all); err != nil {
				return failed(err)
			}
			if st := r.Status; st.Failed > 0 || st.Done < st.Runs {
				fmt.Fprintf(std.err, "of %d runs %d have failed and %d have not ended; they are left out\n", st.Runs, st.Failed, st.Runs-st.Done)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

func newSweepResume(std streams) *cobra.Command {
	var h sweepFlags
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Go on with a sweep that was cut off",
		Long: "Go on with a sweep that was cut off, from its directory alone: the scenario is read again, and must be the same. It may go on elsewhere than it\n" +
			"began, here or on a cluster. Where it has kept the directories of its runs (--keep), it keeps those of the others, too.",
		Args: beforeDash(exactly(1, "the directory of a sweep")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.sweep(cmd, args, std, func(o sweep.Options) (*sweep.Sweep, []problem.Problem, error) { return sweep.Resume(args[0], o) })
		},
	}
	h.add(cmd)
	return cmd
}

// newSweepWorker is what a sweep on a cluster starts on its hosts.
func newSweepWorker(std streams) *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Carry out runs of a sweep, as told on the standard input",
		Hidden: true,
		Args:   nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return failed(err)
			}
			return failed(sweep.Work(cmd.Context(), std.in, raw(std.out), []string{self}))
		},
	}
}
