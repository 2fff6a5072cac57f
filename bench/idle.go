package bench

import (
	"context"
	"fmt"

	"metasim/client"
	"metasim/metasim"
	"metasim/server"
)

// A chainLink passes on what comes; the first one of a chain has something to say once in a long while.
type chainLink struct {
	In, Out string // empty: none
	Back    string // a channel from the last one to the first, on which nothing is ever published
	Events  int    // of the first one
	Gap     metasim.Time
	out     *client.Publication
}

func (l *chainLink) declare(b *client.Builder) error {
	if l.Out != "" {
		l.out = b.Publication(l.Out)
	}
	if l.In == "" {
		return b.Subscribe(l.Back, nil)
	}
	if l.Out == "" {
		b.Publication(l.Back)
	}
	return b.Subscribe(l.In, nil)
}

func (l *chainLink) run(ctx context.Context, c *client.Client) error {
	if l.In != "" {
		return each(ctx, c, metasim.Forever, func(m client.Message) error {
			if l.out == nil {
				return nil
			}
			return l.out.Publish(m.Payload)
		})
	}
	for i := range l.Events {
		if _, err := c.Next(ctx, metasim.Time(i+1)*l.Gap); err != nil {
			return err
		}
		if err := l.out.Publish(make([]byte, 8)); err != nil {
			return err
		}
	}
	return nil
}

// idleDelay is the delay of the links of an idle chain.
const idleDelay = metasim.Microsecond

// idleScenario is a chain of clients down which an event runs, and then nothing happens for a long time. The last one has a
// link to the first, on which nothing is ever sent: so each client waits for all others, a delay at a time if the server
// does not look further.
func idleScenario(n, events int, gap metasim.Time) scenario {
	c := scenario{links: uniform(idleDelay)}
	for i := range n {
		l := &chainLink{In: fmt.Sprintf("CHAIN-%02d", i), Out: fmt.Sprintf("CHAIN-%02d", i+1), Back: "BACK", Events: events, Gap: gap}
		if i == 0 {
			l.In = ""
		}
		if i == n-1 {
			l.Out = ""
		}
		c.clients = append(c.clients, participant{fmt.Sprintf("link-%02d", i), l})
	}
	return c
}

// idle counts the frames for one event, with short gaps and with long ones: it should be the same.
func idle() (list []workload) {
	const n = 16
	for _, gap := range []int{100, 1_000_000} {
		p := Params{"clients": n, "gap": fmt.Sprintf("%d delays", gap), "transport": "unix"}
		list = append(list, workload{
			name: "idle chain", params: p, unit: "frames/event", cost: true, once: true, first: 100,
			measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
				c := idleScenario(n, amount, metasim.Time(gap)*idleDelay)
				r, err := h.run(ctx, c, placement{transport: "unix"})
				grants := uint64(0)
				for _, c := range r.Clients {
					grants += c.Grants
				}
				return sample{value: frames(r) / float64(amount), took: r.Wall, more: []Result{
					{Name: "idle chain", Params: p, Value: float64(grants) / float64(amount), Unit: "grants/event"},
					{Name: "idle chain", Params: p, Value: float64(r.Wakeups) / float64(amount), Unit: "wake-ups/event"},
				}}, err
			},
		})
	}
	return list
}

// frames counts those of both directions.
func frames(r server.Result) float64 { return float64(r.Traffic.FramesIn + r.Traffic.FramesOut) }
