package federates

import (
	"context"

	"metasim/client"
)

func ringSpec() Spec {
	return Spec{
		Name: "ring",
		Doc:  "passes each message on, unchanged, at the instant at which it was received",
		Params: []Param{
			{Name: "in", Type: Pattern, Required: true, Doc: "what it receives"},
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
			{Name: "first", Type: Bool, Default: false,
				Doc: "whether it starts the ring with a message of its own at the start"},
			sizeParam(),
		},
		// A ring that is closed goes round for ever, and a ring is there to be closed.
		ports: inOut(func(v values) Ending {
			if get[bool](v, "first") {
				return Endless
			}
			return Reacts
		}),
		build: func(v values, _ Env, _ Ports) Model {
			return &ring{wires: newWires(v), first: get[bool](v, "first"), size: int(get[int64](v, "size"))}
		},
	}
}

// ring is the model of that name.
type ring struct {
	wires
	first bool
	size  int
}

func (m *ring) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Hops uint64 `json:"hops"`
	}
	if m.first {
		if err := m.pub.Publish(counted(0, m.size)); err != nil {
			return err
		}
	}
	err := receive(ctx, c, func(msg client.Message) error {
		result.Hops++
		return m.pub.Publish(msg.Payload)
	})
	if err != nil {
		return err
	}
	return finish(ctx, c, result)
}
