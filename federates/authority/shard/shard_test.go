package shard

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/claim"
	"metasim/federates/authority/interest"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

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

// Over links that lose three of ten packets, double two, and reorder them, while bodies touch others that rest, servers give some away, and, where a homeserver keeps the
// owners, take some: at each instant at most one server owns an entity and at most one integrates it. In the end each entity has one owner. Each world is computed with and
// without a homeserver, and both once more while servers die, also after they have written down what they are to send and before they have sent it, and the network is cut in two.
func TestOneIntegrator(t *testing.T) {
	var all Counts
	worlds := slices.Collect(func(yield func(uint64) bool) {
		for seed := range uint64(*seeds) {
			if !yield(seed) {
				return
			}
		}
		// A guest moved a body that its owner gave away; it claimed one again in the tick in which it had let it rest.
		_ = yield(1534) && yield(2523) // no more follow
	})
	var died outages
	for i := range 4 * len(worlds) {
		seed := worlds[i/4]
		var home *transfer.Homeserver
		kept, dies := i%2 == 1, i%4 > 1
		if kept {
			home = transfer.NewHomeserver(transfer.HomeConfig{Name: "home", Neighbours: []string{"s0", "s1", "s2"}})
		}
		w := newWorldAt(t, home, 3, func(server int) []transfer.Body { return balls(seed*10+uint64(server), 12, 9) }, func(_ int, c *Config) { c.Balance = 800 * ms })
		w.draw, w.healed = rand.New(rand.NewPCG(seed, 5)), 3*metasim.Second
		if dies {
			w.outages = &outages{draw: rand.New(rand.NewPCG(seed, 13)), begins: map[int]metasim.Time{}}
		}
		w.watch = w.oneOfEach(seed)
		w.run(5 * metasim.Second)
		require.Len(t, w.state(), 36, "seed %d, with a homeserver %v, servers die %v", seed, kept, dies)
		died.add(w.outages)
		c, _ := w.total()
		all.Touched, all.Won, all.Rested, all.Late = all.Touched+c.Touched, all.Won+c.Won, all.Rested+c.Rested, all.Late+c.Late
	}
	require.NotZero(t, all.Touched)
	require.NotZero(t, all.Won)
	require.NotZero(t, all.Rested)
	require.NotZero(t, all.Late)
	require.NotZero(t, died.deaths)
	require.NotZero(t, died.unsent)
	require.NotZero(t, died.stopped)
	t.Logf("%+v; %d deaths, %d of them between writing and sending, %d packets and messages that reached nobody", all, died.deaths, died.unsent, died.stopped)
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

// With a meter the processor time of servers is balanced, not their steps: where one takes thrice as much for a ball it has fewer, and nobody takes a fifth more than the
// mean. Each ball is where it is without balance, bit by bit; no round is planned before its costs are known, and what is said twice counts once.
func TestBalanceByCost(t *testing.T) {
	start := func(server int) []transfer.Body {
		if server > 0 {
			return nil
		}
		return balls(1, 100, 0)
	}
	price := []uint64{1000, 3000, 1000, 1000} // of a ball
	w := newWorld(t, 4, start, func(_ int, c *Config) { c.Balance, c.Reach, c.Meter = 400*ms, 0, true })
	most, sum := uint64(0), uint64(0)
	for round := range 12 {
		w.run(metasim.Time(round)*400*ms + 390*ms)
		_, moves := w.total()
		if round == 0 {
			require.Empty(t, moves, "no costs are known")
		}
		w.run(metasim.Time(round+1)*400*ms + 30*ms)
		most, sum = 0, 0
		for i, s := range w.shards {
			cost := price[i] * uint64(len(w.sims[i].Held()))
			s.Cost(cost)
			s.Cost(1 << 60)
			most, sum = max(most, cost), sum+cost
		}
	}
	require.LessOrEqual(t, float64(most), 1.2*float64(sum)/4, "the greatest cost, by the mean")
	require.Less(t, len(w.sims[1].Held()), 15)
	require.Equal(t, uint64(1000*len(w.sims[2].Held())), w.shards[2].Work[len(w.shards[2].Work)-2].Cost)
	alone := newWorld(t, 4, start, func(_ int, c *Config) { c.Reach = 0 })
	alone.run(5 * metasim.Second)
	w.run(5 * metasim.Second)
	alone.now, w.now = 5*metasim.Second, 5*metasim.Second
	require.Equal(t, alone.state(), w.state())
}

// A world has six servers, and so many have balls as there is work for: all at first, fewer when most balls have come to rest, and each change is logged. Each ball is where it is
// without that.
func TestServersComeWithTheWork(t *testing.T) {
	start := func(server int) []transfer.Body {
		if server > 0 {
			return nil
		}
		all := balls(1, 60, 0)
		for i := range all {
			if all[i].Slows = i%4 > 0; all[i].Slows {
				all[i].VX, all[i].VY = 1e9, 1e9 // it is at rest after a second
			}
		}
		return all
	}
	round := 400 * ms
	w := newWorld(t, 6, start, func(_ int, c *Config) { c.Balance, c.Reach, c.Full = round, 0, 4000 }) // ten balls
	w.run(3*round - 1)
	for i, sim := range w.sims {
		require.NotEmpty(t, sim.Held(), "server %d at %v", i, w.now)
	}
	w.run(6 * metasim.Second)
	for i, sim := range w.sims {
		require.Equal(t, i < 2, len(sim.Held()) > 0, "server %d has %v", i, sim.Held())
	}
	for _, s := range w.shards[2:] {
		require.Len(t, s.Parts, 3, "it waits, takes part, and leaves")
		require.True(t, !s.Parts[0].Takes && s.Parts[1].Takes && !s.Parts[2].Takes)
	}
	alone := newWorld(t, 6, start, func(_ int, c *Config) { c.Reach = 0 })
	alone.run(6 * metasim.Second)
	w.now, alone.now = 6*metasim.Second, 6*metasim.Second
	require.Equal(t, alone.state(), w.state())
}
