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
	var o compare.Options
	cmd := &cobra.Command{
		Use:   "diff RUN_DIR_A RUN_DIR_B",
		Short: "Find the first message in which two runs differ, and the client that caused it",
		Long: "Find the first message in which two recorded runs differ, and the client that caused it: the earliest one that\n" +
			"received the same and sent something else. Where the scenarios differ, that is said first, and what a client\n" +
			"sends because of it is not blamed on the client.\n\n" +
			"Exit status: 0 equal; 1 different; 2 the runs cannot be compared, as they do not have the same clients;\n" +
			"3 equal as far as both go: one crashed, was cut off or killed, or has another until.",
		Args: exactly(2, "two run directories"),
		RunE: func(_ *cobra.Command, args []string) error {
			if typesDir != "" {
				var err error
				if o.Types, err = types.Load(typesDir); err != nil {
					return badUsage(err)
				}
			}
			v, err := compare.Runs(args[0], args[1], o)
			if err != nil {
				return badUsage(err)
			}
			if asJSON {
				err = printJSON(std.out, v)
			} else {
				printEach(std.err, "note", v.Notes)
				err = v.WriteText(std.out)
			}
			switch {
			case err != nil:
				return failed(err)
			case !v.Equal:
				return &failure{status: 1, err: errors.New("the runs differ"), printed: true}
			case v.Until != nil:
				return &failure{status: asRecorded, err: errors.New("the runs are equal as far as both go"), printed: true}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&o.Anyway, "anyway", false, "compare runs with other clients too: the clients that both have")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	cmd.Flags().StringVar(&typesDir, "types", "", "decode payloads by the .lcm files of this `directory`")
	return cmd
}
