package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"metasim/internal/problem"
	"metasim/run"
	"metasim/run/sweep"
	"metasim/scenarios"
	"metasim/scenarios/advice"
)

// validation is what `metasim validate --json` prints.
type validation struct {
	OK       bool              `json:"ok"`
	Errors   []problem.Problem `json:"errors"`
	Warnings []problem.Problem `json:"warnings"`
	Advice   []problem.Problem `json:"advice"`
}

func newValidate(std streams) *cobra.Command {
	var f scenarioFlags
	var asJSON bool
	var how run.Options
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a scenario and name everything that is wrong with it",
		Args:  exactly(1, "one scenario file"),
		RunE: func(_ *cobra.Command, args []string) error {
			warnings, advices, err := advice.Review(args[0], f.Overrides)
			if err == nil && (how.Nested || how.Apart) {
				err = checkNested(args[0], &f, &how)
			}
			if err == nil {
				err = sweep.Check(args[0], f.Overrides)
			}
			v := validation{
				OK: err == nil, Errors: []problem.Problem{},
				Warnings: append([]problem.Problem{}, warnings...), Advice: append([]problem.Problem{}, advices...),
			}
			var invalid *problem.Invalid
			switch {
			case errors.As(err, &invalid):
				v.Errors = invalid.Problems
			case err != nil:
				return badUsage(err)
			}
			if asJSON {
				if err := printJSON(std.out, v); err != nil {
					return failed(err)
				}
			} else {
				printEach(std.err, "warning", warnings)
				printEach(std.err, "advice", advices)
			}
			if err != nil {
				return &failure{status: 2, err: err, printed: asJSON}
			}
			if !asJSON {
				verdict := "is a good scenario"
				if n := len(warnings); n > 0 {
					verdict = fmt.Sprintf("can be run; it has warnings: %d", n)
				}
				_, err = fmt.Fprintf(std.out, "%s %s\n", args[0], verdict)
			}
			return failed(err)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	flags.BoolVar(&how.Nested, "nested", false, "check also that metasim run --nested can carry it out")
	flags.BoolVar(&how.Apart, "nested-processes", false, "likewise with --nested-processes, or with --nested on other hosts")
	return cmd
}

// checkNested says what keeps a scenario that is good from being carried out by several dispatchers.
func checkNested(file string, f *scenarioFlags, how *run.Options) error {
	sc, _, err := scenarios.Load(file, f.Overrides) // its warnings are known
	return errors.Join(err, how.CheckNested(sc))
}

func newSchema(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of scenario files, for editors",
		Args:  nothing,
		RunE: func(*cobra.Command, []string) error {
			_, err := std.out.Write(append(scenarios.Schema(), '\n'))
			return failed(err)
		},
	}
}
