package levels

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/levels/worldmap"
	"metasim/federates/world"
	"metasim/metasim"
)

// mapArena steps the arena with a Mapper for each 50 ms beside it, and calls see for each frame. It returns the last state.
func mapArena(t *testing.T, n, steps int, see func(f *worldmap.Frame, p *Primary, c *inProcess, system *System)) [32]byte {
	t.Helper()
	w, plan, speeds := arena(18)
	system := NewSystem(w, plan, Gazebo, "")
	physics := &world.Slot{Name: "physics", System: world.Physics{}, Priority: -64}
	var primary *Primary
	c := newInProcess(t, n)
	if n > 0 {
		primary = NewPrimary(c.names(), c, system, 1, false)
		physics.System = primary
	}
	slots := []*world.Slot{{Name: "throw", System: speeds}, physics, {Name: "levels", System: system, Priority: Priority}, {Name: "count", System: counter{c}, Priority: -70}}
	if see != nil {
		slots = append(slots, &world.Slot{Name: "map", System: NewMapper("world", "map", 50*metasim.Millisecond, system, primary), Priority: Last})
	}
	s, err := world.New(world.Config{World: w, Slots: slots})
	require.NoError(t, err)
	require.NoError(t, s.Configure())
	var layout *worldmap.Layout
	for range steps {
		require.NoError(t, s.Step())
		for _, told := range s.Told() {
			require.Equal(t, "map", told.Topic)
			f, err := worldmap.Decode(told.Payload, layout)
			require.NoError(t, err)
			require.Equal(t, s.Info().Iteration, f.Iteration)
			layout = f.Layout
			see(f, primary, c, system)
		}
	}
	return s.Hash()
}

// A map says who was ordered to move what in that step, which levels are loaded, and which models moved together because of another level; and nothing of the world changes by it.
func TestMapsSayWhoMovesWhat(t *testing.T) {
	frames, merged := []uint64{}, 0
	hash := mapArena(t, 3, 200, func(f *worldmap.Frame, p *Primary, c *inProcess, system *System) {
		frames = append(frames, f.Iteration)
		ordered := map[ecm.Entity]int{}
		for k, b := range c.last {
			o, err := decodeOrder(b)
			require.NoError(t, err)
			for _, e := range o.move {
				ordered[e] = k
			}
		}
		require.Equal(t, len(ordered), len(f.Layout.Bodies))
		for i := range system.performers {
			require.Equal(t, system.performers[i].Name, f.Layout.Bodies[i].Name)
			require.Equal(t, ordered[system.performers[i].entity], f.Owner[i], "%s in iteration %d", f.Layout.Bodies[i].Name, f.Iteration)
		}
		members := make([]int, len(f.Group)+1)
		for i, g := range f.Group {
			members[g]++
			for k, other := range f.Group {
				if g > 0 && g == other {
					require.Equal(t, f.Owner[i], f.Owner[k], "merged models have one owner")
				}
			}
			merged = max(merged, g)
		}
		for _, n := range members[1:] {
			require.NotEqual(t, 1, n, "a model is merged with another one")
		}
		for i := range system.performers {
			if p.owners.units[system.performers[i].entity].guest {
				require.Positive(t, f.Group[i], "what is not at home was merged")
			}
		}
		for level := range system.plan.Levels {
			is := slices.ContainsFunc(f.Loaded, func(l worldmap.Loaded) bool { return l.Level == level && l.Owner == level%3 })
			require.Equal(t, system.rule.Is(level), is)
		}
		for _, copied := range f.Copies {
			require.NotEqual(t, f.Owner[copied.Body], copied.Owner)
		}
	})
	require.Positive(t, merged, "nothing was merged")
	assert.Equal(t, []uint64{1, 5, 10, 15}, frames[:4])
	assert.Len(t, frames, 41)
	assert.Equal(t, mapArena(t, 3, 200, nil), hash)
}

// A world that moves its models itself is one owner.
func TestMapsOfAWorldAlone(t *testing.T) {
	mapArena(t, 0, 5, func(f *worldmap.Frame, _ *Primary, _ *inProcess, _ *System) {
		assert.Equal(t, []string{"world"}, f.Layout.Owners)
		assert.Len(t, f.Layout.Bodies, 22)
		assert.NotContains(t, f.Owner, -1)
		assert.Empty(t, f.Copies)
	})
}
