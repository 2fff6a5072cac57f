package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"metasim/lcm/types"
	"metasim/record/compare"
)

func newDiff(std streams) *cobra.Command {
	var asJSON bool
	var typesDir string
	cmd := &cobra.Command{
		Use:   "diff RUN_DIR_A RUN_DIR_B",
		Short: "Find the first message in which two runs differ, and the client that caused it",
		Long: "Find the first message in which two recorded runs differ, and the client that caused it: the earliest one that\n" +
			"received the same and sent something else.\n\nExit status: 0 equal, 1 different.",
		Args: exactly(2, "two run directories"),
		RunE: func(_ *cobra.Command, args []string) error {
			var known *types.Set
			if typesDir != "" {
				var err error
				if known, err = types.Load(typesDir); err != nil {
					return badUsage(err)
				}
			}
			v, err := compare.Runs(args[0], args[1], known)
			if err != nil {
				return badUsage(err)
			}
			if err := printComparison(v, asJSON, std); err != nil {
				return failed(err)
			}
			if !v.Equal {
				return &failure{status: 1, err: errors.New("the runs differ"), printed: true}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	cmd.Flags().StringVar(&typesDir, "types", "", "decode payloads by the .lcm files of this `directory`")
	return cmd
}

func printComparison(v *compare.Verdict, asJSON bool, std streams) error {
	if asJSON {
		return printJSON(std.out, v)
	}
	for _, note := range v.Notes {
		fmt.Fprintf(std.err, "note: %s\n", note)
	}
	return v.WriteText(std.out)
}
