package lockstep

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// meterOfCosts is the meter of a world, for which each secondary takes so much between two measurements.
func meterOfCosts(t *testing.T, secondaries []string, cost map[string]metasim.Time) part {
	t.Helper()
	spent := map[string]metasim.Time{}
	in, err := catalog.Make("world-meter", map[string]any{"secondaries": secondaries}, catalog.Env{Name: "meter", Busy: func(name string) metasim.Time {
		spent[name] += cost[name]
		return spent[name]
	}})
	require.NoError(t, err)
	return part{"meter", in, Meter}
}

// Whatever secondaries take, and whoever moves what because of it, the states are those of the world alone, also across a reset. Who takes most gives something away.
func TestMeasuredCostsChangeNoState(t *testing.T) {
	n := 260
	carried := func(more map[string]any, parts ...part) (hashes []string, r worldResult) {
		params := map[string]any{"iterations": n, "hashes": true, "policy": "gz", "resets": true}
		for k, v := range more {
			params[k] = v
		}
		result, err := carry(t, networkOf(t, "mem"), crowd(), params, append(parts, listener(&hashes), agent(20*5*metasim.Millisecond))...)
		require.NoError(t, err)
		readWorldResult(t, result, &r)
		return hashes, r
	}
	want, _ := carried(nil)
	require.Len(t, want, n)
	names, parts := secondariesOf(t, 3)
	cost := map[string]metasim.Time{names[0]: 5 * metasim.Millisecond, names[1]: metasim.Millisecond}
	got, r := carried(map[string]any{"secondaries": names, "meter": "meter"}, append(parts, meterOfCosts(t, names, cost))...)
	assert.Equal(t, want, got)
	require.NotNil(t, r.Balance)
	assert.Equal(t, []int64{int64(cost[names[0]]) / 80, int64(cost[names[1]]) / 80, 0}, []int64{r.Balance.BeforeNS[0], r.Balance.BeforeNS[1], r.Balance.BeforeNS[2]})
	require.NotEmpty(t, r.Balance.Moves)
	for _, m := range r.Balance.Moves {
		assert.Equal(t, names[0], m.From)
		assert.Equal(t, int64(m.Iteration)*int64(5*metasim.Millisecond), m.TimeNS)
	}

	_, parts = secondariesOf(t, 3)
	auto, r := carried(map[string]any{"secondaries": names, "auto": true}, parts...)
	assert.Equal(t, want, auto)
	assert.NotZero(t, r.Starts)
}

// What is wrong with a meter is said.
func TestMetersThatFail(t *testing.T) {
	_, err := runWith(t, balls(3), map[string]any{"iterations": 10, "meter": "meter"})
	assert.ErrorContains(t, err, "meter measures secondaries, and there are none")
	names, parts := secondariesOf(t, 1)
	params := func() map[string]any {
		return map[string]any{"iterations": 120, "secondaries": names, "meter": "meter"}
	}
	blind := meterOfCosts(t, names, nil)
	blind.in.Busy = nil
	_, err = runWith(t, balls(3), params(), append(parts, blind)...)
	assert.ErrorContains(t, err, "a world-meter runs in the process of the run alone")
	other := meterOfCosts(t, names, nil)
	other.run = func(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
		_, err := c.Next(ctx, metasim.Forever)
		if err == nil {
			err = out[0].Publish([]byte("much"))
		}
		return err
	}
	_, err = runWith(t, balls(3), params(), append(parts, other)...)
	assert.ErrorContains(t, err, `client "meter" says in 4 bytes what secondaries take; let only "meter" publish on world/meter/cost`)
}
