package phold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/metasim"
)

// Run is the model phold: a client with one block of logical processes.
func Run(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	cfg := Config{
		LPs: uint32(catalog.Get[int64](in, "lps")), Population: int(catalog.Get[int64](in, "population")),
		Remote: catalog.Get[float64](in, "remote"), Mean: catalog.Get[metasim.Time](in, "mean"),
		Lookahead: catalog.Get[metasim.Time](in, "lookahead"), Seed: in.Seed,
	}
	grain := time.Duration(catalog.Get[metasim.Time](in, "grain"))
	parts, part := int(catalog.Get[int64](in, "parts")), int(catalog.Get[int64](in, "part"))
	block := NewBlock(cfg, part*in.Count+in.Index, parts*in.Count)
	for {
		messages, err := c.Next(ctx, block.Next())
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		now := c.Now().Time
		if err := schedule(block, messages, now); err != nil {
			return err
		}
		if now == block.Next() {
			executed, err := execute(block, out)
			if err != nil {
				return err
			}
			burn(time.Duration(executed) * grain)
		}
	}
	events, hash := block.Result()
	return loop.Finish(ctx, c, struct {
		Events uint64 `json:"events"`
		Hash   string `json:"hash"`
	}{events, fmt.Sprintf("%016x", hash)})
}

// schedule adds the events that other clients sent to the block.
func schedule(block *Block, messages []client.Message, now metasim.Time) error {
	for _, msg := range messages {
		e, err := decode(msg.Payload)
		if err != nil {
			return fmt.Errorf("from client %q: %w", msg.From, err)
		}
		if err := block.Schedule(e, now); err != nil {
			return fmt.Errorf("from client %q: %w", msg.From, err)
		}
	}
	return nil
}

// execute executes the events of this time, and publishes those that they cause for other clients.
func execute(block *Block, out []*client.Publication) (executed int, err error) {
	executed = block.Execute(func(e Event) {
		if err != nil {
			return
		}
		recipient := block.cfg.Owner(e.To, block.count)
		if recipient > block.index {
			recipient-- // out has the channels of the other clients, in order of their index
		}
		err = out[recipient].PublishOwned(e.Encode())
	})
	return executed, err
}

// burn keeps the processor busy for d of wall-clock time.
func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}
