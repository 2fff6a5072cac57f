package federates

import (
	"context"
	"errors"
	"fmt"
	"math"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/lcm"
	"metasim/metasim"
)

// lcmlog is the model of that name: it publishes the events of an LCM event log. The catalog has read the log once for its
// channels; here it is read again, and nothing of it stays in memory.
func lcmlog(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	var result struct {
		Published uint64 `json:"published"`
		Skipped   int64  `json:"skipped_bytes"`
	}
	var clock lcm.Clock
	file, speed := catalog.Get[string](in, "file"), catalog.Get[float64](in, "speed")
	pubs := byChannel(out)
	skipped, err := catalog.EachEvent(in.Env, file, func(e lcm.Event) error {
		elapsed, _ := clock.Elapsed(e.Time) // an event stamped before the one ahead of it goes out with that one
		if _, err := c.Step(ctx, scaled(elapsed, speed)); err != nil {
			return err
		}
		pub := pubs[e.Channel]
		if pub == nil {
			return fmt.Errorf("%s: channel %q was not there when the run began; leave the log alone while it runs", file, e.Channel)
		}
		result.Published++
		return pub.Publish(e.Payload)
	})
	if err != nil && !errors.Is(err, client.ErrEnd) {
		return err
	}
	result.Skipped = skipped
	return loop.Finish(ctx, c, result)
}

func byChannel(out []*client.Publication) map[string]*client.Publication {
	pubs := make(map[string]*client.Publication, len(out))
	for _, pub := range out {
		pubs[pub.Channel()] = pub
	}
	return pubs
}

// scaled returns t / speed, to the nearest nanosecond.
func scaled(t metasim.Time, speed float64) metasim.Time {
	if speed == 1 || t == metasim.Forever {
		return t // a float64 would round times above 104 days
	}
	x := math.Round(float64(t) / speed)
	if x >= math.MaxInt64 {
		return metasim.Forever
	}
	return metasim.Time(x)
}
