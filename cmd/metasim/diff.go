package main

import (
	"errors"

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
			if asJSON {
				err = printJSON(std.out, v)
			} else {
				printEach(std.err, "note", v.Notes)
				err = v.WriteText(std.out)
			}
			if err == nil && !v.Equal {
				return &failure{status: 1, err: errors.New("the runs differ"), printed: true}
			}
			return failed(err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	cmd.Flags().StringVar(&typesDir, "types", "", "decode payloads by the .lcm files of this `directory`")
	return cmd
}
