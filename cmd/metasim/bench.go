package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"metasim/bench"
)

func newBench(std streams) *cobra.Command {
	var o bench.Options
	var asJSON, child bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure metasim beside what this machine can do",
		Long: "Measure metasim on the workloads of the field, each beside a floor that is measured in the same run. It takes some\n" +
			"minutes; the machine should have nothing else to do. See docs/performance.md.",
		Example: "  metasim bench --quick\n  metasim bench --only 'lock step.*n=8'",
		Args:    nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if child {
				return failed(bench.Child(cmd.Context(), std.in))
			}
			self, err := os.Executable()
			if err != nil {
				return failed(err)
			}
			o.Self, o.Progress = []string{self, "bench", "--child"}, std.err
			fmt.Fprintln(std.err, bench.Machine())
			results, err := bench.Run(cmd.Context(), o)
			if asJSON {
				err = errors.Join(err, bench.PrintJSON(std.out, results))
			} else if len(results) > 0 {
				err = errors.Join(err, bench.Print(std.out, results))
			}
			return failed(err)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Quick, "quick", false, "measure once and briefly, and leave out what takes long")
	flags.BoolVar(&asJSON, "json", false, "print one JSON list, and nothing else, on stdout")
	flags.StringVar(&o.Only, "only", "", "measure only the workloads that match this `pattern`, a regular expression")
	flags.StringVar(&o.Profile, "profile", "", "write CPU profiles of the processes to this `directory`")
	flags.BoolVar(&child, "child", false, "do the job on standard input")
	flags.Lookup("child").Hidden = true
	addDefaults(cmd)
	return cmd
}
