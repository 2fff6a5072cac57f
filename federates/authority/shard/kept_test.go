package shard

import (
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/claim"
	"metasim/federates/authority/credit"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

var killedSeeds = flag.Int("killed-seeds", 10, "how many seeds TestClaimsAreKept tries")

// deliverUpdate has a shard receive a packet, as package pieces lets it: nothing of an earlier life of its sender. What was sent before its sender had heard that
// the shard has died is beyond the credit.
func (w *world) deliverUpdate(to int, f flight) {
	link := [2]string{f.from, w.names[to]}
	before, begun := w.heard[link]
	if begun && slices.Compare(f.life[:], before[:]) < 0 {
		return
	}
	if begun && f.life != before {
		died := f.life[0] != before[0]
		w.shards[to].Renew(f.from, died)
		if died {
			w.begun[[2]string{w.names[to], f.from}]++
		}
	}
	if w.heard != nil {
		w.heard[link] = f.life
	}
	err := w.shards[to].Receive(f.from, f.m)
	var flood *credit.FloodError
	var beyond *credit.BeyondError
	if w.lives == nil || !errors.As(err, &flood) && !errors.As(err, &beyond) {
		require.NoError(w.t, err)
	}
}

// kill has a server die, and begin again with what was written down.
func (w *world) kill(i int) {
	rights, err := json.Marshal(w.sims[i].Save())
	require.NoError(w.t, err)
	touches, err := json.Marshal(w.shards[i].Claims())
	require.NoError(w.t, err)
	var saved transfer.Saved
	var kept []Kept
	require.NoError(w.t, json.Unmarshal(rights, &saved))
	require.NoError(w.t, json.Unmarshal(touches, &kept))
	w.sims[i] = transfer.Restore(w.simConfigs[i], &saved)
	shard, err := New(w.shards[i].cfg, w.sims[i], nil, nil)
	require.NoError(w.t, err)
	for _, e := range w.sims[i].Held() {
		w.sims[i].Effects = append(w.sims[i].Effects, transfer.Effective{Entity: e, Epoch: w.sims[i].Epoch(e), At: metasim.At(w.now)})
	}
	shard.Reclaim(w.now, kept)
	require.Subset(w.t, shard.Claims(), kept) // what had come by a handover, and the shard had not seen, is there too
	w.shards[i] = shard
	w.lives[w.names[i]]++
	for _, name := range w.names {
		delete(w.heard, [2]string{name, w.names[i]})
		delete(w.begun, [2]string{w.names[i], name})
	}
}

// claims returns the numbers of each entity that moves, by its name and that of each server which knows it; that of its owner is empty.
func (w *world) claims() map[[2]string][2]claim.Sequence {
	all := map[[2]string][2]claim.Sequence{}
	for i, s := range w.shards {
		for _, e := range s.entities {
			if e.owner == claim.Default {
				continue
			}
			name := w.names[i]
			if w.sims[i].Owns(e.name) {
				if name = ""; e.claim.Authority == claim.Default {
					continue // what rests is told of no more
				}
			}
			all[[2]string{e.name, name}] = [2]claim.Sequence{e.claim.Ownership, e.claim.Touches}
		}
	}
	return all
}

// Servers die and begin again, over links that lose, double and reorder packets, while bodies touch others and are handed over: at most one server owns an entity, and at
// most one integrates it; when all is quiet the others know of each entity what its owner says, so nothing that a server tells after it has died is refused.
func TestClaimsAreKept(t *testing.T) {
	deaths, compared, touched := 0, 0, uint64(0)
	for i := range 2 * *killedSeeds {
		seed := uint64(i / 2)
		var home *transfer.Homeserver
		if i%2 == 1 {
			home = transfer.NewHomeserver(transfer.HomeConfig{Name: "home", Neighbours: []string{"s0", "s1", "s2"}})
		}
		w := newWorldAt(t, home, 3, func(server int) []transfer.Body { return balls(seed*10+uint64(server), 12, 9) }, func(_ int, c *Config) { c.Balance = 800 * ms })
		w.draw, w.healed = rand.New(rand.NewPCG(seed, 6)), 3*metasim.Second
		w.lives, w.begun, w.heard = map[string]int{}, map[[2]string]int{}, map[[2]string][2]int{}
		law := w.oneOfEach(seed)
		next := metasim.Time(0)
		w.watch = func() {
			law()
			if w.now >= next && w.now < w.healed {
				next = w.now + metasim.Time(50+w.draw.IntN(400))*ms
				k := w.draw.IntN(len(w.shards))
				touched += w.shards[k].Counts.Touched
				w.kill(k)
				deaths++
				law()
			}
		}
		w.run(w.healed + metasim.Second)
		before := w.claims()
		w.run(w.healed + 2*metasim.Second) // long enough for all to hear of what has not changed meanwhile
		after := w.claims()
		for link, is := range after {
			entity, server := link[0], link[1]
			mine, there := before[[2]string{entity, ""}]
			if there && mine == after[[2]string{entity, ""}] && server != "" {
				require.Equal(t, mine, is, "seed %d: %s at %s", seed, entity, server)
				compared++
			}
		}
	}
	require.NotZero(t, compared)
	require.NotZero(t, deaths)
	require.NotZero(t, touched)
	t.Logf("%d deaths, %d touches", deaths, touched)
}

// What was noted for who reads it in the end is dropped, and nothing else changes.
func TestForget(t *testing.T) {
	start := func(server int) []transfer.Body { return balls(uint64(server), 20, 15) }
	change := func(_ int, c *Config) { c.Balance = 400 * ms }
	keeps, forgets := newWorld(t, 3, start, change), newWorld(t, 3, start, change)
	most := 0
	forgets.watch = func() {
		for i, s := range forgets.shards {
			s.Forget()
			most = max(most, len(forgets.sims[i].Effects)+len(forgets.sims[i].Given)+len(s.Moves)+len(s.Work))
		}
	}
	for _, w := range []*world{keeps, forgets} {
		w.run(6 * metasim.Second)
		w.now = 6 * metasim.Second
	}
	require.Equal(t, keeps.state(), forgets.state())
	_, moves := keeps.total()
	require.Greater(t, len(moves), most, "a few wait until the next tick has seen them")
}
