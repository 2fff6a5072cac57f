package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"metasim/client"
	"metasim/federates"
	"metasim/federates/catalog"
	"metasim/federates/phold"
	"metasim/metasim"
	"metasim/server"
)

// A pholdModel is the built-in model.
type pholdModel struct {
	*federates.Model
	With         map[string]any
	Index, Count int
}

func (m *pholdModel) Declare(b *client.Builder) (err error) {
	if m.Model, err = federates.New("phold", m.With, catalog.Env{Entry: "phold", Index: m.Index, Count: m.Count, Seed: 1}); err != nil {
		return err
	}
	return m.Model.Declare(b)
}

// A pholdSize is the parameters of one PHOLD; times are in means.
type pholdSize struct {
	lps, population   int
	remote, lookahead float64
}

const pholdMean = metasim.Second

func (s pholdSize) params(clients int) Params {
	return Params{"lps": s.lps, "population": s.population, "remote": s.remote, "lookahead": s.lookahead, "clients": clients}
}

func (s pholdSize) scenario(clients, means int) scenario {
	lookahead := metasim.Time(s.lookahead * float64(pholdMean))
	c := scenario{links: uniform(lookahead), until: metasim.Time(means) * pholdMean}
	for i := range clients {
		c.clients = append(c.clients, participant{fmt.Sprintf("phold-%02d", i), &pholdModel{
			Index: i, Count: clients,
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
		add := func(clients int, a placement) {
			list = append(list, workload{
				name: "phold", params: size.params(clients), unit: "events/s", floor: "raw heap n=2048", first: 1, slow: size != usual,
			}.at([]placement{a}, func(amount int) scenario { return size.scenario(clients, amount) }, eventsDone)...)
		}
		add(1, placement{transport: "mem"})
		add(2, placement{transport: "mem"})
		add(8, placement{transport: "mem"})
		add(2, placement{transport: "unix", processes: 2})
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

// A logicalProcess is one logical process of PHOLD as a client: it executes an event at its time, and each causes another one,
// here or elsewhere. An event for another client is published at once, over a link with a delay of Lookahead, and carries
// the time at which it is to be executed.
type logicalProcess struct {
	Index, Count int
	Neighbours   []int   // to which events go; empty: all, drawn as HELICS does
	Remote       float64 // the share of events that go there
	Population   int
	Lookahead    metasim.Time
	Mean         float64      // of the exponential part, in nanoseconds
	Until        metasim.Time // events at it are executed, later ones not

	draw     draws
	pubs     []*client.Publication // by the index of the client
	calendar eventHeap
	executed int
}

// draws are where an LP's random numbers come from.
type draws interface {
	uniform() float64              // [0, 1)
	exponential(m float64) float64 // with mean m
	below(n uint32) uint32         // 0 to n-1
}

// pcg are draws keyed by the LP.
type pcg struct{ *rand.Rand }

func (p pcg) uniform() float64              { return p.Float64() }
func (p pcg) exponential(m float64) float64 { return -m * math.Log(1-p.Float64()) }
func (p pcg) below(n uint32) uint32         { return p.Uint32N(n) }

func (p *logicalProcess) Declare(b *client.Builder) error {
	p.draw = pcg{rand.New(rand.NewPCG(1, uint64(p.Index)))}
	neighbours := p.Neighbours
	if len(neighbours) == 0 {
		p.draw = newMersenne(processSeed(p.Index))
		for i := range p.Count {
			neighbours = append(neighbours, i)
		}
	}
	p.pubs = make([]*client.Publication, p.Count)
	for _, i := range neighbours {
		if i != p.Index {
			p.pubs[i] = b.Publication(processChannel(i))
		}
	}
	return b.Subscribe(processChannel(p.Index), nil)
}

func processChannel(i int) string { return fmt.Sprintf("LP-%04d", i) }

func (p *logicalProcess) Run(ctx context.Context, c *client.Client) error {
	for range p.Population {
		if err := p.event(0); err != nil {
			return err
		}
	}
	for {
		limit := p.Until + 1
		if len(p.calendar) > 0 {
			limit = min(limit, p.calendar[0].at)
		}
		messages, err := c.Next(ctx, limit)
		if errors.Is(err, client.ErrEnd) || err == nil && c.Now().Time > p.Until {
			return c.SetResult(map[string]int{"events": p.executed})
		}
		if err != nil {
			return err
		}
		for _, m := range messages {
			p.calendar.push(timedEvent{at: metasim.Time(binary.LittleEndian.Uint64(m.Payload))})
		}
		now := c.Now().Time
		for len(p.calendar) > 0 && p.calendar[0].at == now {
			p.calendar.pop()
			p.executed++
			if err := p.event(now); err != nil {
				return err
			}
		}
	}
}

// event makes an event at now: draws where it goes, then when. The order of draws is that of HELICS.
func (p *logicalProcess) event(now metasim.Time) error {
	to := p.Index
	if p.Count > 1 && p.draw.uniform() > 1-p.Remote {
		if len(p.Neighbours) > 0 {
			to = p.Neighbours[p.draw.below(uint32(len(p.Neighbours)))]
		} else if to = int(p.draw.below(uint32(p.Count - 1))); to == p.Index {
			to = p.Count - 1
		}
	}
	at := now + p.Lookahead + metasim.Time(p.draw.exponential(p.Mean)+0.5)
	if to == p.Index {
		p.calendar.push(timedEvent{at: at})
		return nil
	}
	return p.pubs[to].PublishOwned(binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(at)))
}

// torus returns the neighbours of node i on a torus of width x width.
func torus(i, width int) []int {
	x, y := i%width, i/width
	left, right := y*width+(x+width-1)%width, y*width+(x+1)%width
	up, down := (y+width-1)%width*width+x, (y+1)%width*width+x
	return []int{left, right, up, down}
}

// sparse is PHOLD on a torus, one LP a client: events go to one of four neighbours, so that lookahead is local.
func sparse() (list []workload) {
	for _, width := range []int{8, 32} {
		n := width * width
		list = append(list, workload{
			name: "sparse phold", params: Params{"graph": "torus", "clients": n, "population": 4, "remote": 0.25, "lookahead": 0.1},
			unit: "events/s", floor: "raw heap n=2048", first: 2, slow: width > 8,
		}.at([]placement{{transport: "mem"}, {transport: "unix", processes: 2}}, func(amount int) scenario {
			c := scenario{links: uniform(tick / 10)}
			for i := range n {
				c.clients = append(c.clients, participant{fmt.Sprintf("lp-%04d", i), &logicalProcess{
					Index: i, Count: n, Neighbours: torus(i, width), Remote: 0.25, Population: 4,
					Lookahead: tick / 10, Mean: 0.9 * float64(tick), Until: metasim.Time(amount) * tick,
				}})
			}
			return c
		}, eventsDone)...)
	}
	return list
}

// eventsDone counts the events that clients executed.
func eventsDone(_ int, _ scenario, r server.Result) (float64, error) {
	n, err := events(r)
	return float64(n), err
}
