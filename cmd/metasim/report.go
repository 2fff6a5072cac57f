package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/record"
)

func newReport(std streams) *cobra.Command {
	var asJSON bool
	var whatIf []string
	var files reportFiles
	cmd := &cobra.Command{
		Use:   "report RUN_DIR",
		Short: "Say how parallel a run was, who held everybody up, and what would make it faster",
		Long: "Say how parallel a run was and could have been, who waited for whom over which link, and what would make it faster.\n" +
			"docs/report.md explains the numbers.",
		Args: exactlyOne("run directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			debug.SetGCPercent(50) // a long run needs much memory, and little of it is garbage
			timeline, r, err := makeReport(args[0], whatIf)
			if err != nil {
				return err
			}
			if err := files.write(std.err, args[0], timeline, r); err != nil {
				return failed(err)
			}
			if asJSON {
				return printJSON(std.out, r)
			}
			if err := r.WriteText(std.out, columns(std.out)); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&whatIf, "what-if", nil, "predict the run with a `change`, as in 'link(a->b).delay=5ms', 'client(a).speed=2', 'client(a).promise=5ms', "+
		"'client(a).reaction=1ms' or cores=8; may be repeated, and then all of them together are predicted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: all clients, links and pairs")
	files.add(cmd)
	return cmd
}

// makeReport reads a run and reports on it.
func makeReport(dir string, whatIf []string) (*trace.Timeline, *report.Report, error) {
	run, err := record.OpenToReplay(dir)
	if err != nil {
		return nil, nil, badUsage(err)
	}
	timeline, err := trace.ReadRun(run)
	if err != nil {
		return nil, nil, failed(err)
	}
	model := predict.New(timeline)
	var changes []predict.Change
	for _, text := range whatIf {
		c, err := model.Parse(text)
		if err != nil {
			return nil, nil, badUsage(err)
		}
		changes = append(changes, c)
	}
	r := report.New(timeline)
	r.About(run.Manifest)
	if err := r.Predict(model, changes...); err != nil {
		return nil, nil, failed(err)
	}
	return timeline, r, nil
}
