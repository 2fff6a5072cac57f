package federates

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/federates/authority"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

type storedHome struct {
	Entities map[string]transfer.Record
	Wrong    []string
}

type storedResult struct {
	Batches uint64
	Digest  string
	Holds   []struct {
		NS                metasim.Time
		Key, Member, What string
	}
	Wrong []string
}

// storedRun has two homeservers keep their entities in one store. The first one dies and may come back, over links that lose three of ten messages, double two and reorder them.
func storedRun(t *testing.T, seed uint64, wrap func(wire.Conn) wire.Conn) (map[string]server.ClientResult, metasim.Digest) {
	draw := rand.New(rand.NewPCG(seed, 17))
	bad := []delay.Rule{{Spec: delay.Spec{Delay: delay.Uniform{Min: 2 * ms, Max: 15 * ms}, Loss: delay.Bernoulli(0.3), Duplicate: 0.2}}}
	home := func(more map[string]any) map[string]any {
		with := map[string]any{"neighbours": []any{"a", "b", "c"}, "entities": []any{"ball", "cube"}, "owner": "a", "store": "store", "retry": "30ms", "lease": "400ms"}
		for k, v := range more {
			with[k] = v
		}
		return with
	}
	dies := 50 + draw.IntN(700)
	mortal := map[string]any{"dies": fmt.Sprint(dies, "ms")}
	if seed%3 > 0 {
		mortal["back"] = fmt.Sprint(dies+20+draw.IntN(900), "ms")
	}
	sim := func(more map[string]any) map[string]any {
		more["retry"] = "60ms"
		more["at"] = fmt.Sprint(100+draw.IntN(700), "ms")
		return more
	}
	result, _, err := testRun{rules: bad, until: 6 * metasim.Second, seed: seed, wrap: wrap, parts: []part{
		{name: "store", model: "store", with: map[string]any{"members": []any{"home-1", "home-2"}}},
		{name: "home-1", model: "homeserver", with: home(mortal)},
		{name: "home-2", model: "homeserver", with: home(nil)},
		{name: "a", model: "simserver", with: sim(map[string]any{"home": "home-2", "neighbours": []any{"b", "c"}, "entities": []any{"ball", "cube"}, "give": "cube", "to": "b"})},
		{name: "b", model: "simserver", with: sim(map[string]any{"home": "home-2", "neighbours": []any{"a", "c"}, "take": "ball"})},
		{name: "c", model: "simserver", with: sim(map[string]any{"home": "home-1", "neighbours": []any{"a", "b"}, "take": "ball"})},
	}}.run(t)
	require.NoError(t, err, "seed %d", seed)
	byName := map[string]server.ClientResult{}
	for _, c := range result.Clients {
		byName[c.Name] = c
	}
	return byName, result.Digest
}

// Two homeservers of one instance have one store in a run. One of them dies, also between what it wrote and what it says of it; the other one leads then, and each entity has the
// owner that the store names, each ownership begins once. The same seed has the same leaders and the same log, however the clients come to compute.
func TestHomeserversShareAStore(t *testing.T) {
	changes, moved, late := 0, 0, 0
	for seed := range uint64(40) {
		results, digest := storedRun(t, seed, nil)
		kept, store := resultOf[storedHome](t, results, "home-2"), resultOf[storedResult](t, results, "store")
		require.Empty(t, kept.Wrong)
		require.Empty(t, store.Wrong)
		begun, owners := map[string]string{}, map[string]string{}
		for _, name := range []string{"a", "b", "c"} {
			r := resultOf[authority.SimResult](t, results, name)
			for _, e := range r.Effective {
				key := fmt.Sprint(e.Entity, " ", e.Epoch)
				require.Empty(t, begun[key], "seed %d: %s begins twice", seed, key)
				begun[key] = name
				moved++
			}
			for e := range r.Entities {
				require.Empty(t, owners[e], "seed %d: two own %s", seed, e)
				owners[e] = name
			}
		}
		for _, e := range []string{"ball", "cube"} {
			require.Equal(t, kept.Entities[e].Owner, owners[e], "seed %d: %s", seed, e)
		}
		leader := ""
		for _, h := range store.Holds {
			if h.Key == "leader" && h.What == "held" && h.Member != leader {
				changes++
				leader = h.Member
			}
			if h.What == "expired" {
				late++
			}
		}
		if seed%8 == 0 {
			draw := rand.New(rand.NewPCG(seed, 1))
			again, other := storedRun(t, seed, func(c wire.Conn) wire.Conn {
				return &unsteady{c, rand.New(rand.NewPCG(draw.Uint64(), 2)), rand.New(rand.NewPCG(draw.Uint64(), 3))}
			})
			require.Equal(t, digest, other, "seed %d", seed)
			require.Equal(t, store, resultOf[storedResult](t, again, "store"), "seed %d", seed)
		}
	}
	require.Greater(t, moved, 80, "ownerships that began")
	require.Greater(t, changes, 50, "leaders")
	require.NotZero(t, late)
	t.Logf("%d ownerships began, %d leaders, %d keys of homeservers that were silent", moved, changes, late)
}

// A homeserver of another instance, and who is no member, are refused with a sentence.
func TestWhoMayUseAStore(t *testing.T) {
	home := func(store, instance string) map[string]any {
		return map[string]any{"neighbours": []any{"a"}, "entities": []any{"ball"}, "owner": "a", "store": store, "instance": instance}
	}
	_, _, err := testRun{rules: every(ms), until: metasim.Second, parts: []part{
		{name: "store", model: "store", with: map[string]any{"members": []any{"home-1", "home-2"}}},
		{name: "home-1", model: "homeserver", with: home("store", "x")},
		{name: "home-2", model: "homeserver", with: home("store", "y")},
	}}.run(t)
	require.ErrorContains(t, err, `is of another instance`)
	results, _ := testRun{rules: every(ms), until: metasim.Second, parts: []part{
		{name: "store", model: "store", with: map[string]any{"members": []any{"home-1"}}},
		{name: "home-1", model: "homeserver", with: home("store", "x")},
		{name: "ping", model: "source", with: map[string]any{"channel": "store/asked", "period": "100ms", "count": 2}},
	}}.mustRun(t)
	store := resultOf[storedResult](t, results, "store")
	require.Equal(t, "ping asked the store, and is none of its members; name it in members", store.Wrong[0])
}
