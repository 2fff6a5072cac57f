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

// A model is the model phold: a client with one block of logical processes.
type model struct {
	cfg      Config
	grain    time.Duration
	instance *catalog.Instance
	pubs     []*client.Publication // by the index of the client that receives; nil for this one
}

// New makes the model phold.
func New(in *catalog.Instance) *model {
	cfg := Config{
		LPs: uint32(catalog.Get[int64](in, "lps")), Population: int(catalog.Get[int64](in, "population")),
		Remote: catalog.Get[float64](in, "remote"), Mean: catalog.Get[metasim.Time](in, "mean"),
		Lookahead: catalog.Get[metasim.Time](in, "lookahead"), Seed: in.Seed,
	}
	return &model{cfg: cfg, grain: time.Duration(catalog.Get[metasim.Time](in, "grain")), instance: in}
}

func (m *model) Declare(b *client.Builder) error {
	m.pubs = make([]*client.Publication, m.instance.Count)
	for i, channel := range m.instance.Ports.Publications { // those of all others, in order of their index
		if i >= m.instance.Index {
			i++
		}
		m.pubs[i] = b.Publication(channel)
	}
	return loop.Subscribe(b, m.instance.Ports.Subscriptions)
}

func (m *model) Run(ctx context.Context, c *client.Client) error {
	block := NewBlock(m.cfg, m.instance.Index, m.instance.Count)
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
			if err := m.execute(block); err != nil {
				return err
			}
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
func (m *model) execute(block *Block) (err error) {
	executed := block.Execute(func(e Event) {
		if err == nil {
			err = m.pubs[m.cfg.Owner(e.To, len(m.pubs))].Publish(e.Encode())
		}
	})
	burn(time.Duration(executed) * m.grain)
	return err
}

// burn keeps the processor busy for d of wall-clock time.
func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}
