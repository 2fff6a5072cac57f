package gateway

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

var (
	seeds  = flag.Int("seeds", 150, "how many random networks are run flat and nested")
	orders = flag.Int("orders", 4, "in how many orders each is run")
)

func flat(n *network) (map[string][]string, int, error) {
	r := rand.New(rand.NewPCG(n.seed, 99))
	c := metasim.Config{Clients: n.names(), Delays: n.links, Until: n.until}
	s, err := newStage(r, n, c, func(*spec) bool { return true })
	if err != nil {
		return nil, 0, err
	}
	if err := s.step(&metasim.Begin{}); err != nil {
		return nil, 0, err
	}
	for range 1_000_000 {
		if s.finished {
			return transcripts(s), s.authorized, nil
		}
		can := s.can()
		if len(can) == 0 || r.IntN(5) == 0 {
			if err := s.settle(); err != nil {
				return nil, 0, err
			}
			continue
		}
		if err := can[r.IntN(len(can))](); err != nil {
			return nil, 0, err
		}
	}
	return nil, 0, fmt.Errorf("no end")
}

// A network has the same results as one run and as two of which one is nested in the other, in whatever order things happen.
func TestNestedIsFlat(t *testing.T) {
	lines, flatly, nested := 0, 0, 0
	for seed := range uint64(*seeds) {
		n := drawNetwork(seed)
		want, authorized, err := flat(n)
		require.NoError(t, err, "seed %d, flat", seed)
		for _, lines1 := range want {
			lines += len(lines1)
		}
		for order := range uint64(*orders) {
			p, err := newTree(n, order)
			require.NoError(t, err)
			require.NoError(t, p.run(), "seed %d, order %d", seed, order)
			require.Equal(t, want, p.transcripts(), "seed %d, order %d", seed, order)
			flatly, nested = flatly+authorized, nested+p.moved()
		}
	}
	require.Greater(t, lines, *seeds*50, "the networks are too quiet to show anything")
	t.Logf("%d lines; %d authorizations flat, %d nested", lines, flatly, nested)
}

// Two clients that answer one another across the gateway, and then nothing until far later. What the dispatchers say to one another
// follows the events, whatever the delay is: a promise that holds whatever comes from the other side would rise by a delay at a time,
// and without delay not at all.
func TestNestedDoesNotCreep(t *testing.T) {
	for _, delay := range []metasim.Time{0, 1, 1000} {
		n := &network{links: alike(delay), paths: []string{"", "cell"}, specs: []spec{
			{name: "cell/a", cell: "cell", pubs: []string{"A"}, subs: []string{"B"}, sends: 40},
			{name: "b", pubs: []string{"B"}, subs: []string{"A"}, sends: 40, timers: []metasim.Time{10, 1_000_000_000, 2_000_000_000}},
		}}
		want, _, err := flat(n)
		require.NoError(t, err)
		for order := range uint64(8) {
			p, err := newTree(n, order)
			require.NoError(t, err)
			require.NoError(t, p.run(), "delay %v, order %d", delay, order)
			require.Equal(t, want, p.transcripts())
			require.Less(t, p.said, 100, "delay %v, order %d", delay, order)
		}
	}
}

// A gateway that does not keep its duties is found by the rules, or ends in another result: it never passes for a good one.
func TestNestedBadGateway(t *testing.T) {
	for name, spoil := range map[string]func(p *tree){
		"acknowledges before it promises": func(p *tree) {
			c := p.cells[1]
			c.settled = func() {
				e := c.gate.InnerSettled(c.d)
				slices.Reverse(e.Outer)
				p.take(c, e)
			}
		},
		"promises what the outer run has authorized, not a step less": func(p *tree) {
			p.spoilt = func(ev metasim.Event) {
				if promise, ok := ev.(*metasim.Promise); ok {
					promise.NoSendBefore = promise.NoSendBefore.Add(0).Add(0)
				}
			}
		},
		"promises what its clients send alone": func(p *tree) {
			c := p.cells[1]
			c.settled = func() { p.take(c, c.gate.InnerSettled(rash{c.d})) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			caught := 0
			for seed := range uint64(60) {
				n := drawNetwork(seed)
				want, _, err := flat(n)
				require.NoError(t, err)
				p, err := newTree(n, 1)
				require.NoError(t, err)
				spoil(p)
				if p.run() != nil || !reflect.DeepEqual(want, p.transcripts()) {
					caught++
				}
			}
			require.Positive(t, caught)
			t.Logf("caught in %d of 60 networks", caught)
		})
	}
}

// A rash dispatcher believes that nothing more comes from outside.
type rash struct{ *metasim.Dispatcher }

func (r rash) EarliestSend(id metasim.ClientID) (whatever, alone metasim.Instant) {
	_, alone = r.Dispatcher.EarliestSend(id)
	return alone, alone
}
