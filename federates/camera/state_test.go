package camera

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
)

// A looker is a system that looks at the state.
type looker struct{ scene *Scene }

func (l *looker) Configure(_ world.Setup, v *ecm.View) error {
	l.scene = Of(v)
	return nil
}

// A picture of the state is that of the file which the state is made of, byte by byte.
func TestAStateLooksLikeItsFile(t *testing.T) {
	for _, file := range []string{"lock_step.sdf", "examples_worlds_levels.sdf"} {
		d, _, err := sdf.Load(filepath.Join("..", "sdf", "testdata", "worlds", file), nil, nil)
		require.NoError(t, err)
		w := d.Worlds[0]
		seen := &looker{}
		s, err := world.New(world.Config{World: w, Slots: []*world.Slot{{Name: "looker", System: seen}}})
		require.NoError(t, err)
		require.NoError(t, s.Configure())
		want, got := New(w), seen.scene
		if len(want.Views) == 0 { // one that looks at all of it
			at := want.Links[len(want.Links)/2].Pose
			at.Position.Z += 20
			for _, scene := range []*Scene{want, got} {
				scene.Links = append(scene.Links, Link{Pose: at})
				scene.Views = []View{{Link: len(scene.Links) - 1, Sensor: &sdf.Sensor{Camera: &sdf.Camera{HorizontalFOV: 2, Near: 0.1, Far: 1000}}}}
			}
		}
		require.Len(t, got.Views, len(want.Views))
		for i := range want.Views {
			for _, v := range []View{want.Views[i], got.Views[i]} {
				v.Sensor.Camera.Width, v.Sensor.Camera.Height = 160, 100
			}
			a, b := want.Render(want.Views[i], want.Placed(), 7), got.Render(got.Views[i], got.Placed(), 7)
			require.Equal(t, a.Pix, b.Pix, file)
			colors := map[uint8]bool{}
			for _, p := range a.Pix {
				colors[p] = true
			}
			require.Greater(t, len(colors), 5, "something is seen")
		}
	}
}

// A system may put something on the link of another: what is seen does not depend on the numbers of the two.
func TestWhatIsOnTheLinkOfAnotherSystemIsSeen(t *testing.T) {
	for _, writers := range [][2]uint32{{2, 3}, {3, 2}} {
		s := ecm.NewStore(world.Schema())
		merge := func(v *ecm.View, number uint32) {
			require.NoError(t, v.Err())
			_, err := s.Merge([]ecm.Writer{{Number: number, Written: ecm.Written{Changes: v.Changes()}}})
			require.NoError(t, err)
		}
		v := s.View(writers[0])
		set := func(e ecm.Entity, kind string) ecm.Entity {
			v.Set(e, world.Kind, []byte(kind), ecm.OneTime)
			v.Set(e, world.Pose, world.PoseBytes(spatial.Identity), ecm.OneTime)
			return e
		}
		link := set(v.Create(set(v.Create(0), "model")), "link")
		merge(v, writers[0])
		v = s.View(writers[1])
		visual := set(v.Create(link), "visual")
		v.Set(visual, world.Shape, world.Geometry{Kind: world.Sphere, Radius: 1}.Bytes(), ecm.OneTime)
		v.Set(visual, world.Material, world.Numbers(make([]float64, 18)...), ecm.OneTime)
		merge(v, writers[1])
		require.Len(t, Of(s.ReadOnly()).solids, 1, writers)
	}
}
