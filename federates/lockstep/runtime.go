package lockstep

import (
	"context"
	"fmt"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/federates/sdf"
)

// A runtimeResult is what a runtime leaves with.
type runtimeResult struct {
	Plugin string  `json:"plugin"`
	State  string  `json:"state"`
	Calls  uint64  `json:"calls"`       // steps in which it was called
	Rate   float64 `json:"update_rate"` // calls in a second of simulated time, from the first to the last; 0: fewer than two
}

// Runtime is the model lockstep-runtime: it runs one system of a world.
func Runtime(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	topics, _ := catalog.Find[[]string](in, "topics")
	told, out := tellers(topics, out)
	own, err := readConfig(in)
	if err != nil {
		return err
	}
	m := &machine{make: makeSystem, state: initialized, topics: topics, own: own}
	result := runtimeResult{State: m.state.String()}
	return loop.Receive(ctx, c, &result, func(msg client.Message) error {
		asked, err := decodeCall(msg.Payload)
		if err != nil {
			return fmt.Errorf("from client %q: %w", msg.From, err)
		}
		answer := m.call(asked)
		result.State, result.Calls, result.Rate = m.state.String(), m.calls, m.rate()
		if asked.plugin != nil {
			result.Plugin = asked.plugin.Name
		}
		b, err := answer.encode()
		if err != nil {
			return err
		}
		if err := told.publish(m.told()); err != nil {
			return err
		}
		if err := out[0].PublishOwned(b); err != nil {
			return err
		}
		if m.state == failed {
			return loop.ErrDone // the world says why
		}
		if asked.next > c.Now().Time {
			return c.Promise(asked.next)
		}
		return nil
	})
}

// makeSystem makes a system, which must have something to do.
func makeSystem(p *sdf.Plugin) (any, error) {
	s, err := newSystem(p)
	if err != nil {
		return nil, at(p.Place, err)
	}
	if s == nil {
		return nil, at(p.Place, fmt.Errorf("system %s has nothing to do here; take it out of the world", p.Name))
	}
	return s, nil
}
