package lockstep

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/levels"
	"metasim/federates/loop"
	"metasim/metasim"
)

// A secondaryResult is what a secondary leaves with.
type secondaryResult struct {
	Steps uint64 `json:"steps"`
}

// A Secondary is the model world-secondary: it moves a part of the models of a world. Its state can be saved.
type Secondary struct{ levels.Secondary }

// Run takes part in a run.
func (s *Secondary) Run(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
	defer s.Stop()
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		for _, m := range messages {
			ack, next, err := s.Do(m.Seq, m.Payload)
			if err != nil {
				return fmt.Errorf("from client %q: %w", m.From, err)
			}
			if ack == nil {
				continue // it has come before
			}
			if err := out[0].PublishOwned(ack); err != nil {
				return err
			}
			if next > c.Now().Time && !s.Failed() {
				if err := c.PromiseThenWait(next); err != nil {
					return err
				}
			}
		}
		if s.Failed() || errors.Is(err, client.ErrEnd) {
			return loop.Finish(ctx, c, secondaryResult{s.Steps()}) // of a failure the world says why
		}
		if err != nil {
			return err
		}
	}
}

// A carrier takes the orders of a world to its secondaries: messages of one instant, whose answers come at the next step of the same time.
type carrier struct {
	*link
	names  []string
	orders []*client.Publication
	asked  []bool // by secondary: it was sent the last orders
}

// Begin publishes orders. Who does not take part gets none.
func (c *carrier) Begin(orders [][]byte) error {
	c.asked = c.asked[:0]
	for k, b := range orders {
		c.asked = append(c.asked, b != nil)
		if b == nil {
			continue
		}
		if err := c.orders[k].PublishOwned(b); err != nil {
			return err
		}
	}
	return nil
}

// After returns the time of the run at which the world is due so much later. It is behind that time where acknowledgements were late.
func (c *carrier) After(step metasim.Time) metasim.Time { return c.due(step) }

// Acknowledgements waits for the acknowledgements of all.
func (c *carrier) Acknowledgements() ([][]byte, error) {
	acks := make([][]byte, len(c.names))
	ctx, cancel := c.bounded(&lateError{c})
	defer cancel()
	for len(c.late(acks)) > 0 {
		messages, err := c.client.Next(ctx, metasim.Forever)
		switch {
		case errors.Is(err, client.ErrEnd):
			if end, ends := c.client.Until(); ends {
				return nil, fmt.Errorf("the secondaries %v have not acknowledged before the run ends at %v; let it end later, or give the world iterations, and let a client of the model world-secondary be there for each",
					c.late(acks), end.Time)
			}
			return nil, fmt.Errorf("the secondaries %v have left, or were never there; add a client of the model world-secondary for each", c.late(acks))
		case err != nil:
			return nil, err
		}
		for _, m := range messages {
			if heard, err := c.hear(m); err != nil {
				return nil, err
			} else if heard {
				continue
			}
			k := slices.IndexFunc(c.names, func(name string) bool {
				_, ack := catalog.SecondaryChannels(c.client.Name(), name)
				return m.Channel == ack
			})
			switch {
			case k < 0:
				return nil, unasked(m)
			case m.From != c.names[k]:
				return nil, fmt.Errorf("client %q acknowledges in the place of the secondary %s; let only that publish on %s", m.From, c.names[k], m.Channel)
			case acks[k] != nil || !c.asked[k]:
				return nil, fmt.Errorf("secondary %s has acknowledged one order twice", c.names[k])
			}
			acks[k], c.acks[m.Channel].next = m.Payload, m.Seq+1
		}
	}
	return acks, nil
}

// late returns the names of those who were asked and have not acknowledged.
func (c *carrier) late(acks [][]byte) (late []string) {
	for k, b := range acks {
		if b == nil && c.asked[k] {
			late = append(late, c.names[k])
		}
	}
	return late
}

// A lateError says that secondaries have not acknowledged. Those that have are not known here: their acknowledgements come with the last one. So the server says whom the world waited for.
type lateError struct{ of *carrier }

func (e *lateError) Error() string {
	asked := 0
	for _, was := range e.of.asked {
		if was {
			asked++
		}
	}
	return fmt.Sprintf("not all of the %d secondaries that it asked have acknowledged within %v of real time, the timeout of the world; see in the log of the one that it waited for what that does, or raise the timeout", asked, e.of.timeout)
}
