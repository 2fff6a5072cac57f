package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"metasim/client"
	"metasim/federates"
	"metasim/federates/catalog"
	"metasim/federates/phold"
	"metasim/metasim"
	"metasim/server"
)

// A model is a built-in model.
type model struct {
	Model        string
	With         map[string]any
	Entry        string
	Index, Count int // of the clients of the entry
	is           federates.Model
}

func (m *model) declare(b *client.Builder) (err error) {
	env := catalog.Env{Entry: m.Entry, Index: m.Index, Count: m.Count, Seed: 1}
	if m.is, err = federates.New(m.Model, m.With, env); err != nil {
		return err
	}
	return m.is.Declare(b)
}

func (m *model) play(ctx context.Context, c *client.Client) error { return m.is.Run(ctx, c) }

// A pholdSize is the parameters of one PHOLD; times are in means.
type pholdSize struct {
	lps, population   int
	remote, lookahead float64
}

const pholdMean = metasim.Second

func (s pholdSize) params(clients int) Params {
	return Params{"lps": s.lps, "population": s.population, "remote": s.remote, "lookahead": s.lookahead, "clients": clients}
}

func (s pholdSize) cast(clients, means int) cast {
	lookahead := metasim.Time(s.lookahead * float64(pholdMean))
	c := cast{links: uniform(lookahead), until: metasim.Time(means) * pholdMean}
	for i := range clients {
		c.parts = append(c.parts, part{fmt.Sprintf("phold-%02d", i), &model{
			Model: "phold", Entry: "phold", Index: i, Count: clients,
			With: map[string]any{
				"lps": s.lps, "population": s.population, "remote": s.remote, "mean": pholdMean.String(),
				"lookahead": lookahead.String(),
			},
		}})
	}
	return c
}

// pholds is PHOLD as ROSS defines it, its logical processes hosted by few clients.
func pholds() (list []workload) {
	usual := pholdSize{lps: 2048, population: 1, remote: 0.25, lookahead: 0.1}
	tight, dense := usual, usual
	tight.lookahead = 0.01
	dense.population, dense.remote = 16, 0.5
	for _, size := range []pholdSize{usual, tight, dense} {
		add := func(clients int, a arrangement) {
			list = append(list, workload{
				name: "phold", params: a.params(size.params(clients)), unit: "events/s", floor: "raw heap n=2048", first: 1,
				slow: size != usual,
				measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
					r, err := h.run(ctx, size.cast(clients, amount), a)
					if err != nil {
						return sample{}, err
					}
					n, err := events(r)
					return rate(float64(n), r.Wall), err
				},
			})
		}
		add(1, arrangement{transport: "mem"})
		add(2, arrangement{transport: "mem"})
		add(8, arrangement{transport: "mem"})
		add(2, arrangement{transport: "unix", processes: 2})
	}
	return append(list, workload{
		name: "phold model alone", params: usual.params(1), unit: "events/s", floor: "raw heap n=2048", first: 1,
		measure: func(_ context.Context, _ *harness, amount int) (sample, error) {
			return usual.alone(amount), nil
		},
	})
}

// alone executes the events without any metasim: what the model costs.
func (s pholdSize) alone(means int) sample {
	b := phold.NewBlock(phold.Config{
		LPs: uint32(s.lps), Population: s.population, Remote: s.remote, Mean: pholdMean,
		Lookahead: metasim.Time(s.lookahead * float64(pholdMean)), Seed: 1,
	}, 0, 1)
	began := time.Now()
	for b.Next() < metasim.Time(means)*pholdMean {
		b.Execute(func(phold.Event) {})
	}
	took := time.Since(began)
	n, _ := b.Result()
	return rate(float64(n), took)
}

// events adds up what the clients of a run say that they did: the result {"events": n}.
func events(r server.Result) (n int, err error) {
	for _, c := range r.Clients {
		var result struct{ Events int }
		if err := json.Unmarshal(c.Result, &result); err != nil {
			return 0, fmt.Errorf("the result of %s: %w", c.Name, err)
		}
		n += result.Events
	}
	return n, nil
}
