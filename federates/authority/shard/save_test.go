package shard

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

// again puts a shard that was restored, with its simulation server, in the place of another one.
func (w *world) again(who int) {
	saved, sim := w.shards[who].Save(), w.sims[who].Checkpoint()
	w.sims[who] = transfer.Resume(w.simConfigs[who], &sim)
	s, err := Restore(w.shards[who].cfg, w.sims[who], saved)
	require.NoError(w.t, err)
	require.Equal(w.t, saved, s.Save())
	w.shards[who] = s
}

// A world goes on as it would, bit by bit, whenever its servers are made again of what they have saved.
func TestSavedShardsGoOn(t *testing.T) {
	for seed := range uint64(4) {
		carry := func(saves int) ([]string, map[string]transfer.State, Counts) {
			home := transfer.NewHomeserver(transfer.HomeConfig{Name: "home", Neighbours: []string{"s0", "s1", "s2"}})
			w := newWorldAt(t, home, 3, func(server int) []transfer.Body { return balls(seed*10+uint64(server), 12, 9) }, func(i int, c *Config) {
				c.Balance, c.Window = 800*ms, 1000
				if i == 2 {
					c.Reads = 100
				}
			})
			w.draw, w.healed = rand.New(rand.NewPCG(seed, 5)), 3*metasim.Second
			n, log := 0, []string{}
			w.told = func(f flight) { log = append(log, string(f.m)) }
			w.watch = func() {
				if n++; saves > 0 && n%saves == 0 {
					w.again(n / saves % 3)
				}
			}
			w.run(5 * metasim.Second)
			c, _ := w.total()
			return log, w.state(), c
		}
		log, state, counts := carry(0)
		require.NotZero(t, counts.Won)
		require.NotZero(t, counts.Waited)
		gotLog, gotState, gotCounts := carry(7)
		require.Equal(t, state, gotState)
		require.Equal(t, counts, gotCounts)
		require.Equal(t, log, gotLog, "all that was sent, in its order")
	}
}

// What was saved and is damaged is refused, wherever it is.
func TestDamagedShards(t *testing.T) {
	w := newWorld(t, 2, func(int) []transfer.Body { return balls(3, 5, 2) }, nil)
	w.run(metasim.Second)
	saved := w.shards[0].Save()
	for n := range saved {
		sim := w.sims[0].Checkpoint()
		_, err := Restore(w.shards[0].cfg, transfer.Resume(w.simConfigs[0], &sim), saved[:n])
		require.ErrorContains(t, err, "what was saved of a shard cannot be read: at byte ")
	}
	_, err := Restore(w.shards[0].cfg, w.sims[0], append(saved, 0))
	require.ErrorContains(t, err, "more follows than belongs to it")
}
