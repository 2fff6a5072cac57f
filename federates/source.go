package federates

import (
	"context"
	"errors"

	"metasim/client"
	"metasim/metasim"
)

// maxSize bounds the payloads that a model is asked to make: what a connection carries.
const maxSize = 64<<20 - 64<<10

// sizeParam is the size of counted payloads, the same for every model that makes them.
func sizeParam() Param {
	return Param{Name: "size", Type: Int, Default: 8, Min: new(0.0), Max: new(float64(maxSize)),
		Doc: "bytes of a payload: an 8-byte little-endian counter from 0, then zeros; a smaller size truncates"}
}

func sourceSpec() Spec {
	return Spec{
		Name: "source",
		Doc:  "publishes a counter at start, start + period, start + 2 period, ...",
		Params: []Param{
			{Name: "channel", Type: Channel, Required: true, Doc: "where it publishes"},
			{Name: "period", Type: Duration, Required: true, Min: new(1.0), Doc: "from one message to the next"},
			{Name: "start", Type: Duration, Default: "0s", Min: new(0.0), Doc: "when the first message is sent"},
			{Name: "count", Type: Int, Min: new(1.0),
				Doc: "how many messages; then it leaves. Without it: until the end of the run"},
			sizeParam(),
		},
		ports: func(v values, _ Env) (Ports, error) {
			end := Endless
			if _, ok := find[int64](v, "count"); ok {
				end = Leaves
			}
			return Ports{Publications: []string{get[string](v, "channel")}, Ending: end}, nil
		},
		build: func(v values, _ Env, _ Ports) Model {
			count, _ := find[int64](v, "count")
			return &source{channel: get[string](v, "channel"), period: get[metasim.Time](v, "period"),
				start: get[metasim.Time](v, "start"), count: uint64(count), size: int(get[int64](v, "size"))}
		},
	}
}

// source is the model of that name.
type source struct {
	channel       string
	period, start metasim.Time
	count         uint64 // 0: no end
	size          int
	out           *client.Publication
}

func (m *source) Declare(b *client.Builder) error {
	m.out = b.Publication(m.channel)
	return nil
}

func (m *source) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Sent uint64 `json:"sent"`
	}
	for t := m.start; ; t = t.Add(m.period) {
		_, err := c.Step(ctx, t)
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		if err := m.out.Publish(counted(result.Sent, m.size)); err != nil {
			return err
		}
		if result.Sent++; result.Sent == m.count {
			break
		}
	}
	return finish(ctx, c, result)
}
