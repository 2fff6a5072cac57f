package show

import (
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"metasim/analysis/report"
)

// maxBars is how many clients or pairs a plot has: the most expensive ones.
const maxBars = 16

// The colours of the page.
var (
	workColor  = color.RGBA{0x2f, 0x6b, 0xdb, 0xff}
	waitColor  = color.RGBA{0xf0, 0xb0, 0x4a, 0xff}
	otherColor = color.RGBA{0xc3, 0xca, 0xd6, 0xff}
)

// Plots writes plots of a report to a directory, which is made if it is not there: parallelism, parallelism-simulated,
// utilisation and blame, each as .svg and .png. It overwrites files of these names. It leaves out a plot without content, for example blame if
// no client waited.
func Plots(dir string, r *report.Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, make := range map[string]func(*report.Report) (*plot.Plot, error){
		"parallelism": overWall, "parallelism-simulated": overSim, "utilisation": utilisation, "blame": blame,
	} {
		p, err := make(r)
		if err != nil {
			return fmt.Errorf("the plot %s: %w", name, err)
		}
		if p == nil {
			continue
		}
		for _, form := range []string{"svg", "png"} {
			if err := save(p, form, filepath.Join(dir, name+"."+form)); err != nil {
				return err
			}
		}
	}
	return nil
}

// save writes a plot with a margin, on white.
func save(p *plot.Plot, form, path string) (err error) {
	const width, height, margin = 18 * vg.Centimeter, 10 * vg.Centimeter, 4 * vg.Millimeter
	formatted, err := draw.NewFormattedCanvas(width, height, form)
	if err != nil {
		return err
	}
	c := draw.New(formatted)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	p.Draw(draw.Crop(c, margin, -margin, margin, -margin))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = formatted.WriteTo(f)
	return errors.Join(err, f.Close())
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = 3 * vg.Millimeter
	p.Title.TextStyle.Font.Size = 13
	for _, f := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font,
		&p.Legend.TextStyle.Font,
	} {
		f.Variant = "Sans"
	}
	return p
}

func overWall(r *report.Report) (*plot.Plot, error) {
	return parallelism(r, "wall clock (s)", func(p report.ProfileReport) float64 { return p.EndS })
}

func overSim(r *report.Report) (*plot.Plot, error) {
	return parallelism(r, "simulated time (s)", func(p report.ProfileReport) float64 { return float64(p.EndNS) / 1e9 })
}

// parallelism draws how many clients computed at once. Samples that end at the same place are joined.
func parallelism(r *report.Report, axis string, end func(report.ProfileReport) float64) (*plot.Plot, error) {
	var points plotter.XYs
	begin, at, sum, weight := 0.0, 0.0, 0.0, 0.0
	for _, s := range r.Profile {
		sum += s.Computing * (s.EndS - begin)
		weight += s.EndS - begin
		begin = s.EndS
		if to := end(s); to > at && weight > 0 {
			points = append(points, plotter.XY{X: at, Y: sum / weight}, plotter.XY{X: to, Y: sum / weight})
			at, sum, weight = to, 0, 0
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	p := newPlot(r.Scenario+": how many clients computed at once", axis, "clients")
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.Color, line.FillColor, line.Width = workColor, color.RGBA{0xbf, 0xd2, 0xf5, 0xff}, vg.Points(0.8)
	p.Add(plotter.NewGrid(), line)
	p.Y.Min = 0
	return p, nil
}

// utilisation draws what each client did with the run.
func utilisation(r *report.Report) (*plot.Plot, error) {
	clients := r.ByCost()
	parts := []part{{name: "computed", color: workColor}, {name: "waited", color: waitColor}, {name: "neither", color: otherColor}}
	var names []string
	for _, c := range clients[:min(len(clients), maxBars)] {
		names = append(names, c.Name)
		for i, took := range []float64{c.WorkS, c.BlockedS, c.OverheadS} {
			parts[i].values = append(parts[i].values, took)
		}
	}
	p, err := bars(r.Scenario+": what the clients did", names, parts...)
	if p != nil {
		p.Legend.Top, p.Legend.Padding = true, vg.Millimeter
		p.X.Max = max(r.WallS, 1e-12) * 1.25 // room for the legend
	}
	return p, err
}

// blame draws which client waited for which.
func blame(r *report.Report) (*plot.Plot, error) {
	waited := part{color: waitColor}
	var names []string
	for _, b := range r.Blame[:min(len(r.Blame), maxBars)] {
		names = append(names, b.Waiting+" for "+r.Holder(b))
		waited.values = append(waited.values, b.BlockedS)
	}
	return bars(r.Scenario+": which client waited for which", names, waited)
}

// A part is one part of every bar. The legend has its name, if it has one.
type part struct {
	name   string
	color  color.Color
	values plotter.Values
}

// bars draws a bar for each name, the first one at the top: its parts one after another. It returns nil if there are no names.
func bars(title string, names []string, parts ...part) (*plot.Plot, error) {
	if len(names) == 0 {
		return nil, nil
	}
	p := newPlot(title, "wall clock (s)", "")
	slices.Reverse(names) // plotter begins at the bottom
	var below *plotter.BarChart
	for _, part := range parts {
		slices.Reverse(part.values)
		bars, err := plotter.NewBarChart(part.values, 150/vg.Length(max(len(names), 8)))
		if err != nil {
			return nil, errors.Join(errors.New("bars cannot be drawn"), err)
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, part.color, 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		if part.name != "" {
			p.Legend.Add(part.name, bars)
		}
	}
	p.X.Min = 0
	p.NominalY(names...)
	return p, nil
}
