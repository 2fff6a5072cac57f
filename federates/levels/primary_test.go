package levels

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/metasim"
)

// inProcess carries orders to secondaries in the same process, in a random order, and looks at who moves what.
type inProcess struct {
	t           *testing.T
	secondaries []*Secondary
	random      *rand.Rand
	acks        [][]byte
	last        [][]byte
	orders      uint64
	present     []int // how many secondaries had orders, by step
	movers      int   // how many models physics moves: each by one secondary
	dies        int   // in one of so many steps each secondary is another one, which begins at the checkpoint of the one before; 0: none is
}

func newInProcess(t *testing.T, n int) *inProcess {
	c := &inProcess{t: t, random: rand.New(rand.NewPCG(1, uint64(n)))}
	for range n {
		c.secondaries = append(c.secondaries, &Secondary{})
	}
	return c
}

func (c *inProcess) Begin(orders [][]byte) error {
	c.last, c.acks = orders, make([][]byte, len(orders))
	seen, present := map[ecm.Entity]int{}, 0
	c.orders++
	for _, k := range c.random.Perm(len(orders)) {
		if orders[k] == nil {
			continue
		}
		present++
		o, err := decodeOrder(orders[k])
		require.NoError(c.t, err)
		for _, e := range o.move {
			seen[e]++
			require.Equal(c.t, 1, seen[e], "entity %v is moved twice in iteration %d", e, o.info.Iteration)
		}
		if c.dies > 0 && c.random.IntN(c.dies) == 0 {
			saved, err := c.secondaries[k].Save()
			require.NoError(c.t, err)
			c.secondaries[k] = &Secondary{iteration: 1 << 40}
			require.NoError(c.t, c.secondaries[k].Restore(saved))
			clear(saved)
		}
		c.acks[k], _, err = c.secondaries[k].Do(c.orders, orders[k])
		require.NoError(c.t, err)
		again, _, err := c.secondaries[k].Do(c.orders, orders[k])
		require.NoError(c.t, err)
		require.Nil(c.t, again, "an order that comes twice")
	}
	c.present = append(c.present, present)
	require.Len(c.t, seen, c.movers, "somebody is not moved")
	return nil
}

func (c *inProcess) Acknowledgements() ([][]byte, error)  { return c.acks, nil }
func (c *inProcess) After(step metasim.Time) metasim.Time { return step }
func (c *inProcess) names() (names []string) {
	for k := range c.secondaries {
		names = append(names, fmt.Sprintf("secondary-%d", k+1))
	}
	return names
}

// A throw gives models their speeds at the start.
type throw map[string]spatial.Vector

func (s throw) Configure(_ world.Setup, v *ecm.View) error {
	for name, e := range topLevel(v) {
		if speed, moves := s[name]; moves {
			v.Set(e, world.Velocity, world.PairBytes(speed, spatial.Vector{Z: speed.X / 3}), ecm.OneTime)
		}
	}
	return nil
}

// A start throws models at the start alone.
type start struct{ speeds throw }

func (s start) Configure(setup world.Setup, v *ecm.View) error { return s.speeds.Configure(setup, v) }

// PreUpdate throws one of them anew now and then, or they would come to rest.
func (s throw) PreUpdate(i world.Info, v *ecm.View) error {
	if i.Iteration%20 != 0 {
		return nil
	}
	name := fmt.Sprintf("r%d", i.Iteration/20%16+2)
	random := rand.New(rand.NewPCG(i.Iteration, 7))
	e := topLevel(v)[name]
	if !v.Exists(e) {
		return nil
	}
	v.Set(e, world.Velocity, world.PairBytes(spatial.Vector{X: 30*random.Float64() - 15, Y: 30*random.Float64() - 15}, spatial.Vector{Z: 1}), ecm.OneTime)
	return nil
}

func model(name string, static bool, at spatial.Vector, form sdf.Geometry) *sdf.Model {
	return &sdf.Model{Name: name, Static: static, Pose: spatial.Pose{Position: at, Rotation: spatial.None}, Links: []*sdf.Link{{Name: "link", Pose: spatial.Identity,
		Inertial:   sdf.Inertial{Mass: 1, Pose: spatial.Identity, IXX: 0.2, IYY: 0.3, IZZ: 0.4},
		Collisions: []*sdf.Collision{{Name: "c", Pose: spatial.Identity, Geometry: form, Surface: sdf.Surface{Restitution: 1, Friction: 0.1}}}}}}
}

// arena is a square of 40 m with walls and 16 levels, each with a pillar, in which so many performers fly about: spheres, and boxes that turn.
func arena(performers int) (*sdf.World, *Plan, throw) {
	w := &sdf.World{Name: "arena", Physics: sdf.Physics{Step: 10 * metasim.Millisecond}}
	for i, n := range []spatial.Vector{{X: 1}, {X: -1}, {Y: 1}, {Y: -1}} {
		w.Models = append(w.Models, model(fmt.Sprintf("wall%d", i), true, n.Scale(-20), sdf.Geometry{Shape: sdf.Plane, Normal: n}))
	}
	plan := &Plan{}
	for i := range 16 {
		centre := spatial.Vector{X: float64(i%4)*10 - 15, Y: float64(i/4)*10 - 15}
		name := fmt.Sprintf("pillar%d", i)
		w.Models = append(w.Models, model(name, true, centre, sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 2, Y: 2, Z: 2}}))
		l := Level{Name: fmt.Sprintf("L%d", i), Inner: spatial.Around(centre, spatial.Vector{X: 10, Y: 10, Z: 10}), Refs: []string{name, "crate" + strconv.Itoa(i%3)}}
		l.Outer = l.Inner.Grown(2)
		plan.Levels = append(plan.Levels, l)
	}
	random := rand.New(rand.NewPCG(7, 7))
	speeds := throw{}
	put := func(name string, i int, form sdf.Geometry) {
		at := spatial.Vector{X: float64(i%6)*6 - 14 + random.Float64(), Y: float64(i/6)*6 - 12 + random.Float64()}
		w.Models = append(w.Models, model(name, false, at, form))
		speeds[name] = spatial.Vector{X: 24*random.Float64() - 12, Y: 24*random.Float64() - 12}
	}
	for i := range performers {
		form := sdf.Geometry{Shape: sdf.Sphere, Radius: 0.7}
		if i%3 == 2 {
			form = sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 1, Y: 1.2, Z: 1}}
		}
		name := fmt.Sprintf("r%d", i)
		put(name, i, form)
		plan.Performers = append(plan.Performers, Performer{Name: name, Model: name, Size: spatial.Vector{X: 2, Y: 2, Z: 2}})
	}
	for i := range 4 { // three belong to levels, and one to none
		put("crate"+strconv.Itoa(i), performers+i, sdf.Geometry{Shape: sdf.Sphere, Radius: 0.4})
	}
	return w, plan, speeds
}

// serve makes the arena with this many secondaries; 0: physics moves everything itself.
func serve(t *testing.T, performers, n int) (*world.Server, *Primary, *inProcess) {
	t.Helper()
	return serveWith(t, performers, n, 1, false, false)
}

// serveWith is serve with secondaries that may do so many steps at once. Where it is calm, models are thrown at the start alone. With auto secondaries take part as they are needed.
func serveWith(t *testing.T, performers, n, steps int, calm, auto bool) (*world.Server, *Primary, *inProcess) {
	t.Helper()
	w, plan, speeds := arena(performers)
	system := NewSystem(w, plan, Gazebo, "")
	var thrower any = speeds
	if calm {
		thrower = start{speeds}
	}
	physics := &world.Slot{Name: "physics", System: world.Physics{}, Priority: -64}
	var primary *Primary
	c := newInProcess(t, n)
	if n > 0 {
		primary = NewPrimary(c.names(), c, system, steps, auto)
		physics.System = primary
	}
	s, err := world.New(world.Config{World: w, Slots: []*world.Slot{{Name: "throw", System: thrower}, physics, {Name: "levels", System: system, Priority: Priority},
		{Name: "strip", System: strip{w}}, {Name: "count", System: counter{c}, Priority: -70}}})
	require.NoError(t, err)
	require.NoError(t, s.Configure())
	return s, primary, c
}

// A counter counts what physics is about to move.
type counter struct{ into *inProcess }

func (c counter) Update(_ world.Info, v *ecm.View) error {
	c.into.movers = 0
	for range v.With(world.Velocity) {
		c.into.movers++
	}
	return nil
}

// A strip takes the shapes of some models away, after physics: what is below a model changes too, and when secondaries have had their orders. In between it makes another model.
type strip struct{ file *sdf.World }

func (s strip) Update(i world.Info, v *ecm.View) error {
	if i.Iteration == 80 {
		e, err := world.Add(v, s.file, "crate3")
		v.Set(e, world.Velocity, world.PairBytes(spatial.Vector{X: 3}, spatial.Vector{}), ecm.OneTime)
		return err
	}
	if i.Iteration != 150 && i.Iteration != 300 {
		return nil
	}
	for e := range v.With(world.Surface) {
		model, _ := v.Get(unitOf(v, e), world.Name)
		if string(model) == fmt.Sprintf("r%d", i.Iteration/150) {
			v.Remove(e)
		}
	}
	return nil
}

func hashes(t *testing.T, s *world.Server, steps int) (all []string) {
	for range steps {
		require.NoError(t, s.Step())
		hash := s.Hash()
		all = append(all, hex.EncodeToString(hash[:]))
	}
	return all
}

// The heart: however many secondaries move the models of a world, each state is the one that physics alone makes, while models cross borders, meet those of other secondaries, and part
// from them; and each model is moved by one secondary in each step.
func TestAnyNumberOfSecondariesHasTheSameStates(t *testing.T) {
	steps := 400
	if text := os.Getenv("METASIM_LEVELS_STEPS"); text != "" {
		var err error
		steps, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	s, _, _ := serve(t, 18, 0)
	want := hashes(t, s, steps)
	for _, n := range []int{1, 2, 3, 8} {
		s, p, _ := serve(t, 18, n)
		got := hashes(t, s, steps)
		for i := range want {
			require.Equal(t, want[i], got[i], "iteration %d with %d secondaries", i+1, n)
		}
		handovers, merges, splits := p.Counts()
		t.Logf("%d secondaries, %d steps: %d hand-overs, %d merges, %d splits", n, steps, handovers, merges, splits)
		if n > 1 {
			assert.GreaterOrEqual(t, handovers, uint64(20))
			assert.GreaterOrEqual(t, merges, uint64(20))
			assert.GreaterOrEqual(t, splits, uint64(20))
		} else {
			assert.Zero(t, handovers+merges+splits)
		}
	}
}

// A secondary that begins at a checkpoint of another one goes on as that would have.
func TestSecondariesBeginAtCheckpoints(t *testing.T) {
	s, _, _ := serve(t, 18, 0)
	want := hashes(t, s, 200)
	s, _, c := serve(t, 18, 3)
	c.dies = 4
	require.Equal(t, want, hashes(t, s, 200))

	saved, err := c.secondaries[0].Save()
	require.NoError(t, err)
	assert.ErrorContains(t, (&Secondary{}).Restore(saved[:7]), "a checkpoint of 7 bytes is none of a secondary")
	assert.ErrorContains(t, (&Secondary{}).Restore(saved[:len(saved)-1]), "byte ")
	saved[0] = 200
	assert.ErrorContains(t, (&Secondary{}).Restore(saved), "the other side speaks version 200 of distributed worlds")
}

// A secondary takes each order once and in turn, and a primary takes no acknowledgement of another step, nor of what it did not ask for.
func TestOrdersAndAcknowledgementsHaveNumbers(t *testing.T) {
	s, p, c := serve(t, 3, 2)
	require.NoError(t, s.Step())
	first := c.last[0]
	require.NoError(t, s.Step())
	for _, again := range [][]byte{c.last[0], first} {
		o, err := decodeOrder(again)
		require.NoError(t, err)
		err = (&Secondary{store: c.secondaries[0].store, iteration: 2}).begin(&order{info: o.info})
		assert.EqualError(t, err, fmt.Sprintf("it was asked for iteration %d after iteration 2", o.info.Iteration))
	}
	err := (&Secondary{}).begin(&order{info: world.Info{Iteration: 4}})
	assert.EqualError(t, err, "it was asked for iteration 4 without the state that was before")
	_, _, err = (&Secondary{}).Do(0, first[:20])
	assert.ErrorContains(t, err, "an order of 20 bytes is too short")
	moved, none := uint64(len(p.move[0])), []ecm.Changes{{}}
	for _, bad := range []struct {
		ack  acknowledgement
		want string
	}{
		{acknowledgement{iteration: 1, moved: moved, changes: none}, "it acknowledged 1 steps from iteration 1 on, and was asked for 1 from iteration 2 on"},
		{acknowledgement{iteration: 3, moved: moved, changes: none}, "it acknowledged 1 steps from iteration 3 on, and was asked for 1 from iteration 2 on"},
		{acknowledgement{iteration: 2, moved: moved, changes: slices.Concat(none, none)}, "it acknowledged 2 steps from iteration 2 on, and was asked for 1 from iteration 2 on"},
		{acknowledgement{iteration: 2, changes: none}, fmt.Sprintf("it moved 0 models of %d", moved)},
		{acknowledgement{iteration: 2, moved: moved, changes: []ecm.Changes{{Edits: []ecm.Edit{{Entity: world.Root, Removed: []string{world.Gravity}}}}}}, "it changed entity 1, which it was not to move"},
		{acknowledgement{iteration: 2, failed: "no more"}, "no more"},
	} {
		b, err := bad.ack.append(nil)
		require.NoError(t, err)
		_, err = p.take(world.Info{Iteration: 2}, 0, 1, b)
		assert.ErrorContains(t, err, bad.want)
	}
	b, err := (&acknowledgement{changes: slices.Concat(none, none)}).append(nil)
	require.NoError(t, err)
	_, err = decodeAcknowledgement(b[:len(b)-1], new(ecm.Memory))
	assert.ErrorContains(t, err, "an acknowledgement of several steps that ends within one")
	for _, steps := range []int{0, 1, mostAhead + 1} { // several are two at least
		o := order{steps: 2, info: world.Info{Iteration: 1, Step: 1}}
		b, err := o.append(nil)
		require.NoError(t, err)
		_, err = decodeOrder(append(binary.AppendUvarint(b[:binary.Size(orderHeader{})], uint64(steps)), b[binary.Size(orderHeader{})+1:]...))
		assert.ErrorIs(t, err, errOrder, "%d steps", steps)
	}
}

// Secondaries that go ahead of the world have the same states, where nobody touches what they have, and where models are thrown, shapes are taken away, levels come and go, and
// models of several secondaries meet; also those that begin at checkpoints.
func TestSecondariesThatGoAheadHaveTheSameStates(t *testing.T) {
	const steps = 200
	for _, calm := range []bool{false, true} {
		s, _, _ := serveWith(t, 18, 0, 1, calm, false)
		want := hashes(t, s, steps)
		for _, c := range []struct{ secondaries, ahead, dies int }{{1, 100, 0}, {2, 2, 0}, {3, 100, 9}, {8, 7, 0}} {
			s, p, carrier := serveWith(t, 18, c.secondaries, c.ahead, calm, false)
			carrier.dies = c.dies
			got := hashes(t, s, steps)
			for i := range want {
				require.Equal(t, want[i], got[i], "iteration %d, %+v, calm: %v", i+1, c, calm)
			}
			handovers, merges, splits := p.Counts()
			t.Logf("%+v, calm: %v: %d of %d steps were done ahead; %d hand-overs, %d merges, %d splits", c, calm, p.Ahead(), steps, handovers, merges, splits)
			assert.Greater(t, p.Ahead(), uint64(steps/5))
		}
	}
}
