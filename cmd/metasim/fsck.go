package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"metasim/internal/plain"
	"metasim/monitor"
	"metasim/record"
	"metasim/run"
)

func newFsck(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fsck RUN_DIR",
		Short: "Say which files of a run are whole, and what can be done with the run",
		Long: "Say of each file of a run whether it is whole, up to which record and instant it can be used, and what log, report,\n" +
			"replay, diff and resume can do with the run. Every file that has a checksum is read to its end; nothing is changed.\n\n" +
			"Exit status: 0 nothing is wrong; 1 a file is damaged or missing; 2 there is no such run; 3 what there is is good, and\n" +
			"it is not all: the run was killed, or still goes on.",
		Example: "  metasim fsck runs/arm-3",
		Args:    exactly(1, "one run directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			goesOn := monitor.GoesOn(args[0])
			h, err := record.Examine(args[0], goesOn)
			if err != nil {
				return badUsage(err)
			}
			h.Uses = append(h.Uses, resumeUse(h, goesOn))
			if asJSON {
				err = printJSON(std.out, h)
			} else {
				err = printHealth(std, h)
			}
			switch {
			case err != nil:
				return failed(err)
			case h.Worst() == record.Damaged:
				return &failure{status: 1, err: errors.New("a file of the run is damaged or missing"), printed: true}
			case h.Worst() == record.CutOff:
				return &failure{status: asRecorded, err: errors.New("the run was cut off"), printed: true}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

// resumeUse says whether the run can go on.
func resumeUse(h *record.Health, goesOn bool) record.Use {
	u := record.Use{Command: "resume", Can: "no"}
	if goesOn {
		u.Why = "the run still goes on, so there is nothing to resume"
		return u
	}
	for _, other := range h.Uses {
		if other.Command == "replay" && other.Can == "no" {
			u.Why = other.Why // what resume does first
			return u
		}
	}
	if err := run.Resumable(h.Recorded()); err != nil {
		u.Why = err.Error()
		return u
	}
	u.Can = "all"
	return u
}

func printHealth(std streams, h *record.Health) error {
	t := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for i := range h.Files {
		f := &h.Files[i]
		fmt.Fprintf(t, "%s\t%s\t%s\n", plain.Text(f.File), f.State, plain.Text(f.String()))
	}
	fmt.Fprintln(t)
	for _, u := range h.Uses {
		fmt.Fprintf(t, "%s\t%s\t%s\n", u.Command, u.Can, plain.Text(u.Why))
	}
	return t.Flush()
}
