package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
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

func newDemo(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Balance a pole over a bad network, twice the same, and then lose it",
		Long: "Run the flagship scenario: a cart with a pole on it (1 kHz), an estimator and a controller (100 Hz) are three\n" +
			"clients on a network that delays and loses messages.",
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := os.MkdirTemp("", "metasim-demo-")
			if err != nil {
				return failed(err)
			}
			fmt.Fprintln(std.out, "A cart with a pole on it, an estimator and a controller: three clients, one deterministic simulation.")
			for i, r := range demoRuns {
				if err := r.run(cmd.Context(), filepath.Join(dir, fmt.Sprint(i+1)), std); err != nil {
					return failed(errors.Join(err, os.RemoveAll(dir)))
				}
			}
			fmt.Fprintf(std.out, "\nTry it: metasim run scenarios/%s --set links[0].delay=25ms\n", flagship)
			return failed(os.RemoveAll(dir))
		},
	}
}

// run runs the scenario once and draws the angle of the pole as it was measured.
func (r demoRun) run(ctx context.Context, dir string, std streams) error {
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
	for _, p := range log.Messages {
		if p.Channel != "CARTPOLE_SENSORS" {
			continue
		}
		m, err := cartpole.DecodeMeasurement(p.Payload)
		if err != nil {
			return err
		}
		c.add(float64(m.Time)/float64(sc.Until), m.Angle*180/math.Pi)
	}
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
