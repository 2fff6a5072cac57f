package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/interest"
	"metasim/federates/authority/transfer"
	"metasim/internal/pq"
	"metasim/metasim"
)

const (
	ms    = metasim.Millisecond
	metre = 1_000_000 // micrometres
	side  = 40 * metre
)

// A world has shards, and links between them.
type world struct {
	t      *testing.T
	now    metasim.Time
	order  uint64
	flying pq.Queue[flight]
	shards []*Shard
	sims   []*transfer.Simserver
	told   func(flight) // hears of all that is sent; nil: nobody does

	simConfigs []transfer.SimConfig
	outages    *outages // nil: no server dies, and links are not cut
	names      []string
	draw       *rand.Rand // nil: each message takes 10 ms, and none is lost
	healed     metasim.Time
	watch      func()
	home       *transfer.Homeserver // nil: servers hand over directly
	takes      metasim.Time         // when a server takes an entity next, with a homeserver

	lives map[string]int       // how often a server has died that keeps its claims alone
	begun map[[2]string]int    // how often such a server has begun anew to another, in this life
	heard map[[2]string][2]int // of which life of a server another has heard, and of which beginning
}

type flight struct {
	due    metasim.Time
	order  uint64
	from   string
	to     string
	m      []byte
	update bool
	life   [2]int // of its sender, and how often that had begun anew
}

func newWorld(t *testing.T, servers int, balls func(server int) []transfer.Body, change func(server int, c *Config)) *world {
	return newWorldAt(t, nil, servers, balls, change)
}

// newWorldAt makes a world whose owners a homeserver keeps.
func newWorldAt(t *testing.T, home *transfer.Homeserver, servers int, balls func(server int) []transfer.Body, change func(server int, c *Config)) *world {
	w := &world{t: t, watch: func() {}, home: home}
	w.flying.Less = func(a, b *flight) bool { return a.due < b.due || a.due == b.due && a.order < b.order }
	for i := range servers {
		w.names = append(w.names, fmt.Sprint("s", i))
	}
	for i, name := range w.names {
		retry := metasim.Time(0)
		cfg := Config{
			Name: name, Servers: w.names, Step: ms, Every: 20, Side: side, Look: [2]int64{int64(i%2)*side/2 + side/4, int64(i/2)*side/2 + side/4},
			Rings: []interest.Ring{{Within: 10 * metre, Every: 1}, {Within: 20 * metre, Every: 4}, {Within: 60 * metre, Every: 20}},
			Reach: metre, Rest: 400, Window: 4000, Packet: 1000, Leaves: metasim.Forever,
		}
		if change != nil {
			change(i, &cfg)
		}
		if cfg.Balance > 0 || cfg.Reach > 0 {
			retry = 100 * ms
		}
		home := ""
		if w.home != nil {
			home = "home"
		}
		w.simConfigs = append(w.simConfigs, transfer.SimConfig{Name: name, Home: home, Step: ms, Retry: retry})
		sim := transfer.NewSimserver(w.simConfigs[i])
		bodies, owned := balls(i), []string{}
		for k := range bodies {
			owned = append(owned, fmt.Sprintf("%s-%02d", name, k))
			if w.home != nil {
				w.home.Enter(owned[k], transfer.Record{Owner: name, Rule: transfer.Allow})
			}
		}
		s, err := New(cfg, sim, owned, bodies)
		require.NoError(t, err)
		w.shards, w.sims = append(w.shards, s), append(w.sims, sim)
	}
	return w
}

// balls draws bodies that start anywhere.
func balls(seed uint64, n, resting int) []transfer.Body {
	draw := rand.New(rand.NewPCG(seed, 3))
	var all []transfer.Body
	for i := range n {
		b := transfer.Body{X: draw.Int64N(side), Y: draw.Int64N(side), VX: draw.Int64N(10_001) - 5000, VY: draw.Int64N(10_001) - 5000, Side: side}
		if b.Slows = i < resting; b.Slows {
			b.VX, b.VY = 0, 0
		}
		all = append(all, b)
	}
	return all
}

func (w *world) send(from string, packets []Packet, envelopes []transfer.Envelope) {
	if w.outages.dies(w, from) {
		return
	}
	for _, p := range packets {
		w.fly(flight{from: from, to: p.To, m: p.Bytes, update: true})
	}
	for _, e := range envelopes {
		b, err := transfer.Encode(&e.Message)
		require.NoError(w.t, err)
		w.fly(flight{from: from, to: e.To, m: b})
	}
}

func (w *world) fly(f flight) {
	if w.told != nil {
		w.told(f)
	}
	copies, takes := 1, 10*ms
	f.life = [2]int{w.lives[f.from], w.begun[[2]string{f.from, f.to}]}
	if w.draw != nil {
		takes = metasim.Time(1+w.draw.Int64N(40)) * ms
		if k := w.draw.IntN(10); w.now < w.healed && k < 3 {
			copies = 0
		} else if w.now < w.healed && k < 5 {
			copies = 2
		}
	}
	for range copies {
		w.order++
		f.due, f.order = w.now+takes, w.order
		w.flying.Push(f)
		if w.draw != nil {
			takes += metasim.Time(w.draw.Int64N(40)) * ms
		}
	}
}

func (w *world) run(until metasim.Time) {
	for {
		at, who := metasim.Forever, -1
		for i, s := range w.shards {
			if wake := w.outages.wake(i, min(s.Wake(), w.sims[i].Wake())); wake < at {
				at, who = wake, i
			}
		}
		f := w.flying.First()
		if f != nil && f.due <= at {
			at = f.due
		}
		if at > until {
			return
		}
		w.now = max(w.now, at)
		if f != nil && f.due <= at {
			w.deliver(w.flying.Pop())
		} else if !w.outages.restarts(w, who) {
			asked := append(w.sims[who].Tick(w.now), w.take(who)...)
			packets, more, err := w.shards[who].Tick(w.now)
			require.NoError(w.t, err)
			w.send(w.names[who], packets, append(asked, more...))
		}
		w.watch()
	}
}

// take has a server take any entity, now and then.
func (w *world) take(who int) []transfer.Envelope {
	if w.home == nil || w.now < w.takes || w.now >= w.healed {
		return nil
	}
	w.takes = w.now + metasim.Time(50+w.draw.IntN(200))*ms
	s := w.shards[w.draw.IntN(len(w.shards))]
	out, err := w.sims[who].Take(w.now, s.entities[w.draw.IntN(len(s.entities))].name)
	if err != nil {
		return nil // it has it, or has asked
	}
	return out
}

func (w *world) deliver(f flight) {
	if w.outages.stops(w, f) {
		return
	}
	if f.to == "home" {
		m, err := transfer.Decode(f.m)
		require.NoError(w.t, err)
		out, err := w.home.Receive(w.now, f.from, m)
		require.NoError(w.t, err)
		w.send(f.to, nil, out)
		return
	}
	to := slices.Index(w.names, f.to)
	if f.update {
		w.deliverUpdate(to, f)
		return
	}
	m, err := transfer.Decode(f.m)
	require.NoError(w.t, err)
	out, err := w.sims[to].Receive(metasim.At(w.now), f.from, m)
	require.NoError(w.t, err)
	w.send(f.to, nil, out)
}

// state returns the owner of each entity and its state now.
func (w *world) state() map[string]transfer.State {
	all := map[string]transfer.State{}
	for _, sim := range w.sims {
		for _, e := range sim.Held() {
			require.NotContains(w.t, all, e, "two own it")
			all[e] = sim.State(e, w.now)
		}
	}
	return all
}

func (w *world) total() (c Counts, moves []Moved) {
	for _, s := range w.shards {
		c.Sent += s.Counts.Sent
		c.Taken += s.Counts.Taken
		c.Late += s.Counts.Late
		c.Waited += s.Counts.Waited
		c.Touched += s.Counts.Touched
		c.Won += s.Counts.Won
		c.Rested += s.Counts.Rested
		moves = append(moves, s.Moves...)
	}
	return c, moves
}

// oneOfEach returns what fails where two own an entity, or two integrate it.
func (w *world) oneOfEach(seed uint64) func() {
	integrates, owns := map[string]string{}, map[string]string{}
	only := func(does map[string]string, what, entity, server string) {
		if does[entity] != "" {
			w.t.Fatalf("seed %d, with a homeserver %v, servers die %v: %s %s %s at %v, and %s", seed, w.home != nil, w.outages != nil || w.lives != nil, does[entity], what, entity, w.now, server)
		}
		does[entity] = server
	}
	return func() {
		clear(integrates)
		clear(owns)
		for i, s := range w.shards {
			for _, e := range s.entities {
				if w.sims[i].Owns(e.name) {
					only(owns, "owns", e.name, w.names[i])
				}
				if s.integrates(e) {
					only(integrates, "integrates", e.name, w.names[i])
				}
			}
		}
	}
}
