package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"metasim/analysis/report"
	"metasim/analysis/show"
	"metasim/analysis/trace"
	"metasim/internal/atomicfile"
	"metasim/run"
)

// reportFile is what `metasim run --report` leaves in the directory of the run.
const reportFile = "report.html"

// reportFiles are the files that a report is written to, beside what it prints.
type reportFiles struct{ html, perfetto, plots string }

func (f *reportFiles) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.html, "html", "", "write a page to this `file`, which needs nothing but a browser: a timeline, who waited for whom, what if")
	cmd.Flags().StringVar(&f.perfetto, "perfetto", "", "write a trace to this `file`, for ui.perfetto.dev and trace_processor")
	cmd.Flags().StringVar(&f.plots, "plots", "", "write plots into this `directory`, as SVG and PNG: parallelism, utilisation, blame")
}

// write writes those that were asked for. It tells how large the trace is, which has everything that is kept of the run.
func (f *reportFiles) write(tell io.Writer, runDir string, t *trace.Timeline, r *report.Report) error {
	if f.html != "" {
		file, err := createFile(f.html, runDir)
		if err = fill(file, err, func(w io.Writer) error { return show.HTML(w, t, r) }); err != nil {
			return fmt.Errorf("the page cannot be written: %w", err)
		}
	}
	if f.perfetto != "" {
		file, err := createFile(f.perfetto, runDir)
		var size counted
		var events int
		err = fill(file, err, func(w io.Writer) (err error) {
			events, err = show.Perfetto(io.MultiWriter(w, &size), t)
			return err
		})
		if err != nil {
			return fmt.Errorf("the trace cannot be written: %w", err)
		}
		fmt.Fprintf(tell, "trace: %s, %s, %d events\n", f.perfetto, bytesText(uint64(size)), events)
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
	file, err := atomicfile.Create(path, 0o644)
	if err = fill(file, err, func(w io.Writer) error { return show.HTML(w, t, r) }); err != nil {
		return fmt.Errorf("the page cannot be written: %w", err)
	}
	if quiet {
		return nil
	}
	fmt.Fprintf(text, "report: %s\n\n", path)
	return r.WriteText(text, width)
}
