package main

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"metasim/internal/atomicfile"
	"metasim/internal/plain"
	"metasim/run/sweep"
)

//go:embed sweepreport.html
var sweepPage string

// A sweepSection is one question about the runs of a sweep.
type sweepSection struct {
	kind, title, note string // kind is its name in the table
	rows              []sweep.Summary
}

// sweepReport is what metasim sweep report --json prints.
type sweepReport struct {
	sweep.Status
	Varied  []string        `json:"varied"`
	Walls   []sweep.Summary `json:"walls"`
	Holders []sweep.Summary `json:"holders"`
	Results []sweep.Summary `json:"results"`
	Page    string          `json:"page"`
	CSV     string          `json:"csv"`
}

func newSweepReport(std streams) *cobra.Command {
	var page, table string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Write a page and a table on a sweep: how long its runs took, which clients held the others, and what the results were",
		Long: "Write a page and a table on a sweep: how long its runs took, for which clients the others waited, and what the results were. Each number is that of the\n" +
			"runs that differ in their seed alone: their mean with its 95 % confidence interval (Student's t), the standard deviation, least, quarters and most. Runs\n" +
			"that failed are left out, and counted.",
		Args: exactly(1, "the directory of a sweep"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := sweep.Read(args[0])
			if err != nil {
				return badUsage(err)
			}
			defer r.Close()
			out := sweepReport{Status: r.Status, Varied: r.Others(), Page: page, CSV: table}
			if page == "" {
				out.Page = filepath.Join(args[0], "report.html")
			}
			if table == "" {
				out.CSV = filepath.Join(args[0], "report.csv")
			}
			return failed(out.make(r, asJSON, std))
		},
	}
	cmd.Flags().StringVar(&page, "html", "", "write the page to this `file` (default: report.html in the directory of the sweep)")
	cmd.Flags().StringVar(&table, "csv", "", "write the table to this `file` (default: report.csv in the directory of the sweep)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

// make writes the files, and prints the summary.
func (o *sweepReport) make(r *sweep.Record, asJSON bool, std streams) (err error) {
	var errs [3]error
	o.Walls, errs[0] = r.Walls()
	o.Holders, errs[1] = r.Holders()
	o.Results, errs[2] = r.Summaries()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if err := errors.Join(o.writeTable(), atomicfile.Write(o.Page, []byte(o.html()), 0o644)); err != nil {
		return fmt.Errorf("the report cannot be written: %w; name other files with --html and --csv", err)
	}
	if asJSON {
		return printJSON(std.out, o)
	}
	for _, s := range o.sections()[:2] {
		if len(s.rows) == 0 {
			continue
		}
		fmt.Fprintf(std.out, "%s\n", s.title)
		if err := printSummaries(std.out, o.Varied, s.rows); err != nil {
			return err
		}
		fmt.Fprintln(std.out)
	}
	_, err = fmt.Fprintf(std.out, "results: metasim sweep table %s\npage: %s\ntable: %s\n", plain.Text(o.Dir), plain.Text(o.Page), plain.Text(o.CSV))
	return err
}

// printSummaries prints numbers of a sweep as a table.
func printSummaries(w io.Writer, varied []string, all []sweep.Summary) error {
	if len(all) == 0 {
		fmt.Fprintln(w, "no run that came to its end has a number in its results")
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := append(append([]string(nil), varied...), "result", "n", "mean", "95 % interval", "stddev", "min", "max")
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, s := range all {
		line := append(append([]string(nil), s.Values...), s.Result, fmt.Sprint(s.N), fmt.Sprintf("%.6g", s.Mean), known("±%.4g", s.CI95), known("%.4g", s.StdDev),
			fmt.Sprintf("%.6g", s.Min), fmt.Sprintf("%.6g", s.Max))
		for i := range line {
			line[i] = plain.Text(line[i])
		}
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	return t.Flush()
}

// known prints a number, and nothing where it is not known.
func known(format string, x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf(format, *x)
}

func (o *sweepReport) sections() []sweepSection {
	return []sweepSection{
		{"wall", "How long a run took", "In seconds of wall-clock time, with the other runs that went on beside it.", o.Walls},
		{"held", "For whom the others waited", "In seconds, summed over the clients that waited. Who holds the others most is worth making faster, or promising more.", o.Holders},
		{"result", "Results", "The numbers that clients left with: CLIENT.KEY.", o.Results},
	}
}

// writeTable writes all summaries as CSV.
func (o *sweepReport) writeTable() error {
	f, err := atomicfile.Create(o.CSV, 0o644)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	err = w.Write(append(append([]string{}, o.Varied...), "about", "name", "n", "mean", "ci95", "stddev", "min", "p25", "median", "p75", "max"))
	for _, section := range o.sections() {
		for _, s := range section.rows {
			line := append(append([]string{}, s.Values...), section.kind, s.Result, strconv.Itoa(s.N))
			for _, x := range []*float64{&s.Mean, s.CI95, s.StdDev, &s.Min, &s.P25, &s.Median, &s.P75, &s.Max} {
				text := ""
				if x != nil {
					text = strconv.FormatFloat(*x, 'g', -1, 64)
				}
				line = append(line, text)
			}
			err = errors.Join(err, w.Write(line))
		}
	}
	w.Flush()
	if err := errors.Join(err, w.Error()); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// sweepRows is how many rows of each section the page shows. The table has all.
const sweepRows = 200

// html draws the page.
func (o *sweepReport) html() string {
	var body strings.Builder
	for _, section := range o.sections() {
		if len(section.rows) == 0 {
			continue
		}
		fmt.Fprintf(&body, "<section><h2>%s</h2><p class=\"soft\">%s</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s, a table\"><table><thead><tr>",
			html.EscapeString(section.title), html.EscapeString(section.note), html.EscapeString(section.title))
		for _, path := range o.Varied {
			fmt.Fprintf(&body, "<th scope=\"col\" class=\"word\">%s</th>", html.EscapeString(path))
		}
		body.WriteString("<th scope=\"col\" class=\"word\">number</th>")
		for _, head := range []string{"runs", "mean", "95 %", "stddev", "min", "median", "max"} {
			fmt.Fprintf(&body, "<th scope=\"col\">%s</th>", head)
		}
		body.WriteString("<th scope=\"col\" class=\"word\">spread</th></tr></thead><tbody>")
		scales := spans(section.rows)
		for _, s := range section.rows[:min(len(section.rows), sweepRows)] {
			sweepRow(&body, &s, scales[s.Result])
		}
		body.WriteString("</tbody></table></div>")
		if more := len(section.rows) - sweepRows; more > 0 {
			fmt.Fprintf(&body, "<p class=\"soft\">%d more rows are in %s.</p>", more, html.EscapeString(filepath.Base(o.CSV)))
		}
		body.WriteString("</section>\n")
	}
	lead := fmt.Sprintf("%d of %d runs are done, %d failed.", o.Done, o.Runs, o.Failed)
	if len(o.Poison) > 0 {
		lead += fmt.Sprintf(" %d were given up, as workers were lost while they carried them out.", len(o.Poison))
	}
	return strings.NewReplacer("{{scenario}}", html.EscapeString(o.Scenario), "{{lead}}", html.EscapeString(lead), "{{body}}", body.String()).Replace(sweepPage)
}

// spans returns the least and the most of each number, over all values of what is varied: their pictures have one scale.
func spans(rows []sweep.Summary) map[string][2]float64 {
	scales := map[string][2]float64{}
	for _, s := range rows {
		span, known := scales[s.Result]
		if !known {
			span = [2]float64{s.Min, s.Max}
		}
		scales[s.Result] = [2]float64{min(span[0], s.Min), max(span[1], s.Max)}
	}
	return scales
}

// sweepRow draws a number: a line from its least to its most, a box from quarter to quarter, and the median.
func sweepRow(w *strings.Builder, s *sweep.Summary, scale [2]float64) {
	w.WriteString("<tr>")
	for _, v := range append(append([]string{}, s.Values...), s.Result) {
		fmt.Fprintf(w, "<td class=\"word\">%s</td>", html.EscapeString(v))
	}
	fmt.Fprintf(w, "<td>%d</td><td>%.5g</td><td>%s</td><td>%s</td><td>%.4g</td><td>%.4g</td><td>%.4g</td>", s.N, s.Mean, known("±%.3g", s.CI95), known("%.3g", s.StdDev), s.Min, s.Median, s.Max)
	const width = 200.0
	x := func(v float64) float64 {
		if scale[1] <= scale[0] {
			return width / 2
		}
		return 2 + (width-4)*((v/2-scale[0]/2)/(scale[1]/2-scale[0]/2)) // halves: a float64 holds their difference
	}
	about := fmt.Sprintf("from %.4g to %.4g, half of the runs from %.4g to %.4g, median %.4g", s.Min, s.Max, s.P25, s.P75, s.Median)
	fmt.Fprintf(w, "<td class=\"word\"><svg viewBox=\"0 0 %.0f 18\" role=\"img\" aria-label=\"%s\"><title>%[2]s</title><line class=\"range\" x1=\"%.1f\" x2=\"%.1f\" y1=\"9\" y2=\"9\"/>"+
		"<rect x=\"%.1f\" y=\"4\" width=\"%.1f\" height=\"10\"/><line class=\"median\" x1=\"%.1f\" x2=\"%.1[7]f\" y1=\"2\" y2=\"16\"/></svg></td></tr>\n",
		width, html.EscapeString(about), x(s.Min), x(s.Max), x(s.P25), max(1, x(s.P75)-x(s.P25)), x(s.Median))
}
