package dst

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"metasim/delay"
	"metasim/metasim"
)

// draw draws the scenario of a seed.
func draw(seed uint64) (*scenario, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	if seed%16 == 0 {
		return drawFlood(seed, r)
	}
	horizon := pick[metasim.Time](r, 60, 60, 200)
	s := &scenario{seed: seed, permits: r.IntN(4) == 0}
	if r.IntN(4) > 0 {
		s.until = horizon + 1
	}
	channels := []string{"A", "B", "C", "D", "E"}[:1+r.IntN(5)]
	for i := range pick(r, 2, 2, 3, 3, 4, 5, 6, 7+int(mix(seed)%2), 9+int(mix(seed)%8)) {
		s.clients = append(s.clients, drawClient(r, fmt.Sprintf("c%02d", i), horizon, channels))
	}
	var rules []delay.Rule
	for range 1 + r.IntN(5) {
		rule := delay.Rule{Spec: drawLink(r)}
		if r.IntN(2) == 0 {
			rule.Channel = channels[r.IntN(len(channels))]
		}
		if r.IntN(2) == 0 {
			rule.From = s.clients[r.IntN(len(s.clients))].name
		}
		if r.IntN(3) == 0 {
			rule.To = s.clients[r.IntN(len(s.clients))].name
		}
		rules = append(rules, rule)
	}
	for i := range s.clients {
		s.clients[i].add(mix(seed, uint64(i), 1))
	}
	return s, s.complete(rules)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func drawClient(r *rand.Rand, name string, horizon metasim.Time, channels []string) spec {
	c := spec{name: name, style: handles, sends: 4 + r.IntN(12), size: 40, start: r.IntN(2) == 0, leave: horizon, period: 1 + metasim.Time(r.IntN(9))}
	patterns := append([]string{".*", "[AB]", "C|D"}, channels...)
	for _, channel := range channels {
		if r.IntN(2) == 0 {
			c.pubs = append(c.pubs, channel)
		}
	}
	for range r.IntN(4) {
		c.subs = append(c.subs, patterns[r.IntN(len(patterns))])
	}
	c.promises = r.IntN(2) == 0
	switch r.IntN(6) {
	case 0, 1:
		c.style = steps
	case 2:
		c.style = nexts
		c.period *= 4
	default:
		c.reaction = pick[metasim.Time](r, 0, 0, 2, 7)
		for range r.IntN(6) {
			c.timers = append(c.timers, metasim.Time(r.Int64N(int64(horizon))))
		}
		c.every = r.IntN(4) == 0
		c.period *= 3
		c.leave = 0
	}
	if r.IntN(4) == 0 {
		c.leave = 1 + metasim.Time(r.Int64N(int64(horizon)))
	}
	return c
}

// add adds what a client has been drawn without, from a hash of its own.
func (c *spec) add(hash uint64) {
	if k := len(c.timers); k > 1 && hash%2 == 0 {
		c.timers[k-1] = c.timers[0]
	}
	c.draws = hash%3 == 0
	if hash /= 3; c.style == steps && !c.promises && hash%3 == 0 {
		c.only = 1 + metasim.Time(hash/3%8)
	}
}

// complete compiles what a scenario has: each of its runs uses it.
func (s *scenario) complete(rules []delay.Rule) (err error) {
	for i := range s.clients {
		c := &s.clients[i]
		for _, pattern := range c.subs {
			p, err := metasim.CompilePattern(pattern)
			if err != nil {
				return err
			}
			c.patterns = append(c.patterns, p)
		}
	}
	s.delays, err = delay.NewTable(s.seed, rules)
	return err
}

// drawLink draws a link of any kind.
func drawLink(r *rand.Rand) delay.Spec {
	least := pick[metasim.Time](r, 0, 0, 1, 3, 10, 40)
	var s delay.Spec
	switch r.IntN(9) {
	case 0:
	case 1, 2:
		s.Delay = delay.Constant(least)
	case 3:
		s.Delay = delay.Uniform{Min: least, Max: least + 6}
	case 4:
		s.Delay = delay.Empirical{least, least + 2, least + 9}
	case 5:
		s.Delay = delay.Normal{Mean: least + 4, StdDev: 2, Min: &least}
	case 6:
		s.Delay = delay.Exponential{Mean: least + 3, Min: &least}
	case 7:
		s.Delay = delay.LogNormal{Mean: least + 3, StdDev: 2, Min: &least}
	case 8:
		s.Delay = delay.Gamma{Mean: least + 3, StdDev: 2, Min: &least}
	}
	switch r.IntN(8) {
	case 0:
		s.Loss = delay.Bernoulli(0.3)
	case 1:
		s.Loss = delay.GilbertElliott{GoodToBad: 0.2, BadToGood: 0.3, LossBad: 1}
	}
	if r.IntN(3) == 0 {
		s.Order = delay.FIFO
	}
	if r.IntN(6) == 0 {
		s.Bandwidth = 40_000_000_000 // 5 bytes a nanosecond
	}
	if r.IntN(6) == 0 {
		s.Duplicate = 0.2
	}
	return s
}

// drawFlood draws a scenario in which a source could fill the memory: it hears nobody, and those who hear it are far behind.
func drawFlood(seed uint64, r *rand.Rand) (*scenario, error) {
	s := &scenario{seed: seed, until: 400, flood: true, memory: 100_000}
	source := spec{name: "c00", style: pick(r, steps, nexts), pubs: []string{"A"}, period: 1, sends: 390, size: 600, floods: true}
	s.clients = append(s.clients, source)
	for i := range 1 + r.IntN(3) {
		sink := spec{name: fmt.Sprintf("c%02d", i+1), style: pick(r, steps, nexts, handles), subs: []string{"A"}, period: 1 + metasim.Time(r.IntN(9))}
		if i > 0 && r.IntN(2) == 0 {
			sink.pubs, sink.sends, sink.size = []string{"B"}, 20, 40
			s.clients[0].subs = slices.Compact(append(s.clients[0].subs, "B"))
		}
		s.clients = append(s.clients, sink)
	}
	return s, s.complete([]delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(pick[metasim.Time](r, 0, 1, 5))}}})
}

// mix is the hash that keys what simulators do (splitmix64).
func mix(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h += p + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}
