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
		catalog.LogCheck
		Back uint64 `json:"back_events,omitempty"` // stamped earlier than an event before them; published at the time of that event
	}
	at := dues(in)
	pubs := byChannel(out)
	check, err := catalog.EachEvent(in, func(e lcm.Event) error {
		due, late := at(e.Time)
		if _, err := c.Step(ctx, due); err != nil {
			return err
		}
		pub := pubs[e.Channel]
		if pub == nil {
			return fmt.Errorf("%s: channel %q was not there when the run began; leave the log alone while it runs",
				catalog.Get[string](in, "file"), e.Channel)
		}
		if result.Published++; late {
			result.Back++
		}
		return pub.PublishOwned(e.Payload)
	})
	if err != nil && !errors.Is(err, client.ErrEnd) {
		return err
	}
	result.LogCheck = check
	return loop.Finish(ctx, c, result)
}

// dues returns a function that turns the stamps of a log into simulated time. It reports late for an event whose stamp is earlier than
// one before it.
func dues(in *catalog.Instance) func(stamp int64) (due metasim.Time, late bool) {
	var clock lcm.Clock
	start, speed := catalog.Get[metasim.Time](in, "start"), catalog.Get[float64](in, "speed")
	if start == catalog.Recorded {
		start, _ = clock.Elapsed(0) // stamps count from the start of the run
	}
	return func(stamp int64) (metasim.Time, bool) {
		elapsed, back := clock.Elapsed(stamp)
		return start.Add(scaled(elapsed, speed)), back > 0
	}
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
