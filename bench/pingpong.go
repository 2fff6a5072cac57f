package bench

import (
	"context"
	"fmt"

	"metasim/client"
	"metasim/metasim"
)

// A pinger publishes 64 bytes, and waits for the answer.
type pinger struct {
	ports
	Rounds int
}

func (p *pinger) Run(ctx context.Context, c *client.Client) error {
	payload := make([]byte, 64)
	for range p.Rounds {
		if err := p.out.PublishOwned(payload); err != nil {
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
		list = append(list, workload{
			name: "ping-pong", params: a.params(Params{"size": 64}), unit: "round trips/s", floor: floor, first: 100,
			measure: a.measure(func(amount int) scenario {
				return scenario{links: uniform(tick), clients: []participant{
					{"pinger", &pinger{ports: ports{Out: "PING", In: "PONG"}, Rounds: amount}},
					{"ponger", &relay{ports: ports{Out: "PONG", In: "PING"}}},
				}}
			}, times(1)),
		})
	}
	add(placement{transport: "mem"}, "raw goroutine ping-pong")
	for _, transport := range transports() {
		floor := ""
		if hasFloor(transport) {
			floor = idOf("raw ping-pong", Params{"transport": transport, "size": 64})
		}
		add(placement{transport: transport, processes: 2}, floor)
		add(placement{transport: transport, processes: 1, inside: 1}, floor)
	}
	return list
}
