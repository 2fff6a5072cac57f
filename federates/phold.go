package federates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"metasim/client"
	"metasim/federates/phold"
	"metasim/metasim"
)

func pholdSpec() Spec {
	return Spec{
		Name: "phold",
		Doc:  "PHOLD: logical processes that answer each event with one event, here or elsewhere",
		Params: []Param{
			{Name: "lps", Type: Int, Required: true, Min: new(1.0), Max: new(float64(1 << 24)),
				Doc: "logical processes in all, spread in blocks over the clients of the entry"},
			{Name: "population", Type: Int, Required: true, Min: new(1.0), Max: new(float64(1 << 24)),
				Doc: "events that each process starts with"},
			{Name: "remote", Type: Float, Required: true, Min: new(0.0), Max: new(1.0),
				Doc: "the share of events that go to a process drawn from all"},
			{Name: "mean", Type: Duration, Required: true, Min: new(1.0),
				Doc: "mean time from an event to the one it causes"},
			{Name: "lookahead", Type: Duration, Required: true, Min: new(1.0),
				Doc: "the least such time, at most mean; also the delay of the links among these clients"},
			{Name: "grain", Type: Duration, Default: "0s", Min: new(0.0),
				Doc: "wall-clock time that computing an event takes"},
		},
		ports: pholdPorts,
		build: func(v values, env Env, ports Ports) Model {
			cfg := phold.Config{
				LPs: uint32(get[int64](v, "lps")), Population: int(get[int64](v, "population")),
				Remote: get[float64](v, "remote"), Mean: get[metasim.Time](v, "mean"),
				Lookahead: get[metasim.Time](v, "lookahead"), Seed: env.Seed,
			}
			return &pholdModel{cfg: cfg, grain: time.Duration(get[metasim.Time](v, "grain")), env: env, ports: ports}
		},
	}
}

func pholdPorts(v values, env Env) (Ports, error) {
	mean, lookahead := get[metasim.Time](v, "mean"), get[metasim.Time](v, "lookahead")
	if lookahead > mean {
		return Ports{}, ParamErrors{{Model: "phold", Param: "lookahead",
			Wrong:  fmt.Sprintf("is %v, more than the mean of %v", lookahead, mean),
			Remedy: "write a lookahead of at most the mean"}}
	}
	p := Ports{Ending: Endless}
	for i := range env.count() {
		if i == env.Index {
			if env.count() > 1 {
				p.Subscriptions = append(p.Subscriptions, pholdChannel(env.Entry, i))
			}
			continue
		}
		p.Publications = append(p.Publications, pholdChannel(env.Entry, i))
	}
	return p, nil
}

// pholdChannel is the channel on which the i-th client of an entry receives events.
func pholdChannel(entry string, i int) string { return fmt.Sprintf("%s-%d", entry, i) }

// pholdModel is the model phold: a client with one block of logical processes.
type pholdModel struct {
	cfg   phold.Config
	grain time.Duration
	env   Env
	ports Ports
	pubs  []*client.Publication // by the index of the client that listens; nil for this one
}

func (m *pholdModel) Declare(b *client.Builder) error {
	m.pubs = make([]*client.Publication, m.env.count())
	for i := range m.pubs {
		if i != m.env.Index {
			m.pubs[i] = b.Publication(pholdChannel(m.env.Entry, i))
		}
	}
	return subscribe(b, m.ports.Subscriptions...)
}

func (m *pholdModel) Run(ctx context.Context, c *client.Client) error {
	block := phold.NewBlock(m.cfg, m.env.Index, m.env.count())
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
	return finish(ctx, c, struct {
		Events uint64 `json:"events"`
		Hash   string `json:"hash"`
	}{events, fmt.Sprintf("%016x", hash)})
}

// schedule takes in the events that other clients sent.
func schedule(block *phold.Block, messages []client.Message, now metasim.Time) error {
	for _, msg := range messages {
		e, err := phold.Decode(msg.Payload)
		if err != nil {
			return fmt.Errorf("federates: from client %q: %w", msg.From, err)
		}
		if err := block.Schedule(e, now); err != nil {
			return fmt.Errorf("federates: from client %q: %w", msg.From, err)
		}
	}
	return nil
}

// execute executes the events of this time, and sends what they cause elsewhere.
func (m *pholdModel) execute(block *phold.Block) (err error) {
	executed := block.Execute(func(e phold.Event) {
		if err == nil {
			err = m.pubs[m.cfg.Owner(e.To, len(m.pubs))].Publish(e.Encode())
		}
	})
	burn(time.Duration(executed) * m.grain)
	return err
}

// burn computes nothing for d of wall-clock time.
func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}
