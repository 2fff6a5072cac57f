package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"metasim/run"
)

func newVerify(std streams) *cobra.Command {
	var f scenarioFlags
	var runs int
	var transports []string
	var asJSON bool
	var runners []int
	var iterations uint64
	var balance string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Run a scenario or a world several times, and prove that all runs are the same",
		Long: "Run a scenario several times over different transports and numbers of processors, and compare what was\n" +
			"delivered, what was sent (also what nobody heard), and the results.\n\n" +
			"Of a world (FILE.sdf) the states after each step are compared: of the world alone, and with each number of secondaries\n(--runners) over each of the transports.\n\nExit status: 0 equal; 1 not equal, or a run failed; 2 bad usage or a bad scenario.",
		Args: exactly(1, "one file, of a scenario or of a world"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if filepath.Ext(args[0]) == ".sdf" {
				if !cmd.Flags().Changed("transport") {
					transports = []string{"mem", "unix"}
				}
				return carryOutWorld(cmd.Context(), args[0], iterations, runners, transports, balance, asJSON, std)
			}
			if !cmd.Flags().Changed("runs") {
				runs = max(2, len(transports))
			}
			v, err := verify(cmd.Context(), args[0], runs, transports, &f, std)
			if err != nil {
				v = &run.Verdict{Runs: []run.VerifiedRun{}, Error: err.Error()}
			}
			if asJSON {
				if e := printJSON(std.out, v); e != nil {
					return failed(e)
				}
			}
			switch {
			case err != nil:
				return err
			case v.Error != "":
				err = errors.New(v.Error)
			case !v.Equal:
				err = fmt.Errorf("the runs are not equal, their %s differ; %s", strings.Join(v.Differ, " and "), v.Divergence)
			}
			if !asJSON {
				err = errors.Join(err, printVerdict(v, std))
			}
			return failed(err)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&runs, "runs", len(run.Transports), "the `number` of runs to compare; by default as many as there are transports")
	cmd.Flags().StringSliceVar(&transports, "transport", run.Transports, "the `transports` that the runs use in turn; leave out those that a client cannot use. Of a world: by default mem and unix")
	cmd.Flags().IntSliceVar(&runners, "runners", []int{0, 1, 2, 3}, "of a world: the `numbers` of secondaries with which it is run, as --secondaries of metasim world run; 0: none, and only its systems in placeholders have clients of their own")
	cmd.Flags().StringVar(&balance, "balance", "static", "of a world: the `rule` that says which secondary has which levels, static or measured, as --balance of metasim world run")
	cmd.Flags().Uint64Var(&iterations, "iterations", 0, "of a world: the `number` of steps that are compared")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

func verify(ctx context.Context, file string, runs int, transports []string, f *scenarioFlags, std streams) (*run.Verdict, error) {
	if runs < 2 {
		return nil, badUsage(fmt.Errorf("--runs %d compares nothing; use at least 2", runs))
	}
	if len(transports) == 0 {
		return nil, badUsage(errors.New("--transport names no transport; use one or more of " + strings.Join(run.Transports, ", ")))
	}
	for _, transport := range transports {
		if err := (&run.Options{Transport: transport, Serve: true}).Validate(); err != nil {
			return nil, badUsage(err)
		}
	}
	sc, err := f.load(file, std)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, failed(err)
	}
	v, err := run.Verify(ctx, sc, runs, transports, run.Options{
		Self: []string{self}, AllowOutside: f.AllowOutside, Log: newLogger(std.err, false),
	})
	if errors.As(err, new(*run.UnverifiableError)) {
		return nil, badUsage(err)
	}
	return v, failed(err)
}

func printVerdict(v *run.Verdict, std streams) error {
	var text bytes.Buffer
	for i, r := range v.Runs {
		fmt.Fprintf(&text, "run %d  %-5s GOMAXPROCS %d  %s", i+1, r.Transport, r.GOMAXPROCS, r.Digest)
		if r.Pack > 0 {
			fmt.Fprintf(&text, "  %d clients a process", r.Pack)
		}
		if differ := v.Digests.Differ(r.Digests); len(differ) > 0 {
			fmt.Fprintf(&text, "  other %s", strings.Join(differ, ", "))
		}
		text.WriteByte('\n')
	}
	if v.Equal {
		fmt.Fprintf(&text, "sends digest: %s\nresults digest: %s\n", v.SendsDigest, v.ResultsDigest)
		fmt.Fprintf(&text, "equal: %d runs, one digest of what was delivered, of what was sent and of the results\n", len(v.Runs))
	}
	_, err := std.out.Write(text.Bytes())
	return err
}
