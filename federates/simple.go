package federates

import (
	"context"
	"encoding/binary"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/metasim"
)

// source is the model of that name: it publishes a counter.
type source struct {
	loop.InOut
	period, start metasim.Time
	count         uint64 // 0: no end
	size          int
}

func newSource(in *catalog.Instance) *source {
	count, _ := catalog.Find[int64](in, "count")
	return &source{InOut: loop.New(in), period: catalog.Get[metasim.Time](in, "period"),
		start: catalog.Get[metasim.Time](in, "start"), count: uint64(count), size: sizeOf(in)}
}

func (m *source) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Sent uint64 `json:"sent"`
	}
	return loop.Every(ctx, c, m.start, m.period, &result, func(metasim.Time, []client.Message) error {
		if err := m.Out.Publish(counted(result.Sent, m.size)); err != nil {
			return err
		}
		if result.Sent++; result.Sent == m.count {
			return loop.ErrDone
		}
		return nil
	})
}

// sink is the model of that name: it receives and counts.
type sink struct{ channels []string }

func newSink(in *catalog.Instance) *sink { return &sink{in.Ports.Subscriptions} }

func (m *sink) Declare(b *client.Builder) error { return loop.Subscribe(b, m.channels) }

func (m *sink) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Received uint64 `json:"received"`
		Bytes    uint64 `json:"bytes"`
	}
	return loop.Receive(ctx, c, &result, func(msg client.Message) error {
		result.Received++
		result.Bytes += uint64(len(msg.Payload))
		return nil
	})
}

// echo is the model of that name: it publishes what it receives.
type echo struct{ loop.InOut }

func newEcho(in *catalog.Instance) *echo { return &echo{loop.New(in)} }

func (m *echo) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Echoed uint64 `json:"echoed"`
	}
	return loop.Receive(ctx, c, &result, func(msg client.Message) error {
		result.Echoed++
		return m.Out.Publish(msg.Payload)
	})
}

// ping is the model of that name: it sends when it is answered.
type ping struct {
	loop.InOut
	rounds uint64
	size   int
}

func newPing(in *catalog.Instance) *ping {
	return &ping{loop.New(in), uint64(catalog.Get[int64](in, "rounds")), sizeOf(in)}
}

func (m *ping) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Rounds uint64 `json:"rounds"`
	}
	if err := m.Out.Publish(counted(0, m.size)); err != nil {
		return err
	}
	return loop.Receive(ctx, c, &result, func(client.Message) error {
		if result.Rounds++; result.Rounds == m.rounds {
			return loop.ErrDone
		}
		return m.Out.Publish(counted(result.Rounds, m.size))
	})
}

// ring is the model of that name: it passes messages on.
type ring struct {
	loop.InOut
	first bool
	size  int
}

func newRing(in *catalog.Instance) *ring {
	return &ring{loop.New(in), catalog.Get[bool](in, "first"), sizeOf(in)}
}

func (m *ring) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Hops uint64 `json:"hops"`
	}
	if m.first {
		if err := m.Out.Publish(counted(0, m.size)); err != nil {
			return err
		}
	}
	return loop.Receive(ctx, c, &result, func(msg client.Message) error {
		result.Hops++
		return m.Out.Publish(msg.Payload)
	})
}

func sizeOf(in *catalog.Instance) int { return int(catalog.Get[int64](in, "size")) }

// counted is the n-th payload of a model that counts: n as 8 little-endian bytes, then zeros. A size below 8 truncates.
func counted(n uint64, size int) []byte {
	b := make([]byte, max(size, 8))
	binary.LittleEndian.PutUint64(b, n)
	return b[:size]
}
