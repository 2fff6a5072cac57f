package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"metasim/analysis"
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
			debug.SetGCPercent(50) // what is kept of a long run is much, and little of it is garbage
			timeline, report, err := makeReport(args[0], whatIf)
			if err != nil {
				return err
			}
			if err := files.write(std.err, args[0], timeline, report); err != nil {
				return failed(err)
			}
			if asJSON {
				return printJSON(std.out, report)
			}
			if err := report.WriteText(std.out, columns(std.out)); err != nil {
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
func makeReport(dir string, whatIf []string) (*analysis.Timeline, *analysis.Report, error) {
	run, err := record.OpenToReplay(dir)
	if err != nil {
		return nil, nil, &failure{status: 2, err: err}
	}
	timeline, err := readTimeline(run)
	if err != nil {
		return nil, nil, failed(err)
	}
	changes, err := parseChanges(timeline, whatIf)
	if err != nil {
		return nil, nil, &failure{status: 2, err: err}
	}
	report := analysis.New(timeline)
	report.About(run.Manifest)
	if !report.Paced() { // else the pace decides, which no prediction knows of
		timeline.Pack(report)
	}
	if err := predict(timeline, report, changes); err != nil {
		return nil, nil, failed(err)
	}
	return timeline, report, nil
}

// readTimeline reads a run as it went.
func readTimeline(run *record.Run) (*analysis.Timeline, error) {
	config, err := run.Config()
	if err != nil {
		return nil, err
	}
	inside, err := run.InProcess()
	if err != nil {
		return nil, err
	}
	cores, err := run.Cores()
	if err != nil {
		return nil, err
	}
	reader, err := run.OpenJournal()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // a file that was only read
	return analysis.Read(analysis.Source{Config: config, Journal: reader, Cores: cores, Inside: inside})
}

func parseChanges(t *analysis.Timeline, texts []string) ([]analysis.Change, error) {
	var changes []analysis.Change
	for _, text := range texts {
		c, err := t.ParseChange(text)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// predict fills in what was asked for, or else what would help most.
func predict(t *analysis.Timeline, r *analysis.Report, changes []analysis.Change) error {
	if r.WallS == 0 || len(changes) == 0 && r.Paced() {
		return nil // whatever is different would change nothing
	}
	if len(changes) == 0 {
		r.WhatIfs = t.Rank(r)
		return nil
	}
	p, err := t.Predict(changes...)
	if err != nil {
		return err
	}
	r.WhatIfs = []analysis.Prediction{p}
	return nil
}
