package federates

import (
	"context"
	"errors"

	"metasim/client"
)

func pingSpec() Spec {
	return Spec{
		Name: "ping",
		Doc:  "publishes a counter, and the next one at each answer, until it has had all its answers",
		Params: []Param{
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
			{Name: "in", Type: Pattern, Required: true, Doc: "where the answers come"},
			{Name: "rounds", Type: Int, Required: true, Min: new(1.0),
				Doc: "how many answers; at the last one it leaves"},
			sizeParam(),
		},
		ports: inOut(func(values) Ending { return Leaves }),
		build: func(v values, _ Env, _ Ports) Model {
			return &ping{wires: newWires(v), rounds: uint64(get[int64](v, "rounds")), size: int(get[int64](v, "size"))}
		},
	}
}

// ping is the model of that name.
type ping struct {
	wires
	rounds uint64
	size   int
}

// errEnough ends receive early.
var errEnough = errors.New("federates: enough received")

func (m *ping) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Rounds uint64 `json:"rounds"`
	}
	if err := m.pub.Publish(counted(0, m.size)); err != nil {
		return err
	}
	err := receive(ctx, c, func(client.Message) error {
		if result.Rounds++; result.Rounds == m.rounds {
			return errEnough
		}
		return m.pub.Publish(counted(result.Rounds, m.size))
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return finish(ctx, c, result)
}
