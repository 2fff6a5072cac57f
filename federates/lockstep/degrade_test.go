package lockstep

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/sdf"
	"metasim/federates/world"
	"metasim/metasim"
	"metasim/server"
)

// dying is the runtime of a system whose client is lost when it is called in a phase of an iteration.
func dying(t *testing.T, system string, p world.Phase, from uint64) part {
	t.Helper()
	in, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: system})
	require.NoError(t, err)
	return part{system, in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
		made := func(p *sdf.Plugin) (any, error) { return makeSystem(p, anywhere) }
		r := &runtime{machine: &machine{state: initialized, make: made}, system: system, client: c, replies: out[0]}
		for {
			messages, err := c.Next(ctx, metasim.Forever)
			if err != nil {
				return err
			}
			for _, m := range messages {
				if asked, err := decodeCall(m.Payload); err != nil || asked.phase == p && asked.info.Iteration >= from {
					return errors.Join(errors.New("out of wind"), err)
				}
				if err := r.reply(m); err != nil {
					return err
				}
			}
		}
	}}
}

// degradedOf returns what a world has gone on without.
func degradedOf(t *testing.T, r server.Result) []goneResult {
	t.Helper()
	i := slices.IndexFunc(r.Clients, func(c server.ClientResult) bool { return c.Name == "world" })
	var result worldResult
	require.NoError(t, json.Unmarshal(r.Clients[i].Result, &result))
	return result.Degraded
}

// A world goes on without a system whose runtime is lost, where it is told to, and says so: up to there its states are those of the whole run. Secondaries
// go on with it.
func TestAWorldGoesOnWithoutASystem(t *testing.T) {
	made := func() *sdf.World {
		return balls(4, inLockStep(plugin("Wind", element("velocity", "3 1 0")), element("update_rate", "0")), inLockStep(plugin("Odometer"), element("update_rate", "0")))
	}
	whole, _, err := run(t, made(), 30, nil)
	require.NoError(t, err)
	carried := func(secondaries int, with map[string]any) ([]string, server.Result, error) {
		odometer, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: "odometer"})
		require.NoError(t, err)
		var hashes []string
		names, parts := secondariesOf(t, secondaries)
		if with["iterations"], with["hashes"], with["remote"] = 30, true, []string{"wind", "odometer"}; names != nil {
			with["secondaries"] = names
		}
		r, err := runWith(t, made(), with, append(parts, dying(t, "wind", world.PreUpdate, 12), part{"odometer", odometer, Runtime}, listener(&hashes))...)
		return hashes, r, err
	}
	var alone []string
	for _, n := range []int{0, 2} {
		hashes, r, err := carried(n, map[string]any{"degrade": []string{"wind"}})
		require.NoError(t, err, "%d secondaries", n)
		require.Len(t, hashes, 30)
		assert.Equal(t, whole[:11], hashes[:11])
		assert.NotEqual(t, whole[11], hashes[11], "there was no wind any more")
		assert.Equal(t, []goneResult{{"wind", "PreUpdate", 12}}, degradedOf(t, r))
		assert.False(t, r.Deterministic)
		if alone == nil {
			alone = hashes
		}
		assert.Equal(t, alone, hashes, "%d secondaries", n)
	}
	_, _, err = carried(0, map[string]any{})
	require.ErrorContains(t, err, `client "wind" was lost`)
	_, _, err = carried(0, map[string]any{"degrade": []string{"wnid"}})
	require.ErrorContains(t, err, "degrade names wnid, which runs in no other client; name systems of remote")
}

// A reply that takes time comes when the world has gone on: that is said, and not taken for a loss.
func TestWhoMayBeGoneRepliesAtOnce(t *testing.T) {
	w := balls(2, inLockStep(plugin("Wind", element("velocity", "3 1 0")), element("update_rate", "0")))
	in, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: "wind"})
	require.NoError(t, err)
	_, err = carryOver(t, networkOf(t, "mem"), delayed("wind", 1), w, map[string]any{"iterations": 9, "remote": []string{"wind"}, "degrade": []string{"wind"}}, part{"wind", in, Runtime})
	require.ErrorContains(t, err, `client "wind" sent a reply on world/wind/reply, which travelled 10ms, and the world has not waited for it; let the link from it to the world take no time`)
}

// A world that is ahead of a system goes on without it, with the same states: the system only read.
func TestAWorldGoesOnWithoutACamera(t *testing.T) {
	whole, _, err := run(t, watched(0), 30, nil)
	require.NoError(t, err)
	dies := stands(t, func(ctx context.Context, c *client.Client, out *client.Publication) error {
		for range 3 {
			if _, err := c.Next(ctx, metasim.Forever); err != nil {
				return err
			}
		}
		return errors.New("out of film")
	})
	var hashes []string
	r, err := carryOver(t, networkOf(t, "mem"), delayed("sensors", 3), watched(3), map[string]any{"iterations": 30, "hashes": true, "remote": []string{"sensors"},
		"degrade": []string{"sensors"}}, dies, listener(&hashes))
	require.NoError(t, err)
	assert.Equal(t, whole, hashes)
	assert.Equal(t, []goneResult{{"sensors", "Configure", 0}}, degradedOf(t, r))
}
