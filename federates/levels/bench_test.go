package levels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/metasim"
)

// A step of a thousand performers that wander through a thousand levels, with two secondaries in the same process. What the primary takes of it says -cpuprofile.
func BenchmarkThousand(b *testing.B) {
	w := &sdf.World{Name: "many", Physics: sdf.Physics{Step: 10 * metasim.Millisecond}}
	plan, speeds, random := &Plan{}, throw{}, rand.New(rand.NewPCG(1, 1))
	size := spatial.Vector{X: 10, Y: 10, Z: 10}
	for i := range 1000 {
		centre := spatial.Vector{X: float64(i%32) * 10, Y: float64(i/32) * 10}
		tile, robot := fmt.Sprintf("tile%d", i), fmt.Sprintf("robot%d", i)
		w.Models = append(w.Models, model(tile, true, centre, sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 1, Y: 1, Z: 1}}),
			model(robot, false, centre.Add(spatial.Vector{X: 3, Y: 3}), sdf.Geometry{Shape: sdf.Sphere, Radius: 0.5}))
		level := Level{Name: tile, Inner: around(centre, size), Refs: []string{tile}}
		level.Outer = level.Inner.grown(1)
		plan.Levels = append(plan.Levels, level)
		plan.Performers = append(plan.Performers, Performer{Name: robot, Model: robot, Size: spatial.Vector{X: 2, Y: 2, Z: 2}})
		speeds[robot] = spatial.Vector{X: 4*random.Float64() - 2, Y: 4*random.Float64() - 2}
	}
	system := NewSystem(w, plan, Gazebo, "")
	c := &inProcess{secondaries: []*Secondary{{}, {}}}
	primary := NewPrimary(c.names(), unwatched{c}, system)
	s, err := world.New(world.Config{World: w, Slots: []*world.Slot{{Name: "levels", System: system, Priority: Priority}, {Name: "physics", System: primary}, {Name: "throw", System: speeds}}})
	require.NoError(b, err)
	require.NoError(b, s.Configure())
	for b.Loop() {
		require.NoError(b, s.Step())
	}
}

// unwatched carries orders without looking at them.
type unwatched struct{ *inProcess }

func (c unwatched) Begin(orders [][]byte) (err error) {
	c.acks = make([][]byte, len(orders))
	for k := range orders {
		if c.acks[k], _, err = c.secondaries[k].Do(orders[k]); err != nil {
			return err
		}
	}
	return nil
}
