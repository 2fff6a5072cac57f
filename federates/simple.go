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
func source(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	start, period := catalog.Get[metasim.Time](in, "start"), catalog.Get[metasim.Time](in, "period")
	count, _ := catalog.Find[int64](in, "count") // 0: no end
	size := sizeOf(in)
	word, fixed := catalog.Find[string](in, "word")
	var result struct {
		Sent uint64 `json:"sent"`
	}
	return loop.Every(ctx, c, start, period, &result, func(metasim.Time, []client.Message) error {
		payload := []byte(word)
		if !fixed {
			payload = counted(result.Sent, size)
		}
		if err := out[0].PublishOwned(payload); err != nil {
			return err
		}
		if result.Sent++; result.Sent == uint64(count) {
			return loop.ErrDone
		}
		return nil
	})
}

// sink is the model of that name: it receives and counts.
func sink(ctx context.Context, c *client.Client, _ *catalog.Instance, _ []*client.Publication) error {
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
func echo(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
	var result struct {
		Echoed uint64 `json:"echoed"`
	}
	return loop.Receive(ctx, c, &result, func(msg client.Message) error {
		result.Echoed++
		return out[0].PublishOwned(msg.Payload)
	})
}

// ping is the model of that name: it sends when it is answered.
func ping(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	rounds, size := uint64(catalog.Get[int64](in, "rounds")), sizeOf(in)
	var result struct {
		Rounds uint64 `json:"rounds"`
	}
	if err := out[0].PublishOwned(counted(0, size)); err != nil {
		return err
	}
	return loop.Receive(ctx, c, &result, func(client.Message) error {
		if result.Rounds++; result.Rounds == rounds {
			return loop.ErrDone
		}
		return out[0].PublishOwned(counted(result.Rounds, size))
	})
}

// ring is the model of that name: it passes messages on.
func ring(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	var result struct {
		Hops uint64 `json:"hops"`
	}
	if catalog.Get[bool](in, "first") {
		if err := out[0].PublishOwned(counted(0, sizeOf(in))); err != nil {
			return err
		}
	}
	return loop.Receive(ctx, c, &result, func(msg client.Message) error {
		result.Hops++
		return out[0].PublishOwned(msg.Payload)
	})
}

func sizeOf(in *catalog.Instance) int { return int(catalog.Get[int64](in, "size")) }

// counted is the n-th payload of a model that counts: n as 8 little-endian bytes, then zeros. A size below 8 truncates.
func counted(n uint64, size int) []byte {
	b := make([]byte, max(size, 8))
	binary.LittleEndian.PutUint64(b, n)
	return b[:size]
}
