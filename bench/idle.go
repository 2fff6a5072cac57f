package bench

import (
	"context"
	"fmt"

	"metasim/client"
	"metasim/federates"
	"metasim/metasim"
	"metasim/server"
)

// A beacon has something to say once in a long while.
type beacon struct {
	ports
	Events int
	Gap    metasim.Time
}

func (l *beacon) Run(ctx context.Context, c *client.Client) error {
	for i := range l.Events {
		if _, err := c.Next(ctx, metasim.Time(i+1)*l.Gap); err != nil {
			return err
		}
		if err := l.out.PublishOwned(make([]byte, 8)); err != nil {
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
		p := ports{In: fmt.Sprintf("CHAIN-%02d", i), Out: fmt.Sprintf("CHAIN-%02d", (i+1)%n)}
		var s federates.Participant = &relay{ports: p, Mute: i == n-1}
		if i == 0 {
			s = &beacon{ports: p, Events: events, Gap: gap}
		}
		c.clients = append(c.clients, participant{fmt.Sprintf("link-%02d", i), s})
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
