package lockstep

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/catalog"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/metasim"
)

// A dice throws what a random world is made of.
type dice struct{ *rand.Rand }

func (d dice) in(from, to float64) float64 { return from + d.Float64()*(to-from) }

func (d dice) text(from, to float64) string { return fmt.Sprintf("%.3f", d.in(from, to)) }

func (d dice) texts(from, to float64) string {
	return d.text(from, to) + " " + d.text(from, to) + " " + d.text(from, to)
}

// world is one of any size, with any of the systems that come with metasim, in any order, and with any levels and performers.
func (d dice) world() *sdf.World {
	var plugins []*sdf.Plugin
	add := func(p *sdf.Plugin) {
		p.Priority = []int{0, 0, 0, -100, 5}[d.IntN(5)]
		if d.IntN(3) == 0 {
			p = inLockStep(p, element("update_rate", []string{"0", "30", "77"}[d.IntN(3)]))
		}
		plugins = append(plugins, p)
	}
	for range []int{0, 1, 1, 2}[d.IntN(4)] {
		add(plugin("Wind", element("velocity", d.texts(-12, 12)), element("drag", d.text(0, 4))))
	}
	for range d.IntN(2) {
		add(plugin("Odometer"))
	}
	for range d.IntN(3) {
		add(plugin("Spawner", element("position", d.texts(0, 4)), element("velocity", d.texts(-9, 9)), element("period", strconv.Itoa(3+d.IntN(40))), element("life", strconv.Itoa(1+d.IntN(80)))))
	}
	w := balls(1+d.IntN(20), plugins...)
	w.Gravity = []spatial.Vector{{Z: -9.8}, {}, {X: 3, Y: -1, Z: -9}}[d.IntN(3)]
	w.Physics.Step = []metasim.Time{1, 8, 16, 20}[d.IntN(4)] * metasim.Millisecond
	area := []float64{2, 4, 10}[d.IntN(3)]
	for _, m := range w.Models[1:] {
		m.Static = d.IntN(4) == 0
		m.Pose.Position = spatial.Vector{X: d.in(-area, area), Y: d.in(-area, area), Z: d.in(0.2, area)}
		link := m.Links[0]
		link.Inertial.Mass = d.in(0.05, 20)
		switch c := link.Collisions[0]; d.IntN(5) {
		case 0:
			link.Collisions = nil
		case 1, 2:
			c.Geometry = sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: d.in(0.1, 1), Y: d.in(0.1, 1), Z: d.in(0.1, 1)}}
		default:
			c.Geometry.Radius = d.in(0.1, 0.6)
		}
	}
	w.Plugins = append(w.Plugins, d.plan(w.Models[1:], area))
	return w
}

// plan has levels and performers of some models.
func (d dice) plan(models []*sdf.Model, area float64) *sdf.Plugin {
	plan := &sdf.Plugin{Name: "gz::sim"}
	model := func(i int) *sdf.Element { return element("ref", models[i].Name) }
	performers := d.IntN(len(models) + 1)
	for i := range performers {
		plan.Content = append(plan.Content, named("performer", fmt.Sprint("p", i), model(i), box(d.texts(0, 3))))
	}
	for k := range d.IntN(8) {
		level := named("level", fmt.Sprint("level", k), element("pose", d.text(-area, area)+" "+d.text(-area, area)+" 0 0 0 0"), box(d.texts(1, 2*area)), element("buffer", d.text(0, 2)))
		for i := performers; i < len(models); i++ {
			if d.IntN(3) == 0 {
				level.Children = append(level.Children, model(i))
			}
		}
		plan.Content = append(plan.Content, level)
	}
	return plan
}

// Whatever world it is, it has the same states alone and with any number of secondaries, of which all or those that are needed take part, that go ahead of it or not, beside systems in clients of their
// own. METASIM_LOCKSTEP_WORLDS asks for more worlds.
func TestAnyWorldHasTheSameStates(t *testing.T) {
	const n = 100
	worlds := 12
	if text := os.Getenv("METASIM_LOCKSTEP_WORLDS"); text != "" {
		var err error
		worlds, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	var handovers, merges uint64
	ahead := 0.0
	for seed := range uint64(worlds) {
		d := dice{rand.New(rand.NewPCG(seed, 9))}
		w, policy := d.world(), []string{"gz", "document", "none"}[d.IntN(3)]
		with := func(secondaries int) (hashes []string, r worldResult) {
			names, parts := secondariesOf(t, secondaries)
			params := map[string]any{"iterations": n, "hashes": true, "policy": policy}
			if names != nil {
				params["secondaries"], params["auto"], params["run_ahead"] = names, d.IntN(3) == 0, []string{"0s", "100ms"}[d.IntN(2)]
				var remote []string
				for _, p := range w.Plugins {
					if p.Name == "metasim::systems::Odometer" && d.IntN(2) == 0 {
						remote = []string{"odometer"}
						in, err := catalog.Make("lockstep-runtime", nil, catalog.Env{Name: "odometer"})
						require.NoError(t, err)
						parts = append(parts, part{"odometer", in, Runtime})
					}
				}
				params["remote"] = remote
			}
			result, err := carry(t, networkOf(t, "mem"), w, params, append(parts, listener(&hashes))...)
			require.NoError(t, err)
			readWorldResult(t, result, &r)
			return hashes, r
		}
		want, _ := with(0)
		require.Len(t, want, n)
		for _, k := range []int{1, 2, 3 + d.IntN(5)} {
			got, r := with(k)
			require.Equal(t, want, got, "world %d with %d secondaries", seed, k)
			handovers, merges, ahead = handovers+r.Handovers, merges+r.Merges, ahead+r.RunAheadS
		}
	}
	t.Logf("%d worlds: %d hand-overs, %d merges, %.3g s ahead", worlds, handovers, merges, ahead)
	assert.NotZero(t, handovers)
	assert.NotZero(t, merges)
	assert.NotZero(t, ahead)
}
