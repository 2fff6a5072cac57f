package federates

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// With a meter servers compare what they take of the processor: who takes more than the others gives balls away, whatever they compute. Each ball is where it is without that.
func TestBalanceByProcessorTime(t *testing.T) {
	names := []any{"a", "b", "c"}
	spent := map[string]metasim.Time{}
	takes := map[string]metasim.Time{"a": 9 * ms, "b": 3 * ms, "c": 3 * ms} // from one measurement to the next
	busy := func(name string) metasim.Time {
		spent[name] += takes[name]
		return spent[name]
	}
	carry := func(balance map[string]any, more ...part) (map[string]transfer.State, map[string]authority.SimResult) {
		parts := more
		for i, name := range names {
			with := map[string]any{"neighbours": append(append([]any{}, names[:i]...), names[i+1:]...), "balls": 10, "reach": 0, "side": 40}
			for k, v := range balance {
				with[k] = v
			}
			parts = append(parts, part{name: name.(string), model: "simserver", with: with})
		}
		results, _ := testRun{rules: every(ms), until: 3500 * ms, seed: 3, parts: parts}.mustRun(t)
		states, all := map[string]transfer.State{}, map[string]authority.SimResult{}
		for _, name := range names {
			r := resultOf[authority.SimResult](t, results, name.(string))
			all[name.(string)] = r
			for e, st := range r.Entities {
				states[e] = st
			}
		}
		return states, all
	}
	alone, _ := carry(nil)
	meter := part{name: "meter", model: "world-meter", with: map[string]any{"world": "balls", "secondaries": names}, env: catalog.Env{Busy: busy}}
	states, results := carry(map[string]any{"balance": "1s", "meter": "balls"}, meter)
	require.Equal(t, alone, states)
	for name, r := range results {
		require.Empty(t, r.Wrong)
		for _, w := range r.Work[1:] {
			require.Equal(t, uint64(takes[name]), w.Cost, "%s in round %d", name, w.Round)
		}
		require.Equal(t, name == "a", len(r.Moves) > 0, name)
	}
	require.Len(t, results["a"].Moves, 4+2, "it takes 9 ms, and the mean is 5 ms: 4 of 10, then 2 of 6")

	meter.with = map[string]any{"world": "balls", "secondaries": []any{"a", "b"}}
	_, results = carry(map[string]any{"balance": "1s", "meter": "balls"}, meter)
	require.Equal(t, "meter says in 16 bytes what servers take, and there are 3; name as its secondaries a, b, c, in this order", results["b"].Wrong[0])
	_, err := catalog.Make("simserver", map[string]any{"balls": 1, "meter": "balls"}, catalog.Env{Name: "x"})
	require.ErrorContains(t, err, "meter is written, and balance is 0s")
}
