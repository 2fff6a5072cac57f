package gateway

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// phold is a network of n clients, half of them inside. Each holds a message for a while and sends it on to any of them.
func phold(n int, delay metasim.Time) *network {
	w := &network{seed: 1, until: 2000, links: alike(delay), paths: []string{"", "cell"}, memory: metasim.DefaultMemory}
	var channels []string
	for i := range n {
		channels = append(channels, fmt.Sprint("C", i))
	}
	for i := range n {
		s := spec{name: fmt.Sprintf("c%04d", i), phold: true, pubs: channels, subs: channels[i : i+1], sends: 1 << 30}
		s.timers = []metasim.Time{metasim.Time(1 + i%20)}
		if i%2 == 0 {
			s.cell, s.name = "cell", "cell/"+s.name
		}
		w.specs = append(w.specs, s)
	}
	return w
}

// hurry does all that can be done at once, and settles then.
func (s *stage) hurry() (did bool, err error) {
	for _, a := range s.order {
		for !a.idle() {
			a.act(s.r)
			did = true
		}
		for _, ev := range a.out {
			if err := s.step(ev); err != nil {
				return did, err
			}
		}
		a.out = a.out[:0]
	}
	if err := s.settle(); err != nil {
		return did, err
	}
	for _, a := range s.order {
		for _, e := range s.down[a] {
			did = true
			if err := a.receive(e); err != nil {
				return did, err
			}
		}
		s.down[a] = s.down[a][:0]
	}
	return did, nil
}

// BenchmarkNested is PHOLD as one run, and as two of which one is nested in the other. Both dispatchers, the gateway and the clients take
// turns on one core, so the ratio is that of processor time, without what connections take.
func BenchmarkNested(b *testing.B) {
	for _, n := range []int{16, 64, 256} {
		w := phold(n, 10)
		b.Run(fmt.Sprintf("clients=%d/flat", n), func(b *testing.B) {
			deliveries := uint64(0)
			for b.Loop() {
				c := metasim.Config{Clients: w.names(), Delays: w.links, Until: w.until}
				s, err := newStage(rand.New(rand.NewPCG(1, 1)), w, c, func(*spec) bool { return true })
				require.NoError(b, err)
				require.NoError(b, s.step(&metasim.Begin{}))
				for !s.finished {
					_, err := s.hurry()
					require.NoError(b, err)
				}
				deliveries += s.ledger.Totals().Delivered
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(deliveries), "ns/delivery")
		})
		b.Run(fmt.Sprintf("clients=%d/nested", n), func(b *testing.B) {
			deliveries, said := uint64(0), 0
			for b.Loop() {
				p, err := newTree(w, 1)
				require.NoError(b, err)
				require.NoError(b, p.hurry())
				for _, c := range p.cells {
					for _, a := range c.order {
						deliveries += c.ledger.Account(a.id).Delivered
					}
				}
				said += p.said
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(deliveries), "ns/delivery")
			b.ReportMetric(float64(said)/float64(deliveries), "said/delivery")
		})
	}
}

func (p *tree) hurry() error {
	for !p.finished() {
		for _, c := range p.cells {
			if c.finished {
				continue
			}
			if _, err := c.stage.hurry(); err != nil {
				return err
			}
		}
		for _, c := range p.cells[1:] {
			for _, e := range c.down {
				p.take(c, c.gate.OuterSaid(e))
			}
			c.down = c.down[:0]
			if err := c.settle(); err != nil {
				return err
			}
			for _, ev := range c.up {
				p.said++
				if err := c.outer.step(ev); err != nil {
					return err
				}
			}
			c.up = c.up[:0]
		}
		if p.err != nil {
			return p.err
		}
	}
	return nil
}
