//go:build unix

package levels

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/metasim"
)

// A step of a thousand performers that wander through a thousand levels, with two secondaries in the same process, by processor time: what the primary takes of it, what the rest of the
// world does, as merging, and what each secondary takes.
func BenchmarkThousand(b *testing.B) {
	w := &sdf.World{Name: "many", Physics: sdf.Physics{Step: 10 * metasim.Millisecond}}
	plan, speeds, random := &Plan{}, throw{}, rand.New(rand.NewPCG(1, 1))
	size := spatial.Vector{X: 10, Y: 10, Z: 10}
	for i := range 1000 {
		centre := spatial.Vector{X: float64(i%32) * 10, Y: float64(i/32) * 10}
		tile, robot := fmt.Sprintf("tile%d", i), fmt.Sprintf("robot%d", i)
		w.Models = append(w.Models, model(tile, true, centre, sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 1, Y: 1, Z: 1}}),
			model(robot, false, centre.Add(spatial.Vector{X: 3, Y: 3}), sdf.Geometry{Shape: sdf.Sphere, Radius: 0.5}))
		level := Level{Name: tile, Inner: spatial.Around(centre, size), Refs: []string{tile}}
		level.Outer = level.Inner.Grown(1)
		plan.Levels = append(plan.Levels, level)
		plan.Performers = append(plan.Performers, Performer{Name: robot, Model: robot, Size: spatial.Vector{X: 2, Y: 2, Z: 2}})
		speeds[robot] = spatial.Vector{X: 4*random.Float64() - 2, Y: 4*random.Float64() - 2}
	}
	system := NewSystem(w, plan, Gazebo, "")
	c := &timedCarrier{inProcess: &inProcess{secondaries: []*Secondary{{}, {}}}}
	primary := &timedPrimary{Primary: NewPrimary(c.names(), c, system, 1, false), carrier: c}
	s, err := world.New(world.Config{World: w, Slots: []*world.Slot{{Name: "levels", System: system, Priority: Priority}, {Name: "physics", System: primary}, {Name: "throw", System: speeds}}})
	require.NoError(b, err)
	require.NoError(b, s.Configure())
	require.NoError(b, s.Step())                      // all that the secondaries have comes with the first orders
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as metasim world run has it
	primary.took, c.took = 0, 0
	before := processorTime()
	for b.Loop() {
		require.NoError(b, s.Step())
	}
	whole := processorTime() - before
	report := func(took int64, unit string) { b.ReportMetric(float64(took)/1e6/float64(b.N), unit) }
	report(primary.took, "primary-ms/op")
	report(whole-primary.took-c.took, "world-ms/op")
	report(c.took/2, "secondary-ms/op")
}

// processorTime is that of the process, in nanoseconds.
func processorTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// A timedPrimary measures what it takes, without its secondaries.
type timedPrimary struct {
	*Primary
	carrier *timedCarrier
	took    int64
}

func (p *timedPrimary) Update(i world.Info, v *ecm.View) error {
	before := processorTime() - p.carrier.took
	err := p.Primary.Update(i, v)
	p.took += processorTime() - p.carrier.took - before
	return err
}

// A timedCarrier carries orders without looking at them, and measures what secondaries take.
type timedCarrier struct {
	*inProcess
	took int64
}

func (c *timedCarrier) Begin(orders [][]byte) (err error) {
	before := processorTime()
	c.acks = make([][]byte, len(orders))
	c.orders++
	for k := range orders {
		if c.acks[k], _, err = c.secondaries[k].Do(c.orders, orders[k]); err != nil {
			return err
		}
	}
	c.took += processorTime() - before
	return nil
}
