package world

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// plainReaches is what Reaches finds, from the whole state in each step.
func plainReaches(i Info, v *ecm.View, steps int) (moving, planes []ecm.Entity, meetings [][2]ecm.Entity) {
	dt, gravity := i.Step.Seconds(), gravityOf(v)
	flat, obstacles, shapes := collisions(v)
	type one struct {
		spatial.Box
		entity ecm.Entity
		moves  bool
	}
	var all []one
	for e, value := range v.With(Velocity) {
		moving = append(moving, e)
		b, ok := bodyOf(e, value, gravity, v)
		if b.shapes = shapes[e]; ok && len(b.shapes) > 0 {
			b.ahead = b.v.Add(b.a.Scale(dt))
			all = append(all, one{b.reachOf(float64(steps) * dt), e, true})
		}
	}
	for _, b := range obstacles {
		all = append(all, one{b.space(), b.entity, false})
	}
	for i := range flat {
		planes = append(planes, flat[i].entity)
	}
	for i := range all {
		for j := range i {
			if (all[i].moves || all[j].moves) && all[i].Meets(&all[j].Box) {
				meetings = append(meetings, [2]ecm.Entity{min(all[i].entity, all[j].entity), max(all[i].entity, all[j].entity)})
			}
		}
	}
	return slices.Sorted(slices.Values(moving)), slices.Compact(slices.Sorted(slices.Values(planes))), ordered(meetings)
}

func ordered(pairs [][2]ecm.Entity) [][2]ecm.Entity {
	slices.SortFunc(pairs, func(a, b [2]ecm.Entity) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return pairs
}

// A meddler changes anything of a world that reaches depend on, and makes and removes models.
type meddler struct {
	random *rand.Rand
	file   *sdf.World
}

func (m *meddler) PreUpdate(i Info, v *ecm.View) error {
	all := slices.Collect(v.All())
	pick := func(component string) (found []ecm.Entity) {
		for _, e := range all {
			if _, has := v.Get(e, component); has {
				found = append(found, e)
			}
		}
		if len(found) == 0 {
			return nil
		}
		return found[m.random.IntN(len(found)):][:1]
	}
	random := func(size float64) spatial.Vector {
		return spatial.Vector{X: size * (m.random.Float64() - 0.5), Y: size * (m.random.Float64() - 0.5), Z: size * (m.random.Float64() - 0.5)}
	}
	for range 3 {
		m.meddle(v, pick, random)
	}
	return v.Err()
}

func (m *meddler) meddle(v *ecm.View, pick func(string) []ecm.Entity, random func(float64) spatial.Vector) {
	set := func(has, name string, value []byte) {
		for _, e := range pick(has) {
			v.Set(e, name, value, ecm.OneTime)
		}
	}
	switch m.random.IntN(15) {
	case 0, 1:
		set(Velocity, Velocity, PairBytes(random(40), random(4)))
	case 2:
		set(Velocity, Force, PairBytes(random(900), random(1)))
	case 3: // of a model, a link or a shape
		set(Pose, Pose, PoseBytes(spatial.Pose{Position: random(6), Rotation: spatial.None}))
	case 4:
		set(Shape, Shape, Geometry{Kind: Sphere, Radius: 3 * m.random.Float64()}.Bytes())
	case 5:
		set(Shape, Shape, Geometry{Kind: float64(m.random.IntN(5) + 1), Size: spatial.Vector{X: 1, Y: 9 * m.random.Float64(), Z: 2}, Normal: spatial.Vector{Z: 1}}.Bytes())
	case 6:
		for _, e := range pick(Surface) {
			v.Unset(e, Surface)
		}
	case 7:
		set(Shape, Surface, Numbers(1, 0.5))
	case 8:
		set(Velocity, Static, nil)
	case 9:
		for _, e := range pick(Static) {
			v.Unset(e, Static)
		}
	case 10:
		if e := pick(Kind); e[0] != Root {
			v.Remove(e[0]) // with all below it
		}
	case 11, 12:
		if _, err := Add(v, m.file, m.file.Models[m.random.IntN(len(m.file.Models))].Name); err != nil {
			panic(err)
		}
	case 13: // a link moves as a model does: shapes are right below it
		for _, e := range pick(Shape) {
			v.Set(v.Parent(e), Velocity, PairBytes(random(9), random(1)), ecm.OneTime)
		}
	case 14:
		if m.random.IntN(4) == 0 {
			v.Set(Root, Gravity, Numbers(0, 0, 20*m.random.Float64()-10), ecm.OneTime)
		}
	}
}

// A watcher compares reaches that are kept with those of the whole state, where physics looks at it.
type watcher struct {
	t        *testing.T
	kept     *Reaches
	version  uint64
	begun    bool
	meetings int
}

func (w *watcher) Has() uint64 { return w.version }

func (w *watcher) Update(i Info, v *ecm.View) error {
	changed := v.Since(w.version, new(ecm.Memory))
	if !w.begun {
		changed = v.Copy(slices.Collect(v.All()))
	}
	w.begun, w.version = true, v.Version()
	w.kept.Update(i, v, &changed)
	moving, planes, meetings := plainReaches(i, v, 10)
	var got [][2]ecm.Entity
	w.kept.Meetings(func(a, b ecm.Entity) { got = append(got, [2]ecm.Entity{min(a, b), max(a, b)}) })
	require.Equal(w.t, moving, slices.Concat(w.kept.Moving()), "iteration %d", i.Iteration)
	require.Equal(w.t, planes, slices.Concat(w.kept.Planes()), "iteration %d", i.Iteration)
	require.Equal(w.t, meetings, ordered(got), "iteration %d", i.Iteration)
	w.meetings += len(meetings)
	return nil
}

// meddled is a world with a ground and so many models, of which a quarter is static.
func meddled(n int) *sdf.World {
	models := []*sdf.Model{ground(0, 1, 1)}
	for i := range n {
		form := sphere(0.4)
		if i%3 == 0 {
			form = sdf.Geometry{Shape: sdf.Box, Size: spatial.Vector{X: 1, Y: 0.5, Z: 2}}
		}
		m := thing(fmt.Sprintf("m%02d", i), form, spatial.Vector{X: float64(i%4) * 2, Y: float64(i/4) * 2, Z: 1}, 1, 1, 1)
		m.Static = i%4 == 1
		models = append(models, m)
	}
	return worldOf(10*ms, models...)
}

// Whatever changes in a world, the reaches that look at what has changed alone are those of a look at the whole.
func TestReachesAreThoseOfTheWholeState(t *testing.T) {
	for seed := range uint64(8) {
		file := meddled(12)
		w := &watcher{t: t, kept: NewReaches(10)}
		s, err := New(Config{World: file, Slots: []*Slot{{Name: "meddler", System: &meddler{rand.New(rand.NewPCG(seed, 3)), file}},
			{Name: "watcher", System: w, Priority: -1}, {Name: "physics", System: Physics{}}}})
		require.NoError(t, err)
		require.NoError(t, s.Configure())
		for range 150 {
			require.NoError(t, s.Step())
		}
		require.Positive(t, w.meetings)
	}
}
