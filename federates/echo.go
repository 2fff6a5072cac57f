package federates

import (
	"context"

	"metasim/client"
)

func echoSpec() Spec {
	return Spec{
		Name: "echo",
		Doc:  "publishes each payload again, at the instant at which it was received",
		Params: []Param{
			{Name: "in", Type: Pattern, Required: true, Doc: "what it receives"},
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
		},
		ports: inOut(func(values) Ending { return Reacts }),
		build: func(v values, _ Env, _ Ports) Model { return &echo{wires: newWires(v)} },
	}
}

// inOut is the ports of a model with one channel in and one out.
func inOut(ending func(values) Ending) func(values, Env) (Ports, error) {
	return func(v values, _ Env) (Ports, error) {
		return Ports{
			Publications:  []string{get[string](v, "out")},
			Subscriptions: []string{get[string](v, "in")},
			Ending:        ending(v),
		}, nil
	}
}

// wires is one channel in and one out: the half of a model that has no more.
type wires struct {
	in, out string
	pub     *client.Publication
}

func newWires(v values) wires { return wires{in: get[string](v, "in"), out: get[string](v, "out")} }

func (w *wires) Declare(b *client.Builder) error {
	w.pub = b.Publication(w.out)
	return subscribe(b, w.in)
}

// echo is the model of that name.
type echo struct{ wires }

func (m *echo) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Echoed uint64 `json:"echoed"`
	}
	err := receive(ctx, c, func(msg client.Message) error {
		result.Echoed++
		return m.pub.Publish(msg.Payload)
	})
	if err != nil {
		return err
	}
	return finish(ctx, c, result)
}
