package federates

import (
	"context"

	"metasim/client"
)

func sinkSpec() Spec {
	return Spec{
		Name: "sink",
		Doc:  "receives and counts",
		Params: []Param{
			{Name: "channels", Type: Patterns, Required: true, Min: new(1.0),
				Doc: "what it receives: each a channel name, or a regular expression that matches the whole name"},
		},
		ports: func(v values, _ Env) (Ports, error) {
			return Ports{Subscriptions: get[[]string](v, "channels"), Ending: Reacts}, nil
		},
		build: func(_ values, _ Env, ports Ports) Model { return &sink{channels: ports.Subscriptions} },
	}
}

// sink is the model of that name.
type sink struct{ channels []string }

func (m *sink) Declare(b *client.Builder) error { return subscribe(b, m.channels...) }

func (m *sink) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Received uint64 `json:"received"`
		Bytes    uint64 `json:"bytes"`
	}
	err := receive(ctx, c, func(msg client.Message) error {
		result.Received++
		result.Bytes += uint64(len(msg.Payload))
		return nil
	})
	if err != nil {
		return err
	}
	return finish(ctx, c, result)
}
