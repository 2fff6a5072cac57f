package federates

import (
	"context"
	"encoding/binary"
	"errors"

	"metasim/client"
	"metasim/metasim"
)

// A Model is a client of a run. Declare adds publications and subscriptions to a client that has not joined yet; Run
// takes part in the run and leaves. A Run that returns an error has not left: the caller closes the client.
type Model interface {
	Declare(b *client.Builder) error
	Run(ctx context.Context, c *client.Client) error
}

// New makes an instance of a model. It fails with an *UnknownModelError, or with ParamErrors that name everything that
// is wrong with the parameters.
func New(model string, with map[string]any, env Env) (Model, error) {
	spec, v, ports, err := inspect(model, with, env)
	if err != nil {
		return nil, err
	}
	return spec.build(v, env, ports), nil
}

// receive calls each for every message, at the message's instant and in order, until none can come any more.
func receive(ctx context.Context, c *client.Client, each func(client.Message) error) error {
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		for _, m := range messages {
			if err := each(m); err != nil {
				return err
			}
		}
		if errors.Is(err, client.ErrEnd) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// finish leaves the run with a result.
func finish(ctx context.Context, c *client.Client, result any) error {
	if err := c.SetResult(result); err != nil {
		return err
	}
	return c.Leave(ctx)
}

// subscribe adds subscriptions for a model that asks for its messages.
func subscribe(b *client.Builder, patterns ...string) error {
	for _, p := range patterns {
		if err := b.Subscribe(p, nil); err != nil {
			return err
		}
	}
	return nil
}

// counted is the n-th payload of a model that counts: n as 8 little-endian bytes, then zeros; or as much of it as size
// allows.
func counted(n uint64, size int) []byte {
	b := make([]byte, max(size, 8))
	binary.LittleEndian.PutUint64(b, n)
	return b[:size]
}
