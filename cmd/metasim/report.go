package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/show"
	"metasim/analysis/trace"
	"metasim/internal/atomicfile"
	"metasim/record"
	"metasim/run"
)

func newReport(std streams) *cobra.Command {
	var asJSON bool
	var whatIf []string
	var files reportFiles
	cmd := &cobra.Command{
		Use:   "report RUN_DIR",
		Short: "Say how parallel a run was, which clients held the others up, and what would make it faster",
		Long: "Say how parallel a run was and could have been, which client waited for which over which link, and what would make it faster.\n" +
			"docs/report.md explains the numbers.",
		Args: exactly(1, "one run directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			debug.SetGCPercent(50) // a long run needs much memory, and little of it is garbage
			timeline, r, err := makeReport(args[0], whatIf)
			if err != nil {
				return err
			}
			if err := files.write(std.err, args[0], timeline, r); err != nil {
				return failed(err)
			}
			write := func() error { return r.WriteText(std.out, columns(std.out)) }
			if asJSON {
				write = func() error { return printJSON(std.out, r) }
			}
			if err := write(); err != nil {
				return failed(err)
			}
			return unread(timeline.Torn)
		},
	}
	cmd.Flags().StringArrayVar(&whatIf, "what-if", nil, "predict the run with a `change`, as in 'link(a->b).delay=5ms', 'links[0].delay=5ms', 'client(a).speed=2', 'client(a).promise=5ms', "+
		"'client(a).reaction=1ms' or cores=8; may be repeated, and then all of them together are predicted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: all clients, links and pairs")
	files.add(cmd)
	return cmd
}

// makeReport reads a run and reports on it.
func makeReport(dir string, whatIf []string) (*trace.Timeline, *report.Report, error) {
	recorded, err := record.OpenToReplay(dir)
	if err != nil {
		return nil, nil, badUsage(err)
	}
	source, err := trace.Open(recorded)
	if err != nil {
		return nil, nil, unread(err)
	}
	timeline, err := trace.Read(source)
	if err != nil {
		return nil, nil, unread(err)
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
	r.About(recorded.Manifest)
	return timeline, r, failed(r.Predict(model, changes...))
}

// reportFile is what `metasim run --report` leaves in the directory of the run.
const reportFile = "report.html"

// reportFiles are the files that a report is written to, in addition to the standard output.
type reportFiles struct{ html, perfetto, plots string }

func (f *reportFiles) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.html, "html", "", "write a page to this `file`, which needs nothing but a browser: a timeline, who waited for whom, what if")
	cmd.Flags().StringVar(&f.perfetto, "perfetto", "", "write a trace to this `file`, for ui.perfetto.dev and trace_processor")
	cmd.Flags().StringVar(&f.plots, "plots", "", "write plots into this `directory`, as SVG and PNG: parallelism, utilisation, blame")
}

// write writes the files that were asked for. It prints the size of the trace, which may be large.
func (f *reportFiles) write(messages io.Writer, runDir string, t *trace.Timeline, r *report.Report) error {
	if f.html != "" {
		file, err := record.CreateFile(f.html, runDir)
		if err = fill(file, err, func(w io.Writer) error { return show.HTML(w, t, r) }); err != nil {
			return fmt.Errorf("the page cannot be written: %w", err)
		}
	}
	if f.perfetto != "" {
		file, err := record.CreateFile(f.perfetto, runDir)
		var size counted
		var events int
		err = fill(file, err, func(w io.Writer) (err error) {
			events, err = show.Perfetto(io.MultiWriter(w, &size), t)
			return err
		})
		if err != nil {
			return fmt.Errorf("the trace cannot be written: %w", err)
		}
		fmt.Fprintf(messages, "trace: %s, %s, %d events\n", f.perfetto, bytesText(uint64(size)), events)
	}
	if f.plots != "" {
		if err := show.Plots(f.plots, r); err != nil {
			return fmt.Errorf("the plots cannot be written: %w", err)
		}
	}
	return nil
}

// counted counts the bytes that are written to it.
type counted uint64

func (c *counted) Write(b []byte) (int, error) {
	*c += counted(len(b))
	return len(b), nil
}

// fill writes a file that was begun, if it was, and keeps it only whole.
func fill(file *atomicfile.File, err error, write func(io.Writer) error) error {
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Commit()
}

// reportAtOnce reports on a run that has ended: with a page in its directory and, after its outcome, the report for people.
func reportAtOnce(out *run.Outcome, text *bytes.Buffer, quiet bool, width int) error {
	t, r, err := makeReport(out.RunDir, nil)
	if err != nil {
		return fmt.Errorf("there is no report: %w", err)
	}
	path := filepath.Join(out.RunDir, reportFile)
	file, err := atomicfile.Create(path, 0o600)
	if err = fill(file, err, func(w io.Writer) error { return show.HTML(w, t, r) }); err != nil {
		return fmt.Errorf("the page cannot be written: %w", err)
	}
	if quiet {
		return nil
	}
	fmt.Fprintf(text, "report: %s\n\n", path)
	return r.WriteText(text, width)
}
