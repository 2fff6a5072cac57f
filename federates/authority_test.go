package federates

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/federates/authority"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
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

// What cannot be meant is refused before the run, with what to write.
func TestServersAreChecked(t *testing.T) {
	for want, c := range map[string]struct {
		model string
		with  map[string]any
	}{
		`rule is "maybe"`:                        {"homeserver", map[string]any{"rule": "maybe"}},
		"owner is missing, and there are":        {"homeserver", map[string]any{"entities": []any{"ball"}}},
		`answers is "maybe"`:                     {"simserver", map[string]any{"answers": "maybe"}},
		"take is written, and give too":          {"simserver", map[string]any{"home": "h", "give": "ball", "to": "b", "take": "cube"}},
		"to and give belong together":            {"simserver", map[string]any{"give": "ball"}},
		"take has nobody to ask; name the homes": {"simserver", map[string]any{"take": "ball"}},
	} {
		_, err := catalog.Make(c.model, c.with, catalog.Env{Name: "x"})
		require.ErrorContains(t, err, want)
	}
	_, err := catalog.Make("homeserver", map[string]any{"patience": "0s"}, catalog.Env{Name: "x"})
	require.Error(t, err)
}
