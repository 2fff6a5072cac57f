package lockstep

import (
	"context"
	"encoding/binary"
	"errors"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/metasim"
)

// meterOf takes the publication to the meter of a world, if it has one. It returns the others.
func meterOf(in *catalog.Instance, out []*client.Publication) (m meter, rest []*client.Publication, err error) {
	name, has := catalog.Find[string](in, "meter")
	if !has {
		return m, out, nil
	}
	secondaries, _ := catalog.Find[[]string](in, "secondaries")
	if len(secondaries) == 0 {
		return m, out, errors.New("meter measures secondaries, and there are none; name them with secondaries, or leave it out")
	}
	_, cost := catalog.MeterChannels(in.Name)
	return meter{out[0], cost, name, len(secondaries)}, out[1:], nil
}

// Meter is the model world-meter: when a world asks, it tells how much processor time its secondaries have taken since it was asked last.
func Meter(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	if in.Busy == nil {
		return errors.New("a world-meter runs in the process of the run alone, as that knows what clients take; let metasim run or metasim world run start it")
	}
	secondaries := catalog.Get[[]string](in, "secondaries")
	last := make([]metasim.Time, len(secondaries))
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		for range messages {
			var b []byte
			for k, name := range secondaries {
				now := in.Busy(name)
				b = binary.LittleEndian.AppendUint64(b, uint64(max(0, now-last[k])))
				last[k] = now
			}
			if err := out[0].PublishOwned(b); err != nil {
				return err
			}
		}
		if errors.Is(err, client.ErrEnd) {
			return loop.Finish(ctx, c, nil)
		}
		if err != nil {
			return err
		}
	}
}
