package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"metasim/run"
)

func newVerify(std streams) *cobra.Command {
	var f scenarioFlags
	var runs int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Run a scenario several times, and prove that all runs are the same",
		Long:  "Run a scenario several times over different transports and numbers of processors, and compare the digests.",
		Args:  exactly(1, "one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := verify(cmd.Context(), args[0], runs, &f, std)
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
				err = fmt.Errorf("the runs are not equal; %s", v.Divergence)
			}
			if !asJSON {
				err = errors.Join(err, printVerdict(v, std))
			}
			return failed(err)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&runs, "runs", len(run.Transports), "the `number` of runs to compare")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

func verify(ctx context.Context, file string, runs int, f *scenarioFlags, std streams) (*run.Verdict, error) {
	if runs < 2 {
		return nil, badUsage(fmt.Errorf("--runs %d compares nothing; use at least 2", runs))
	}
	sc, err := f.load(file, std)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, failed(err)
	}
	v, err := run.Verify(ctx, sc, runs, run.Options{
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
		text.WriteByte('\n')
	}
	if v.Equal {
		fmt.Fprintf(&text, "equal: %d runs, one digest\n", len(v.Runs))
	}
	_, err := std.out.Write(text.Bytes())
	return err
}
