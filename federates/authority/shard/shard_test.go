package shard

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/claim"
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

// A world has shards without homeservers, and links between them.
type world struct {
	t      *testing.T
	now    metasim.Time
	order  uint64
	flying pq.Queue[flight]
	shards []*Shard
	sims   []*transfer.Simserver
	names  []string
	draw   *rand.Rand // nil: each message takes 10 ms, and none is lost
	healed metasim.Time
	watch  func()
}

type flight struct {
	due    metasim.Time
	order  uint64
	from   string
	to     string
	m      []byte
	update bool
}

func newWorld(t *testing.T, servers int, balls func(server int) []transfer.Body, change func(server int, c *Config)) *world {
	w := &world{t: t, watch: func() {}}
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
		sim := transfer.NewSimserver(transfer.SimConfig{Name: name, Step: ms, Retry: retry})
		bodies, owned := balls(i), []string{}
		for k := range bodies {
			owned = append(owned, fmt.Sprintf("%s-%02d", name, k))
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
	copies, takes := 1, 10*ms
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
			if wake := min(s.Wake(), w.sims[i].Wake()); wake < at {
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
		} else {
			asked := w.sims[who].Tick(w.now)
			packets, more, err := w.shards[who].Tick(w.now)
			require.NoError(w.t, err)
			w.send(w.names[who], packets, append(asked, more...))
		}
		w.watch()
	}
}

func (w *world) deliver(f flight) {
	to := slices.Index(w.names, f.to)
	if f.update {
		require.NoError(w.t, w.shards[to].Receive(f.from, f.m))
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

// A hundred entities begin on one of four servers. Two rounds later all have about the same work, each move is logged, and every entity is where it is without any.
func TestBalance(t *testing.T) {
	start := func(server int) []transfer.Body {
		if server > 0 {
			return nil
		}
		return balls(1, 100, 0)
	}
	balanced := newWorld(t, 4, start, func(_ int, c *Config) { c.Balance, c.Reach = 400*ms, 0 })
	balanced.run(2 * metasim.Second)
	alone := newWorld(t, 4, start, func(_ int, c *Config) { c.Reach = 0 })
	alone.run(2 * metasim.Second)
	alone.now, balanced.now = 2*metasim.Second, 2*metasim.Second
	require.Equal(t, alone.state(), balanced.state())
	most, sum := uint64(0), uint64(0)
	for i, s := range balanced.shards {
		last := s.Work[len(s.Work)-1]
		most, sum = max(most, last.Work), sum+last.Work
		require.Equal(t, s.Work[len(s.Work)-1].Round, balanced.shards[0].Work[len(s.Work)-1].Round)
		require.Len(t, balanced.sims[i].Held(), 25)
	}
	require.LessOrEqual(t, float64(most), 1.2*float64(sum)/4, "the greatest load, by the mean")
	_, moves := balanced.total()
	require.Len(t, moves, 75)
	_, none := alone.total()
	require.Empty(t, none)
}

// A server that joins gets work, and one that leaves has none: every entity goes on.
func TestServersJoinAndLeave(t *testing.T) {
	start := func(server int) []transfer.Body {
		if server == 2 {
			return nil
		}
		return balls(uint64(server), 30, 10)
	}
	w := newWorld(t, 3, start, func(i int, c *Config) {
		c.Balance, c.Reach = 400*ms, 0
		if i == 2 {
			c.Joins = metasim.Second
		}
		if i == 0 {
			c.Leaves = 2 * metasim.Second
		}
	})
	w.run(metasim.Second - 1)
	require.Empty(t, w.sims[2].Held())
	w.run(2*metasim.Second - 1)
	require.NotEmpty(t, w.sims[2].Held())
	w.run(4 * metasim.Second)
	require.Empty(t, w.sims[0].Held())
	require.Len(t, w.state(), 60)
}

var seeds = flag.Int("seeds", 20, "how many seeds TestOneIntegrator tries")

// Over links that lose three of ten packets, double two, and reorder them, while bodies touch others that rest and servers give some away: at each instant
// at most one server owns an entity and at most one integrates it, and in the end all know the same of what rests.
func TestOneIntegrator(t *testing.T) {
	var all Counts
	for seed := range uint64(*seeds) {
		w := newWorld(t, 3, func(server int) []transfer.Body { return balls(seed*10+uint64(server), 12, 9) }, func(_ int, c *Config) { c.Balance = 800 * ms })
		w.draw, w.healed = rand.New(rand.NewPCG(seed, 5)), 3*metasim.Second
		w.watch = func() {
			integrates, owns := map[string]string{}, map[string]string{}
			for i, s := range w.shards {
				for _, e := range s.entities {
					if w.sims[i].Owns(e.name) {
						require.Empty(t, owns[e.name], "seed %d: %s at %v", seed, e.name, w.now)
						owns[e.name] = w.names[i]
					}
					if s.integrates(e) {
						require.Empty(t, integrates[e.name], "seed %d: %s at %v, and %s", seed, e.name, w.now, w.names[i])
						integrates[e.name] = w.names[i]
					}
				}
			}
		}
		w.run(5 * metasim.Second)
		c, _ := w.total()
		all.Touched, all.Won, all.Rested, all.Late = all.Touched+c.Touched, all.Won+c.Won, all.Rested+c.Rested, all.Late+c.Late
	}
	require.NotZero(t, all.Touched)
	require.NotZero(t, all.Won)
	require.NotZero(t, all.Rested)
	require.NotZero(t, all.Late)
	t.Logf("%+v", all)
}

// A server that reads little is told less, and the others are told what they would be told without it.
func TestSlowServer(t *testing.T) {
	counts := func(slow bool) []Counts {
		w := newWorld(t, 4, func(server int) []transfer.Body { return balls(uint64(server), 40, 0) }, func(i int, c *Config) {
			c.Reach, c.Window = 0, 4000
			if i == 3 && slow {
				c.Reads = 20
			}
		})
		w.run(3 * metasim.Second)
		var all []Counts
		for _, s := range w.shards {
			all = append(all, s.Counts)
		}
		return all
	}
	fast, slow := counts(false), counts(true)
	for i := range 3 {
		require.Equal(t, fast[i].Taken, slow[i].Taken)
		require.Greater(t, slow[i].Waited, fast[i].Waited)
	}
	require.Less(t, slow[3].Taken, fast[3].Taken/2)
	require.NotZero(t, slow[3].Taken)
}

// What is at rest is neither computed nor told of.
func TestRestCostsNothing(t *testing.T) {
	w := newWorld(t, 2, func(int) []transfer.Body { return balls(3, 50, 50) }, nil)
	w.run(3 * metasim.Second)
	before, _ := w.total()
	for _, s := range w.shards {
		require.Empty(t, s.active)
	}
	w.run(6 * metasim.Second)
	after, _ := w.total()
	require.Equal(t, before.Sent, after.Sent)
	for _, s := range w.shards {
		require.Zero(t, s.Work[len(s.Work)-1].Work)
	}
}

// What is no packet, or more than was granted, is refused with who sent it.
func TestPacketsAreChecked(t *testing.T) {
	w := newWorld(t, 2, func(int) []transfer.Body { return balls(3, 1, 0) }, nil)
	s := w.shards[0]
	flood := updatesHead()
	body := balls(1, 1, 0)[0]
	for range 100 {
		flood = appendUpdate(flood, &update{"ball", claim.Claim{}, true, transfer.State{Body: &body}})
	}
	far := body
	far.X = -1
	for want, c := range map[string]struct {
		from string
		b    []byte
	}{
		"s7 sent a packet, and is no simulation server of this world": {"s7", []byte{1}},
		"s0 sent a packet, and is no":                                 {"s0", []byte{1}},
		"at byte 0 it ends":                                           {"s1", nil},
		"s1 sent a packet of kind 9; use 1 to 3":                      {"s1", []byte{9}},
		"ends before its sequence number does":                        {"s1", []byte{1, 2}},
		"an update is cut off":                                        {"s1", flood[:60]},
		"place outside of the world":                                  {"s1", appendUpdate(updatesHead(), &update{"ball", claim.Claim{}, true, transfer.State{Body: &far}})},
		"bytes beyond the credit, which ends at 4000":                 {"s1", flood},
		"a credit ends; it has 17 bytes":                              {"s1", []byte{2, 0}},
		"a credit is for 513 bytes, and 0 were sent: 513 too many":    {"s1", append([]byte{2, 1, 2}, make([]byte, 14)...)},
		"a load ends, or has unknown flags; it has 34 bytes":          {"s1", []byte{3}},
	} {
		require.ErrorContains(t, s.Receive(c.from, c.b), want)
	}
	require.Empty(t, s.peers[1].inbox)
}

// No packet stops a server, and what is read is written as it was.
func FuzzPacket(f *testing.F) {
	body := balls(1, 1, 0)[0]
	f.Add(appendUpdate(updatesHead(), &update{"ball", claim.Claim{Ownership: 65535, Authority: 2, Holder: 2}, true, transfer.State{Steps: 7, Body: &body}}))
	f.Add((&load{round: 1, work: 2, leaving: true}).bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := readLoad("x", b); err == nil && b[0] == loadPacket {
			require.Equal(t, b, l.bytes())
		}
		if c, err := readCredit("x", b); err == nil && b[0] == creditPacket {
			require.Equal(t, b, creditBytes(c))
		}
		_, updates, err := readUpdates("x", 2, b, side)
		if err != nil || b[0] != updatesPacket {
			return
		}
		again := append([]byte{}, b[:headBytes]...)
		for i := range updates {
			again = appendUpdate(again, &updates[i])
		}
		require.Equal(t, b, again)
	})
}

// What makes no sense in a configuration is named.
func TestConfigIsChecked(t *testing.T) {
	good := Config{Name: "a", Servers: []string{"a"}, Step: ms, Every: 1, Side: side, Rings: []interest.Ring{{Within: 1, Every: 1}}, Rest: 1, Window: 1000, Packet: 1000}
	for want, change := range map[string]func(*Config){
		`write this one, "b"`: func(c *Config) { c.Name = "b" },
		"Step, Every or Rest": func(c *Config) { c.Every = 0 },
		"Packet is 100":       func(c *Config) { c.Packet = 100 },
		"Balance is 1ms":      func(c *Config) { c.Balance = ms },
		"interest: Side is 0": func(c *Config) { c.Side = 0 },
	} {
		c := good
		change(&c)
		_, err := New(c, transfer.NewSimserver(transfer.SimConfig{Name: "a", Step: ms}), nil, nil)
		require.ErrorContains(t, err, want)
	}
}
