package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metasim/federates/cartpole"
	"metasim/metasim"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

// flagship is the scenario of the demo.
const flagship = "cart-pole.metasim.yaml"

// A demoRun is one run of the demo.
type demoRun struct {
	title     string
	set       []string
	transport string
}

var demoRuns = []demoRun{
	{"The network takes 5 to 6 ms and loses 2 % of all messages: the pole stands.", nil, "mem"},
	{"The same again, each client in a process of its own over a unix socket: the digest is the same.", nil, "unix"},
	{"Every link takes 40 ms: what the controller sees is too old, and the pole falls.", []string{"links[0].delay=40ms"}, "mem"},
}

// A demo is what the demo has done so far.
type demo struct {
	dir   string // of the scenario and its runs
	html  string // the picture; empty: none
	until metasim.Time
	parts []plotPart
}

func newDemo(std streams) *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Balance a pole over a bad network, twice the same, and then lose it",
		Long: "Run the flagship scenario: a cart with a pole on it (1 kHz), an estimator and a controller (100 Hz) are three\n" +
			"clients on a network that delays and loses messages. At the end it prints commands to go on with.",
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return failed(d.run(cmd.Context(), std)) },
	}
	cmd.Flags().StringVar(&d.dir, "out", "", "put the scenario and its runs into this new `directory` (default: one below the directory for temporary files)")
	cmd.Flags().StringVar(&d.html, "html", "", "draw the pole of each run on a page, this `file`, for a browser")
	return cmd
}

func (d *demo) run(ctx context.Context, std streams) (err error) {
	if d.dir == "" {
		d.dir, err = os.MkdirTemp("", "metasim-demo-")
	} else if err = os.Mkdir(d.dir, 0o755); err != nil {
		err = fmt.Errorf("%w; name a directory that there is not yet", err)
	}
	if err != nil {
		return err
	}
	text, err := scenarios.Shipped.ReadFile(flagship)
	if err == nil {
		err = os.WriteFile(filepath.Join(d.dir, flagship), text, 0o644)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(std.out, "A cart with a pole on it, an estimator and a controller: three clients, one deterministic simulation.")
	for i, r := range demoRuns {
		if err := d.carryOut(ctx, r, filepath.Join(d.dir, fmt.Sprint(i+1)), std); err != nil {
			return err
		}
	}
	if d.html != "" {
		if err := writeDemoPage(d.html, d.until.String(), d.parts); err != nil {
			return fmt.Errorf("the page of the demo cannot be written: %w", err)
		}
		fmt.Fprintf(std.out, "\nThe pole of each run, for a browser: %s\n", shellWord(d.html))
	}
	d.printCommands(std)
	return nil
}

// printCommands prints what to try next. Each works as it is printed, in a shell in this directory.
func (d *demo) printCommands(std streams) {
	self := os.Args[0]
	if path, err := exec.LookPath(filepath.Base(self)); err == nil && sameFile(path, self) {
		self = filepath.Base(self)
	}
	in := func(name string) string { return shellWord(filepath.Join(d.dir, name)) }
	fmt.Fprintf(std.out, "\nTry it:\n")
	for _, c := range []struct{ what, line string }{
		{"a network in between", fmt.Sprintf("run %s --set 'links[0].delay=25ms' --until 6s --out %s", in(flagship), in("4"))},
		{"the first two are the same, to the last message", fmt.Sprintf("diff %s %s", in("1"), in("2"))},
		{"what the first one cost, and why", "report " + in("1")},
		{"the third again, from its record", "replay " + in("3")},
	} {
		fmt.Fprintf(std.out, "  # %s\n  %s %s\n", c.what, shellWord(self), c.line)
	}
	fmt.Fprintf(std.out, "All of it is in %s, which nothing removes.\n", d.dir)
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, e := os.Stat(b)
	return err == nil && e == nil && os.SameFile(one, other)
}

// shellWord writes a word for a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_-./:=@+,", r))
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// carryOut runs the scenario once and draws the angle of the pole as it was measured.
func (d *demo) carryOut(ctx context.Context, r demoRun, dir string, std streams) error {
	text, err := scenarios.Shipped.ReadFile(flagship)
	if err != nil {
		return err
	}
	sc, _, err := scenarios.Parse(flagship, text, scenarios.Overrides{Set: r.set, Until: "6s"})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := run.Scenario(ctx, sc, run.Options{Transport: r.transport, Out: dir, Self: []string{self}, Log: newLogger(std.err, false)})
	if err != nil {
		return err
	}
	if !out.OK {
		return out.Err
	}
	log, err := record.ReadLog(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "\n%s\n\n", r.title)
	var c chart
	part := plotPart{Title: r.title, Digest: out.Digest, Transport: r.transport}
	for _, p := range log.Messages {
		if p.Channel != "CARTPOLE_SENSORS" {
			continue
		}
		m, err := cartpole.DecodeMeasurement(p.Payload)
		if err != nil {
			return err
		}
		part.poles = append(part.poles, pole{float64(m.Time) / float64(sc.Until), m.Angle * 180 / math.Pi})
		c.add(float64(m.Time)/float64(sc.Until), m.Angle*180/math.Pi)
	}
	// In the log the lost messages come last.
	slices.SortStableFunc(part.poles, func(a, b pole) int { return cmp.Compare(a.share, b.share) })
	d.until, d.parts = sc.Until, append(d.parts, part)
	c.draw(std.out, "angle of the pole, degrees", fmt.Sprintf("0 to %v of simulated time", sc.Until))
	for _, cl := range out.Clients {
		fmt.Fprintf(std.out, "  %s: %s\n", cl.Name, cl.Result)
	}
	fmt.Fprintf(std.out, "  %d messages sent, %d lost; %v simulated in %s over %s\n  digest %s\n", out.Messages.Sent, out.Messages.Dropped,
		metasim.Time(out.EndNS), secondsText(out.WallS), r.transport, out.Digest)
	return nil
}

// A chart draws points as braille characters: each character is a cell of 2 by 4 dots.
type chart [chartHeight][chartWidth]rune

const (
	chartWidth, chartHeight = 72, 9
	chartLimit              = 12.0 // a value beyond ±chartLimit is drawn at the edge
	dotsAcross, dotsDown    = 2, 4
	noDots                  = '\u2800'
)

// dotBits are the bits of a braille character, by row and column of the dot.
var dotBits = [dotsDown][dotsAcross]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// add draws the point (x, y), x in [0, 1).
func (c *chart) add(x, y float64) {
	const across, down = chartWidth * dotsAcross, chartHeight * dotsDown
	column := min(max(int(x*across), 0), across-1)
	row := min(max(int(math.Round((1-y/chartLimit)/2*(down-1))), 0), down-1)
	c[row/dotsDown][column/dotsAcross] |= dotBits[row%dotsDown][column%dotsAcross]
}

// draw writes the chart with a title above and the meaning of the horizontal axis below. A line of small dots marks zero.
func (c *chart) draw(w io.Writer, title, below string) {
	fmt.Fprintf(w, "  %s\n", title)
	for i := range c {
		label := "      "
		switch i {
		case 0:
			label = fmt.Sprintf("%+6g", chartLimit)
		case chartHeight / 2:
			label = "     0"
		case chartHeight - 1:
			label = fmt.Sprintf("%+6g", -chartLimit)
		}
		var line strings.Builder
		for _, dots := range c[i] {
			switch {
			case dots != 0:
				line.WriteRune(noDots | dots)
			case i == chartHeight/2:
				line.WriteRune('·')
			default:
				line.WriteByte(' ')
			}
		}
		fmt.Fprintf(w, "%s │%s\n", label, strings.TrimRight(line.String(), " "))
	}
	fmt.Fprintf(w, "       └%s\n        %s\n", strings.Repeat("─", chartWidth), below)
}
