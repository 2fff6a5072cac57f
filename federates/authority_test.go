package federates

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/federates/authority"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

// Over links that lose three of ten messages and double others the entity moves all the same, and its homeserver knows the owner.
func TestEntitiesMoveOverBadLinks(t *testing.T) {
	bad := []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(5 * ms), Loss: delay.Bernoulli(0.3), Duplicate: 0.2}}}
	home := map[string]any{"neighbours": []any{"a", "b"}, "entities": []any{"ball", "cube"}, "owner": "a"}
	results, _ := testRun{rules: bad, parts: []part{
		{name: "home", model: "homeserver", with: home},
		{name: "a", model: "simserver", with: map[string]any{"home": "home", "neighbours": []any{"b"}, "entities": []any{"ball", "cube"}, "give": "cube", "to": "b", "retry": "50ms"}},
		{name: "b", model: "simserver", with: map[string]any{"home": "home", "neighbours": []any{"a"}, "take": "ball", "at": "3ms", "retry": "50ms"}},
	}}.mustRun(t)
	kept := resultOf[struct{ Entities map[string]transfer.Record }](t, results, "home")
	a, b := resultOf[authority.SimResult](t, results, "a"), resultOf[authority.SimResult](t, results, "b")
	for _, e := range []string{"ball", "cube"} {
		require.Equal(t, transfer.Record{Owner: "b", Rule: transfer.Allow, Epoch: 1}, kept.Entities[e])
		require.Contains(t, b.Entities, e)
		require.NotContains(t, a.Entities, e)
	}
}

// An unsteady connection now and then lets others go first.
type unsteady struct {
	wire.Conn
	reads, writes *rand.Rand // each used by one goroutine at a time
}

func yield(draw *rand.Rand) {
	for range draw.IntN(30) << (draw.IntN(5)) { // some wait long
		runtime.Gosched()
	}
}

func (u *unsteady) Read() ([]wire.Packet, error) {
	yield(u.reads)
	return u.Conn.Read()
}

func (u *unsteady) Write(p []wire.Packet) error {
	yield(u.writes)
	return u.Conn.Write(p)
}

func (u *unsteady) WriteFrames(b []byte) error {
	yield(u.writes)
	return u.Conn.WriteFrames(b)
}

// Two servers take an entity at the same instant: whoever is started first, and however the clients come to compute, the same one has it in the end, and all that was said is the same.
func TestTwoTakeAtOnceInAnySchedule(t *testing.T) {
	run := func(schedule uint64) metasim.Digest {
		draw := rand.New(rand.NewPCG(schedule, 1))
		home := map[string]any{"neighbours": []any{"a", "b", "c"}, "entities": []any{"ball"}, "owner": "c"}
		parts := []part{
			{name: "home", model: "homeserver", with: home},
			{name: "a", model: "simserver", with: map[string]any{"home": "home", "neighbours": []any{"b", "c"}, "take": "ball", "at": "10ms"}},
			{name: "b", model: "simserver", with: map[string]any{"home": "home", "neighbours": []any{"a", "c"}, "take": "ball", "at": "10ms"}},
			{name: "c", model: "simserver", with: map[string]any{"home": "home", "neighbours": []any{"a", "b"}, "entities": []any{"ball"}}},
		}
		draw.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		wrap := func(c wire.Conn) wire.Conn {
			return &unsteady{c, rand.New(rand.NewPCG(draw.Uint64(), 2)), rand.New(rand.NewPCG(draw.Uint64(), 3))}
		}
		result, _, err := testRun{rules: every(10 * ms), parts: parts, wrap: wrap}.run(t)
		require.NoError(t, err)
		results := map[string]server.ClientResult{}
		for _, c := range result.Clients {
			results[c.Name] = c
		}
		kept := resultOf[struct{ Entities map[string]transfer.Record }](t, results, "home")
		require.Equal(t, transfer.Record{Owner: "b", Rule: transfer.Allow, Epoch: 2}, kept.Entities["ball"], "schedule %d", schedule)
		b := resultOf[authority.SimResult](t, results, "b")
		require.Equal(t, []authority.Effective{{Entity: "ball", Epoch: 2, NS: 50 * ms}}, b.Effective, "schedule %d", schedule)
		return result.Digest
	}
	want := run(0)
	for schedule := range uint64(300) {
		require.Equal(t, want, run(schedule+1), "schedule %d", schedule+1)
	}
}

// A world of three servers over links that lose, double and reorder gives balls away, touches those that rest, and has each ball once, with the owner that its homeserver
// names. The same seed gives the same results.
func TestBallsMoveOverBadLinks(t *testing.T) {
	bad := []delay.Rule{{Spec: delay.Spec{Delay: delay.Uniform{Min: 2 * ms, Max: 30 * ms}, Loss: delay.Bernoulli(0.3), Duplicate: 0.2}}}
	world := func(seed uint64) (map[string]transfer.Record, map[string]authority.SimResult) {
		parts := []part{{name: "home", model: "homeserver", with: map[string]any{"neighbours": []any{"a", "b", "c"}, "of": []any{"a", "b", "c"}, "balls": 10}}}
		names := []any{"a", "b", "c"}
		for i, name := range names {
			others := slices.Delete(slices.Clone(names), i, i+1)
			parts = append(parts, part{name: name.(string), model: "simserver", with: map[string]any{
				"home": "home", "neighbours": others, "balls": 10, "resting": i * 4, "side": 20, "sees": 10, "balance": "500ms", "retry": "100ms", "window": 2000}})
		}
		results, _ := testRun{rules: bad, until: 3 * metasim.Second, seed: seed, parts: parts}.mustRun(t)
		kept := resultOf[struct{ Entities map[string]transfer.Record }](t, results, "home")
		all := map[string]authority.SimResult{}
		for _, name := range names {
			all[name.(string)] = resultOf[authority.SimResult](t, results, name.(string))
			require.Empty(t, all[name.(string)].Wrong)
		}
		return kept.Entities, all
	}
	kept, all := world(7)
	touched, moved, total := uint64(0), 0, 0
	for name, r := range all {
		touched, moved, total = touched+r.Counts.Won, moved+len(r.Effective), total+len(r.Entities)
		for e := range r.Entities {
			require.Equal(t, name, kept[e].Owner)
		}
	}
	require.Equal(t, 30, total)
	require.NotZero(t, touched)
	require.NotZero(t, moved)
	again, allAgain := world(7)
	require.Equal(t, kept, again)
	require.Equal(t, all, allAgain)
}

// What cannot be meant is refused before the run, with what to write.
func TestServersAreChecked(t *testing.T) {
	for want, c := range map[string]struct {
		model string
		with  map[string]any
	}{
		`rule is "maybe"`:                                  {"homeserver", map[string]any{"rule": "maybe"}},
		"owner is missing, and there are":                  {"homeserver", map[string]any{"entities": []any{"ball"}}},
		`answers is "maybe"`:                               {"simserver", map[string]any{"answers": "maybe"}},
		"take is written, and give too":                    {"simserver", map[string]any{"home": "h", "give": "ball", "to": "b", "take": "cube"}},
		"to and give belong together":                      {"simserver", map[string]any{"give": "ball"}},
		"tick is 3ms, and step 2ms":                        {"simserver", map[string]any{"balls": 1, "tick": "3ms", "step": "2ms"}},
		"balance is 1ms; write 0s, or at least four ticks": {"simserver", map[string]any{"balls": 1, "balance": "1ms"}},
		"window is 1199; write at least 1200":              {"simserver", map[string]any{"balls": 1, "window": 1199}},
		"resting is more than balls":                       {"simserver", map[string]any{"balls": 1, "resting": 2}},
		"neighbours has the server itself":                 {"simserver", map[string]any{"balls": 1, "neighbours": []any{"x"}}},
		"balls is missing, and of is written":              {"homeserver", map[string]any{"of": []any{"x"}}},
		"full is written, and balance is 0s":               {"simserver", map[string]any{"balls": 1, "full": 1}},
		"store is missing, and dies or back is written":    {"homeserver", map[string]any{"dies": "1s"}},
		"back is 1s, and it does not die before":           {"homeserver", map[string]any{"store": "s", "dies": "2s", "back": "1s"}},
		"take has nobody to ask; name the homes":           {"simserver", map[string]any{"take": "ball"}},
	} {
		_, err := catalog.Make(c.model, c.with, catalog.Env{Name: "x"})
		require.ErrorContains(t, err, want)
	}
	in, err := catalog.Make("simserver", map[string]any{"balls": 1, "neighbours": []any{"x-0", "x-1", "x-2"}}, catalog.Env{Name: "x-1", Count: 3})
	require.NoError(t, err)
	require.Equal(t, []string{"x-0/authority", "x-2/authority", "x-0/updates", "x-2/updates"}, in.Ports.Publications, "an entry with a count names all, and each leaves itself out")
	_, err = catalog.Make("homeserver", map[string]any{"patience": "0s"}, catalog.Env{Name: "x"})
	require.Error(t, err)
}
