package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"metasim/client"
	"metasim/metasim"
)

// A process is one logical process of PHOLD as a client: it executes an event at its time, and each causes another one,
// here or elsewhere. An event for another client is published at once, over a link with a delay of Lookahead, and carries
// the time at which it is to be executed.
type process struct {
	Index, Count int
	Neighbours   []int   // to which events go; empty: all, drawn as HELICS does
	Remote       float64 // the share of events that go there
	Population   int
	Lookahead    metasim.Time
	Mean         float64      // of the exponential part, in nanoseconds
	Until        metasim.Time // events at it are executed, later ones not

	draw     draws
	pubs     []*client.Publication // by the index of the client
	calendar alarms
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

func (p *process) declare(b *client.Builder) error {
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

func (p *process) play(ctx context.Context, c *client.Client) error {
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
			p.calendar.push(alarm{at: metasim.Time(binary.LittleEndian.Uint64(m.Payload))})
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
func (p *process) event(now metasim.Time) error {
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
		p.calendar.push(alarm{at: at})
		return nil
	}
	return p.pubs[to].Publish(binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(at)))
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
		for _, a := range []arrangement{{transport: "mem"}, {transport: "unix", processes: 2}} {
			n := width * width
			list = append(list, workload{
				name: "sparse phold", params: a.params(Params{"graph": "torus", "clients": n, "population": 4, "remote": 0.25, "lookahead": 0.1}),
				unit: "events/s", floor: "raw heap n=2048", first: 2, slow: width > 8,
				measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
					c := cast{links: uniform(tick / 10)}
					for i := range n {
						c.parts = append(c.parts, part{fmt.Sprintf("lp-%04d", i), &process{
							Index: i, Count: n, Neighbours: torus(i, width), Remote: 0.25, Population: 4,
							Lookahead: tick / 10, Mean: 0.9 * float64(tick), Until: metasim.Time(amount) * tick,
						}})
					}
					return h.events(ctx, c, a)
				},
			})
		}
	}
	return list
}

// events runs a cast whose clients count events.
func (h *harness) events(ctx context.Context, c cast, a arrangement) (sample, error) {
	r, err := h.run(ctx, c, a)
	if err != nil {
		return sample{}, err
	}
	n, err := events(r)
	return rate(float64(n), r.Wall), err
}
