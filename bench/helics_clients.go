package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"metasim/client"
	"metasim/metasim"
)

// An echoCentre returns what each leaf sends, until nothing happens for long.
type echoCentre struct {
	In     string
	Leaves int
	pubs   map[string]*client.Publication
}

func (e *echoCentre) Declare(b *client.Builder) error {
	e.pubs = map[string]*client.Publication{}
	for i := range e.Leaves {
		e.pubs[leafName(i)] = b.Publication(leafIn(i))
	}
	return b.Subscribe(e.In, nil)
}

func (e *echoCentre) Run(ctx context.Context, c *client.Client) error {
	const wait, dead = 150 * metasim.Millisecond, 100 * metasim.Millisecond
	for c.Now().Time <= dead {
		messages, err := c.Next(ctx, wait)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if err := e.pubs[m.From].PublishOwned(m.Payload); err != nil {
				return err
			}
		}
	}
	return nil
}

func leafName(i int) string { return fmt.Sprintf("leaf-%03d", i) }
func leafIn(i int) string   { return fmt.Sprintf("LEAFRX-%03d", i) }

// leafScenario is a star: an echoCentre and its leaves, which step a nanosecond at a time. With endpoint all leaves send to one channel.
func leafScenario(leaves, steps, publish int, endpoint bool) scenario {
	c := scenario{links: uniform(1)}
	out, outs := func(i int) string { return fmt.Sprintf("LEAFSEND-%03d", i) }, "LEAFSEND-.*"
	if endpoint {
		out, outs = func(int) string { return "ECHO" }, "ECHO"
	}
	c.clients = append(c.clients, participant{"centre", &echoCentre{In: outs, Leaves: leaves}})
	for i := range leaves {
		c.clients = append(c.clients, participant{leafName(i), &stepper{
			ports: ports{Out: out(i), In: leafIn(i)}, Tick: 1, Steps: steps, Publish: publish,
		}})
	}
	return c
}

// An exchanger sends a burst whenever it gets one.
type exchanger struct {
	ports
	Size, Messages int
	Until          metasim.Time
}

func (e *exchanger) Run(ctx context.Context, c *client.Client) error {
	payload := make([]byte, e.Size)
	for c.Now().Time < e.Until {
		for range e.Messages {
			if err := e.out.PublishOwned(payload); err != nil {
				return err
			}
		}
		// HELICS advances by 10 ns, and is woken by the mail of the next one.
		if _, err := c.Next(ctx, c.Now().Time+10); err != nil && !errors.Is(err, client.ErrEnd) {
			return err
		}
	}
	return nil
}

// tokens are how many a client of wattsStrogatz begins with.
const tokens = 10

// A forwarder passes each token on to a client drawn from its links.
type forwarder struct {
	Index int
	Links []int
	pubs  []*client.Publication
}

func tokenChannel(i int) string { return fmt.Sprintf("TOKEN-%02d", i) }

func (f *forwarder) Declare(b *client.Builder) error {
	for _, i := range f.Links {
		f.pubs = append(f.pubs, b.Publication(tokenChannel(i)))
	}
	return b.Subscribe(tokenChannel(f.Index), nil)
}

func (f *forwarder) Run(ctx context.Context, c *client.Client) error {
	r := rand.New(rand.NewPCG(1, uint64(f.Index)))
	for range tokens {
		if err := f.pubs[r.IntN(len(f.pubs))].PublishOwned(make([]byte, 100)); err != nil {
			return err
		}
	}
	return each(ctx, c, metasim.Forever, func(m client.Message) error {
		return f.pubs[r.IntN(len(f.pubs))].PublishOwned(m.Payload)
	})
}

// wattsScenario is n clients with directed links to their next ones, some of them rewired to other clients; every link takes
// 10 ns, and a token makes that many hops.
func wattsScenario(n, degree int, rewired float64, hops int) scenario {
	r := rand.New(rand.NewPCG(1, 1))
	c := scenario{links: uniform(10), until: metasim.Time(10*hops) + 1}
	for i := range n {
		f := &forwarder{Index: i}
		for d := range degree - 1 {
			to := (i + 1 + d) % n
			if r.Float64() < rewired {
				for to == i || slices.Contains(f.Links, to) {
					to = r.IntN(n)
				}
			}
			f.Links = append(f.Links, to)
		}
		c.clients = append(c.clients, participant{fmt.Sprintf("lp-%02d", i), f})
	}
	return c
}
