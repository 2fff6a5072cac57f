package bench

import (
	"context"
	"fmt"

	"metasim/client"
	"metasim/metasim"
)

// A pinger publishes 64 bytes, and waits for the answer; or it answers.
type pinger struct {
	Out, In string
	Rounds  int // 0: it answers
	out     *client.Publication
}

func (p *pinger) declare(b *client.Builder) error {
	p.out = b.Publication(p.Out)
	return b.Subscribe(p.In, nil)
}

func (p *pinger) run(ctx context.Context, c *client.Client) error {
	if p.Rounds == 0 {
		return each(ctx, c, metasim.Forever, func(m client.Message) error { return p.out.Publish(m.Payload) })
	}
	payload := make([]byte, 64)
	for range p.Rounds {
		if err := p.out.Publish(payload); err != nil {
			return err
		}
		messages, err := c.Next(ctx, metasim.Forever)
		if err != nil {
			return err
		}
		if len(messages) != 1 {
			return fmt.Errorf("%d answers to one message", len(messages))
		}
	}
	return nil
}

// pingPong is two clients through a server: both in processes of their own, so that a round trip is four messages between
// processes; or one of them with the server, so that it is two, as in the floor.
func pingPong() (list []workload) {
	add := func(a placement, floor string) {
		p := a.params(Params{"size": 64})
		list = append(list, workload{
			name: "ping-pong", params: p, unit: "round trips/s", floor: floor, first: 100,
			measure: a.measure(func(amount int) scenario {
				return scenario{links: uniform(tick), clients: []participant{
					{"pinger", &pinger{Out: "PING", In: "PONG", Rounds: amount}},
					{"ponger", &pinger{Out: "PONG", In: "PING"}},
				}}
			}, times(1)),
		})
	}
	add(placement{transport: "mem"}, "raw goroutine ping-pong")
	for _, transport := range transports() {
		floor := ""
		if hasFloor(transport) {
			floor = (&workload{name: "raw ping-pong", params: Params{"transport": transport, "size": 64}}).id()
		}
		add(placement{transport: transport, processes: 2}, floor)
		add(placement{transport: transport, processes: 1, inside: 1}, floor)
	}
	return list
}
