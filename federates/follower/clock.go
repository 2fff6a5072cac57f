package follower

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/follower/frames"
	"metasim/federates/follower/packing"
	"metasim/federates/loop"
	"metasim/metasim"
)

// A clusterResult is what a director leaves with.
type clusterResult struct {
	frames.Totals
	// Warning says what keeps the cluster from its rate.
	Warning string `json:"warning,omitempty"`
}

// Director is the model director.
func Director(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	fraction := catalog.Get[catalog.Fraction](in, "frame_rate")
	cfg := frames.Config{
		Rate:   frames.Rate(fraction).Slower(uint32(catalog.Get[int64](in, "fraction"))),
		Frames: math.MaxUint64, Sync: catalog.Get[bool](in, "sync"), Patience: catalog.Get[metasim.Time](in, "patience"),
		Scene: uint32(catalog.Get[int64](in, "scene")),
	}
	if n, ok := catalog.Find[int64](in, "frames"); ok {
		cfg.Frames = uint64(n)
	}
	bounded, _ := catalog.Find[int64](in, "bounded") // absent is 0: nothing is discarded
	cfg.Bounded = int(bounded)
	cfg.Nodes, _ = catalog.Find[[]string](in, "nodes")
	cfg.Reset, _ = catalog.Find[[]uint64](in, "reset")
	cfg.Streams, _ = catalog.Find[[]uint64](in, "streams_changed")
	views, err := viewsOf(in)
	if err != nil {
		return err
	}
	cfg.Views, cfg.Every = views, uint64(catalog.Get[int64](in, "pictures_every"))
	cfg.Packing = uint8(slices.Index(packing.Kinds, catalog.Get[string](in, "packing"))) // one of them: the catalog has looked
	var wholes *client.Publication
	if _, cfg.Wholes = catalog.Find[string](in, "wholes"); cfg.Wholes {
		wholes, out = out[0], out[1:]
	}
	commands, _ := catalog.Find[string](in, "commands")
	d := frames.NewDirector(cfg)
	_, replies, _ := catalog.FollowerChannels(in.Name)
	var real pace
	for !d.Over() {
		messages, err := c.Next(ctx, d.Wake())
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		if err := hear(d, messages, replies, commands); err != nil {
			return err
		}
		orders, wrong := d.Tick(c.Now().Time)
		if err := publish(out[0], orders); err != nil {
			return err
		}
		if wrong != nil {
			return wrong
		}
		bytes, nodes := d.State()
		if text := real.note(time.Now(), d.Totals.Frames, time.Duration(cfg.Rate.Time(1)), bytes, nodes); text != "" {
			fmt.Fprintf(os.Stderr, "metasim: the cluster of %s: %s\n", in.Name, text) // no part of the result, which is the same in each run
		}
		if err := publish(wholes, d.Wholes()); err != nil {
			return err
		}
	}
	r := clusterResult{Totals: d.Totals}
	r.Warning = lateness(d.Totals, cfg.Rate.Time(1), cfg.Bounded > 0)
	return loop.Finish(ctx, c, r)
}

// lateness says what came of frames that took longer than they have, and what helps. Empty: there were none.
func lateness(t frames.Totals, each metasim.Time, bounded bool) string {
	effect, remedy := "the cluster became slower", "the state fewer bytes, or set bounded"
	if bounded {
		effect, remedy = fmt.Sprintf("%d frames were discarded", t.Discarded), "or the state fewer bytes"
	}
	if t.Late == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d frames took longer than the %v of a frame, and %s; give nodes less load, links more bandwidth, %s", t.Late, t.Frames, each, effect, remedy)
}

// hear gives a director what has come: of nodes, commands, and from outside.
func hear(d *frames.Director, messages []client.Message, replies, commands string) (err error) {
	for _, m := range messages {
		switch {
		case m.Channel == replies:
			peer := new(PeerError)
			if err = d.Reply(m.From, m.Payload); errors.As(err, &peer) && d.Charge(peer) {
				err = nil
			}
		case m.Channel == commands:
			err = command(d, m)
		default:
			d.Input(m.Payload)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// command carries out what a command says to the director.
func command(d *frames.Director, m client.Message) error {
	c, _, err := commandOf(m)
	if err == nil && c.Sync != nil {
		d.SetSync(*c.Sync)
	}
	if err == nil && c.Quit {
		d.Quit()
	}
	return err
}
