package levels

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/metasim"
)

// A wander gives performers a new direction now and then, each by draws of its own seed: one of them in each step, on average.
type wander struct{ performers int }

func (s wander) turn(v *ecm.View, i uint64) {
	random := rand.New(rand.NewPCG(16, i))
	all := topLevel(v)
	for k := range s.performers {
		if i > 0 && random.IntN(s.performers) > 0 {
			continue
		}
		speed := spatial.Vector{X: 24*random.Float64() - 12, Y: 24*random.Float64() - 12}
		v.Set(all[fmt.Sprintf("r%d", k)], world.Velocity, world.PairBytes(speed, spatial.Vector{Z: random.Float64()}), ecm.OneTime)
	}
}

func (s wander) Configure(_ world.Setup, v *ecm.View) error { s.turn(v, 0); return nil }

func (s wander) PreUpdate(i world.Info, v *ecm.View) error { s.turn(v, i.Iteration); return nil }

// A fair is a square of a hundred levels, each with a stall, between walls, and a hundred performers who wander through it.
func fair(t *testing.T, secondaries, steps int) (*world.Server, *Primary) {
	t.Helper()
	const side, wide = 10, 10.0
	w, plan, random := &sdf.World{Name: "fair", Physics: sdf.Physics{Step: 10 * metasim.Millisecond}}, &Plan{}, rand.New(rand.NewPCG(16, 16))
	for i, n := range []spatial.Vector{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}} {
		w.Models = append(w.Models, model(fmt.Sprintf("wall%d", i), true, n.Scale(-side*wide/2), sdf.Geometry{Shape: sdf.Plane, Normal: n}))
	}
	for i := range side * side {
		centre := spatial.Vector{X: wide * (float64(i%side) - side/2 + 0.5), Y: wide * (float64(i/side) - side/2 + 0.5)}
		stall, robot := fmt.Sprintf("stall%d", i), fmt.Sprintf("r%d", i)
		at := centre.Add(spatial.Vector{X: 2.5 + 1.5*random.Float64(), Y: 2.5 + 1.5*random.Float64()})
		w.Models = append(w.Models, model(stall, true, centre, sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 2, Y: 2, Z: 2}}),
			model(robot, false, at, sdf.Geometry{Shape: sdf.Sphere, Radius: 1.5}))
		l := Level{Name: fmt.Sprintf("L%d", i), Inner: spatial.Around(centre, spatial.Vector{X: wide, Y: wide, Z: wide}), Refs: []string{stall}}
		l.Outer = l.Inner.Grown(2)
		plan.Levels = append(plan.Levels, l)
		plan.Performers = append(plan.Performers, Performer{Name: robot, Model: robot, Size: spatial.Vector{X: 2, Y: 2, Z: 2}})
	}
	system, c := NewSystem(w, plan, Gazebo, ""), newInProcess(t, secondaries)
	physics := &world.Slot{Name: "physics", System: world.Physics{}, Priority: -64}
	var primary *Primary
	if secondaries > 0 {
		primary = NewPrimary(c.names(), c, system, steps, false)
		physics.System = primary
	}
	s, err := world.New(world.Config{World: w, Slots: []*world.Slot{{Name: "wander", System: wander{side * side}}, physics, {Name: "levels", System: system, Priority: Priority},
		{Name: "count", System: counter{c}, Priority: -70}}})
	require.NoError(t, err)
	require.NoError(t, s.Configure())
	return s, primary
}

// A hundred performers in a hundred levels wander at random: the states are those of physics alone, whoever moves what, and each level has its secondary.
func TestAHundredWander(t *testing.T) {
	const steps = 120
	s, _ := fair(t, 0, 1)
	want := hashes(t, s, steps)
	for _, c := range []struct{ secondaries, ahead int }{{2, 1}, {7, 20}} {
		s, p := fair(t, c.secondaries, c.ahead)
		for i := range want {
			require.NoError(t, s.Step())
			hash := s.Hash()
			require.Equal(t, want[i], fmt.Sprintf("%x", hash), "iteration %d with %d secondaries", i+1, c.secondaries)
		}
		handovers, merges, splits := p.Counts()
		t.Logf("%d secondaries, %d steps at once: %d hand-overs, %d merges, %d splits", c.secondaries, c.ahead, handovers, merges, splits)
		assert.GreaterOrEqual(t, handovers, uint64(30))
		assert.NotZero(t, merges)
		assert.NotZero(t, splits)
	}
}

// regions counts what a channel for each level would carry in a step, in the place of one for each secondary: each secondary would publish in the levels that its performers are near, and
// subscribe to those and its own.
type regions struct {
	subscribed                     []uint64 // by level: a bit for each secondary
	publications, copies, changes  int
	steps, quiet, ordered, handled int
}

func (r *regions) see(p *Primary) {
	changes := 0
	for level, by := range p.levels {
		now := by | 1<<p.owners.of[level]
		r.publications += bits.OnesCount64(by)
		if r.subscribed[level] != 0 {
			changes += bits.OnesCount64(now ^ r.subscribed[level])
		}
		r.subscribed[level] = now
	}
	for i := range p.system.performers {
		for _, level := range p.system.performers[i].in {
			r.copies += bits.OnesCount64(r.subscribed[level]) - 1
		}
		r.handled += bits.OnesCount64(p.owners.performing[i].has) - 1
	}
	r.changes += changes
	if r.steps++; changes == 0 {
		r.quiet++
	}
	r.ordered += p.owners.active
}

// What adr 34 decides by: with -v, how many messages, copies of performers and subscriptions a step has, with a channel for each secondary, and with one for each level. No secondary is sent
// more copies by its own channel than it would hear in those of levels.
func TestChannelsOfSecondariesAndOfLevels(t *testing.T) {
	const steps = 300
	for _, n := range []int{2, 8} {
		s, p := fair(t, n, 1)
		r := regions{subscribed: make([]uint64, len(p.levels))}
		for range steps {
			require.NoError(t, s.Step())
			r.see(p)
		}
		of := func(n int) float64 { return float64(n) / steps }
		t.Logf("%d secondaries, by step: %.1f orders with %.1f copies of performers; with channels of levels %.1f publications with %.1f copies, and %.2f subscriptions that begin or end, in %.0f %% of the steps",
			n, of(r.ordered), of(r.handled), of(r.publications), of(r.copies), of(r.changes), 100*(1-of(r.quiet)))
		assert.Equal(t, steps*n, r.ordered)
		assert.Less(t, r.handled, r.copies)
		assert.NotZero(t, r.changes)
	}
}
