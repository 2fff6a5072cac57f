package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"metasim/federates/cartpole"
	"metasim/metasim"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

// flagship is the scenario of the demo.
const flagship = "cart-pole.metasim.yaml"

// An act is one run of the demo.
type act struct {
	title     string
	set       []string
	transport string
}

var acts = []act{
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
			for i, a := range acts {
				if err := a.perform(cmd.Context(), filepath.Join(dir, fmt.Sprint(i+1)), std); err != nil {
					return failed(errors.Join(err, os.RemoveAll(dir)))
				}
			}
			fmt.Fprintf(std.out, "\nTry it: metasim run scenarios/%s --set links[0].delay=25ms\n", flagship)
			if err := os.RemoveAll(dir); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

// perform runs the scenario once and draws the pole's angle as it was measured.
func (a act) perform(ctx context.Context, dir string, std streams) error {
	text, err := scenarios.Shipped.ReadFile(flagship)
	if err != nil {
		return err
	}
	sc, _, err := scenarios.Parse(flagship, text, scenarios.Overrides{Set: a.set, Until: "6s"})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := run.Scenario(ctx, sc, run.Options{Transport: a.transport, Out: dir, Self: []string{self}, Log: newLogger(std.err, false)})
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
	fmt.Fprintf(std.out, "\n%s\n\n", a.title)
	const width, height, limit = 72, 9, 12 // columns, rows, degrees
	c := newChart(width, height, limit)
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
		metasim.Time(out.EndNS), seconds(out.WallS), a.transport, out.Digest)
	return nil
}
