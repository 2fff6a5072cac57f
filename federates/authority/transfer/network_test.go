package transfer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/pq"
	"metasim/metasim"
)

// A network carries messages between servers: each takes some time, and may be lost or doubled until it is healed.
type network struct {
	t        *testing.T
	now      metasim.Instant
	order    uint64
	flying   pq.Queue[flight]
	homes    map[string]*Homeserver
	sims     map[string]*Simserver
	names    []string
	draw     *rand.Rand // nil: nothing is lost, and each message takes 10 ms
	healed   metasim.Time
	carried  int
	watch    func()
	entities []string
	stored   bool     // a homeserver is made anew of what it keeps for each message, as where its entities are in a store
	log      []string // what was sent, with outages
	outages  *outages // nil: no server dies, and links are not cut
}

type flight struct {
	due   metasim.Time
	order uint64
	from  string
	to    string
	m     []byte
}

func newNetwork(t *testing.T, draw *rand.Rand) *network {
	n := &network{t: t, draw: draw, homes: map[string]*Homeserver{}, sims: map[string]*Simserver{}, watch: func() {}}
	n.flying.Less = func(a, b *flight) bool { return a.due < b.due || a.due == b.due && a.order < b.order }
	return n
}

func (n *network) home(cfg HomeConfig) *Homeserver {
	n.homes[cfg.Name], n.names = NewHomeserver(cfg), append(n.names, cfg.Name)
	return n.homes[cfg.Name]
}

func (n *network) sim(cfg SimConfig) *Simserver {
	cfg.Step = ms
	n.sims[cfg.Name], n.names = NewSimserver(cfg), append(n.names, cfg.Name)
	return n.sims[cfg.Name]
}

func (n *network) send(from string, out []Envelope, err error) {
	require.NoError(n.t, err)
	if n.outages != nil && n.outages.dies(n, from) {
		out = nil
	}
	for _, e := range out {
		b, err := Encode(&e.Message)
		require.NoError(n.t, err)
		if n.outages != nil {
			n.log = append(n.log, fmt.Sprint(n.now, from, e.To, string(b)))
		}
		copies, takes := 1, 10*ms
		if n.draw != nil {
			takes = metasim.Time(1+n.draw.Int64N(20)) * ms
			if n.now.Time < n.healed {
				switch k := n.draw.IntN(10); {
				case k < 3:
					copies = 0
				case k < 5:
					copies = 2
				}
			}
		}
		for range copies {
			n.order++
			n.flying.Push(flight{n.now.Time + takes, n.order, from, e.To, b})
			if n.draw != nil {
				takes += metasim.Time(n.draw.Int64N(40)) * ms
			}
		}
	}
	n.watch()
}

// run carries messages until nothing is on its way, and nobody waits to say anything again.
func (n *network) run() {
	for steps := 0; ; steps++ {
		require.Less(n.t, steps, 100_000, "it does not end")
		wake, who := metasim.Forever, ""
		for _, name := range n.names {
			at := metasim.Forever
			if h := n.homes[name]; h != nil {
				at = h.Wake()
			} else if s := n.sims[name]; s != nil {
				at = s.Wake()
			}
			if n.outages != nil {
				at = n.outages.wake(name, at)
			}
			if at < wake {
				wake, who = at, name
			}
		}
		switch f := n.flying.First(); {
		case f != nil && f.due <= wake:
			n.now = metasim.At(max(f.due, n.now.Time))
			n.deliver(n.flying.Pop())
		case who != "":
			n.now = metasim.At(max(wake, n.now.Time)) // requests may have come later
			if n.outages != nil && n.outages.restarts(n, who) {
				continue
			}
			if h := n.homes[who]; h != nil {
				n.send(who, h.Tick(n.now.Time), nil)
			} else {
				n.send(who, n.sims[who].Tick(n.now.Time), nil)
			}
		default:
			return
		}
	}
}

func (n *network) deliver(f flight) {
	m, err := Decode(f.m)
	require.NoError(n.t, err)
	if n.outages != nil && n.outages.stops(n, f.from, f.to) {
		return
	}
	n.carried++
	var out []Envelope
	if h := n.homes[f.to]; h != nil {
		if n.stored {
			n.homes[f.to] = n.again(h)
			h = n.homes[f.to]
		}
		out, err = h.Receive(n.now.Time, f.from, m)
	} else {
		out, err = n.sims[f.to].Receive(n.now, f.from, m)
	}
	n.send(f.to, out, err)
}

// holders are the servers that own an entity.
func (n *network) holders(entity string) (all []string) {
	for _, name := range n.names {
		s := n.sims[name]
		if s == nil && n.outages != nil {
			s = n.outages.sims[name] // it owns what it has written down
		}
		if s != nil && s.Owns(entity) {
			all = append(all, name)
		}
	}
	return all
}

// without is the state of an entity that nobody ever handed over.
func without(until metasim.Time) State {
	var s State
	s.Integrate(until, ms)
	return s
}
