package gateway

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	floodMemory = 1 << 20
	floodEnd    = 4000 // each source sends 4 MB until then
)

// A flood is sources that send at each nanosecond, and those that hear them, across the border of two runs.
func flood(paths []string, specs ...spec) *network {
	n := &network{seed: 1, until: floodEnd, links: alike(5), paths: paths, specs: specs, memory: floodMemory}
	for i := range n.specs {
		if s := &n.specs[i]; len(s.pubs) > 0 {
			s.steps, s.floods, s.period, s.sends = true, true, 1, floodEnd
		}
	}
	return n
}

// crawl lets those that hear do something only where nothing else can happen, and then one thing.
func (p *tree) crawl() error {
	slow := func(held bool) {
		for _, c := range p.cells {
			for _, a := range c.order {
				a.held = held && len(a.subs) > 0
			}
		}
	}
	slow(true)
	for range 5_000_000 {
		if p.err != nil || p.finished() {
			return p.err
		}
		before, can := p.moved(), p.can()
		for _, does := range can {
			if err := does(); err != nil {
				return err
			}
		}
		if err := p.settle(); err != nil {
			return err
		}
		if len(can) > 0 || p.moved() > before || p.finished() {
			continue
		}
		slow(false)
		can = p.can()
		slow(true)
		if len(can) == 0 {
			return fmt.Errorf("nothing can happen any more: %s", p.status())
		}
		if err := can[p.r.IntN(len(can))](); err != nil {
			return err
		}
	}
	return fmt.Errorf("no end: %s", p.status())
}

// Who hears what another run sends is as slow as can be. No run holds more than its memory, and the results are those of the flat run.
func TestNestedMemory(t *testing.T) {
	for name, n := range map[string]*network{
		"out": flood([]string{"", "cell"}, spec{name: "cell/fast", cell: "cell", pubs: []string{"A"}}, spec{name: "slow", subs: []string{"A"}}),
		"in":  flood([]string{"", "cell"}, spec{name: "cell/slow", cell: "cell", subs: []string{"A"}}, spec{name: "fast", pubs: []string{"A"}}),
		"both": flood([]string{"", "cell"}, spec{name: "cell/fast", cell: "cell", pubs: []string{"A"}}, spec{name: "cell/slow", cell: "cell", subs: []string{"B"}},
			spec{name: "fast", pubs: []string{"B"}}, spec{name: "slow", subs: []string{"A"}}),
		"two": flood([]string{"", "a", "b"}, spec{name: "a/fast", cell: "a", pubs: []string{"A"}}, spec{name: "a/slow", cell: "a", subs: []string{"B"}},
			spec{name: "b/fast", cell: "b", pubs: []string{"B"}}, spec{name: "b/slow", cell: "b", subs: []string{"A"}}),
		"deep": flood([]string{"", "cell", "cell/in"}, spec{name: "cell/in/fast", cell: "cell/in", pubs: []string{"A"}}, spec{name: "slow", subs: []string{"A"}}),
	} {
		t.Run(name, func(t *testing.T) {
			want, _, err := flat(n)
			require.NoError(t, err)
			p, err := newTree(n, 0)
			require.NoError(t, err)
			require.NoError(t, p.crawl())
			require.Equal(t, want, p.transcripts())
			for _, c := range p.cells {
				require.Less(t, c.d.Held(), floodMemory, "%q", c.path)
				t.Logf("%q held %d bytes", c.path, c.d.Held())
			}
		})
	}
}
