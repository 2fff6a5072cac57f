package main

import (
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
		Args:  exactlyOne("scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if runs < 2 {
				return &failure{status: 2, err: fmt.Errorf("--runs %d compares nothing; use at least 2", runs)}
			}
			sc, err := f.load(args[0], std)
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return failed(err)
			}
			v, err := run.Verify(cmd.Context(), sc, runs, run.Options{
				Self: []string{self}, AllowOutside: f.allowOutside, Log: newLogger(std.err, false),
			})
			if err != nil {
				return failed(err)
			}
			if err := printVerdict(v, asJSON, std); err != nil {
				return failed(err)
			}
			if !v.Equal {
				return &failure{status: 1, err: errors.New("the runs are not equal"), said: true}
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&runs, "runs", 4, "how many runs to compare")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

func printVerdict(v *run.Verdict, asJSON bool, std streams) error {
	if asJSON {
		return printJSON(std.out, v)
	}
	for i, r := range v.Runs {
		fmt.Fprintf(std.out, "run %d  %-5s GOMAXPROCS %d  %s\n", i+1, r.Transport, r.GOMAXPROCS, r.Digest)
	}
	switch {
	case v.Equal:
		fmt.Fprintf(std.out, "equal: %d runs, one digest\n", len(v.Runs))
	case v.Error != "":
		fmt.Fprintf(std.err, "metasim: %s\n", v.Error)
	default:
		fmt.Fprintf(std.err, "metasim: the runs are not equal; %s\n", v.Divergence)
	}
	return nil
}
