package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/show"
	"metasim/analysis/trace"
	"metasim/internal/atomicfile"
	"metasim/internal/plain"
	"metasim/record"
	"metasim/run"
)

func newReport(std streams) *cobra.Command {
	var asJSON, explain, anyway bool
	var whatIf []string
	var files reportFiles
	cmd := &cobra.Command{
		Use:   "report RUN_DIR [RUN_DIR_B]",
		Short: "Say how parallel a run was, which clients held the others up, and what would make it faster",
		Long: "Say how parallel a run was and could have been, which client waited for which over which link, and what would make it faster.\n" +
			"docs/report.md explains the numbers.\n\n" +
			"With two runs, before and after a change: what differs in their scenarios, both side by side, and whether the prediction was right.\n" +
			"If they do not have the same clients, the exit status is 2, and with --anyway the clients that both have are compared.",
		Args: between(1, 2, "one run directory, or two"),
		RunE: func(_ *cobra.Command, args []string) error {
			debug.SetGCPercent(50) // a long run needs much memory, and little of it is garbage
			if len(args) == 2 {
				if len(whatIf) > 0 || files != (reportFiles{}) {
					return badUsage(errors.New("--what-if, --html, --perfetto, --plots, --csv and --parquet are about one run; name one"))
				}
				c, torn, err := compareReports(args[0], args[1], anyway)
				if err != nil {
					return err
				}
				write := func() error { return c.WriteText(styled(std.out, explain)) }
				if asJSON {
					write = func() error { return printJSON(std.out, c) }
				}
				if err := write(); err != nil {
					return failed(err)
				}
				return unread(torn)
			}
			if anyway {
				return badUsage(errors.New("--anyway compares two runs that do not have the same clients; name two, or leave it out"))
			}
			timeline, r, err := makeReport(args[0], whatIf)
			if err != nil {
				return err
			}
			if err := files.write(std.err, args[0], timeline, r); err != nil {
				return failed(err)
			}
			write := func() error { return r.WriteText(styled(std.out, explain)) }
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
		"'client(a).reaction=1ms', 'client(a).period=2ms', 'client(a-*).process=1', transport=shm or cores=8; may be repeated, and then all of them together are predicted")
	cmd.Flags().BoolVar(&explain, "explain", false, "say with each table what its columns are")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: all clients, links and pairs")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "compare two runs with other clients too: the clients that both have")
	files.add(cmd)
	return cmd
}

// styled returns how a report is printed, and where: with colours not through what would escape them. The report escapes what others wrote.
func styled(w io.Writer, explain bool) (io.Writer, report.Style) {
	style := report.Style{Width: columns(w), Color: hasColor(w), Explain: explain}
	if p, ok := w.(*plain.Writer); ok && style.Color {
		w = p.To
	}
	return w, style
}

// compareReports compares the reports of two runs. If they do not have the same clients, it fails, unless anyway is set. Torn says where the
// journals break off, if they do.
func compareReports(dirA, dirB string, anyway bool) (c *report.Comparison, torn, err error) {
	a, timeline, reportA, err := readReport(dirA)
	if err != nil {
		return nil, nil, err
	}
	b, after, reportB, err := readReport(dirB)
	if err != nil {
		return nil, nil, err
	}
	if _, others := record.SharedClients(a, b); others != nil && !anyway {
		return nil, nil, badUsage(others)
	}
	differences := []string{}
	changes, known := record.Changes(a, b)
	if !known {
		differences = append(differences, "the manifests do not both hold their scenario, so it may not be the same")
	}
	for _, c := range changes {
		differences = append(differences, plain.Text(c.String()))
	}
	c = report.Compare(reportA, reportB, predict.New(timeline), after.Log.Config.Delays, differences, ruleChanges(changes))
	return c, errors.Join(timeline.Torn, after.Torn), nil
}

// ruleChanges writes differences of links as changes of a run, if each is another delay of a rule, and both delays are constant; else nil.
func ruleChanges(all []record.Change) (texts []string) {
	for _, c := range all {
		if !strings.HasPrefix(c.Path, "links") {
			continue
		}
		_, okA := c.A.(string) // a distribution is an object
		b, okB := c.B.(string)
		if !okA || !okB || !strings.HasSuffix(c.Path, "].delay") {
			return nil
		}
		texts = append(texts, c.Path+"="+b)
	}
	return texts
}

// readReport reads a run. The report has no predictions.
func readReport(dir string) (*record.Run, *trace.Timeline, *report.Report, error) {
	recorded, err := record.OpenToReplay(dir)
	if err != nil {
		return nil, nil, nil, badUsage(err)
	}
	source, err := trace.Open(recorded)
	if err != nil {
		return nil, nil, nil, unread(err)
	}
	timeline, err := trace.Read(source)
	if err != nil {
		return nil, nil, nil, unread(err)
	}
	r := report.New(timeline)
	r.About(recorded.Manifest)
	return recorded, timeline, r, nil
}

// makeReport reads a run, reports on it and predicts.
func makeReport(dir string, whatIf []string) (*trace.Timeline, *report.Report, error) {
	_, timeline, r, err := readReport(dir)
	if err != nil {
		return nil, nil, err
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
	return timeline, r, failed(r.Predict(model, changes...))
}

// reportFile is what `metasim run --report` leaves in the directory of the run.
const reportFile = "report.html"

// reportFiles are the files that a report is written to, in addition to the standard output.
type reportFiles struct{ html, perfetto, plots, csv, parquet string }

func (f *reportFiles) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.html, "html", "", "write a page to this `file`, which needs nothing but a browser: a timeline, who waited for whom, what if")
	cmd.Flags().StringVar(&f.perfetto, "perfetto", "", "write a trace to this `file`, for ui.perfetto.dev and trace_processor")
	cmd.Flags().StringVar(&f.csv, "csv", "", "write tables into this `directory`, for notebooks: clients, links, grants, holds, messages")
	cmd.Flags().StringVar(&f.parquet, "parquet", "", "write the same tables into this `directory` in the format of Parquet, for DuckDB, pandas, Polars, Spark")
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
	for _, tables := range []struct {
		dir   string
		write func(dir string) error
	}{
		{f.csv, func(dir string) error { return show.CSV(dir, t, r) }},
		{f.parquet, func(dir string) error { return show.Parquet(dir, "metasim "+run.BuildVersion(), t, r) }},
	} {
		if tables.dir == "" {
			continue
		}
		if err := tables.write(tables.dir); err != nil {
			return fmt.Errorf("the tables cannot be written: %w", err)
		}
		if t.DroppedGrants+t.DroppedMessages > 0 {
			fmt.Fprintf(messages, "tables: %s, without the last %d grants and %d messages\n", tables.dir, t.DroppedGrants, t.DroppedMessages)
		}
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
func reportAtOnce(out *run.Outcome, text *bytes.Buffer, quiet bool, style report.Style) error {
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
	return r.WriteText(text, style)
}
