package camera

import (
	"crypto/sha256"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// sceneOf returns the scene of a world whose content is given.
func sceneOf(t *testing.T, content string) *Scene {
	t.Helper()
	file := filepath.Join(t.TempDir(), "w.sdf")
	require.NoError(t, os.WriteFile(file, []byte(`<sdf version="1.9"><world name="w">`+content+`</world></sdf>`), 0o600))
	d, warnings, err := sdf.Load(file, nil, nil)
	require.NoError(t, err)
	require.Empty(t, warnings)
	return New(d.Worlds[0])
}

// above is a camera at (0, 0, 10) that looks down, with north to the left: X is up in the picture, Y is left. A metre at height 0 is 10 pixels.
const above = `<model name="eye"><static>true</static><pose>0 0 10 0 1.5707963267948966 0</pose><link name="l"><sensor name="s" type="camera"><camera>
	<horizontal_fov>1.5707963267948966</horizontal_fov><image><width>200</width><height>100</height></image><clip><near>0.1</near><far>100</far></clip></camera></sensor></link></model>`

const lamplight = `<scene><ambient>0.2 0.2 0.2 1</ambient><background>0 0 1 1</background></scene>
	<light name="sun" type="directional"><cast_shadows>true</cast_shadows><diffuse>1 1 1 1</diffuse><specular>0 0 0 1</specular><direction>0.6 0 -0.8</direction></light>`

const ground = `<model name="ground"><static>true</static><link name="l"><visual name="v"><geometry><plane><normal>0 0 1</normal><size>8 8</size></plane></geometry>
	<material><ambient>0.5 0.5 0.5 1</ambient><diffuse>0.5 0.5 0.5 1</diffuse></material></visual></link></model>`

func shape(name, pose, geometry string) string {
	return fmt.Sprintf(`<model name=%q><pose>%s</pose><link name="l"><visual name="v"><geometry>%s</geometry>
		<material><ambient>1 0 0 1</ambient><diffuse>1 0 0 1</diffuse></material></visual></link></model>`, name, pose, geometry)
}

// at returns the color that a picture from above has at a place of the ground.
func at(t *testing.T, s *Scene, x, y float64) [3]uint8 {
	t.Helper()
	img := s.Render(s.Views[0], s.Placed(), 0)
	c := img.RGBAAt(int(100-10*y), int(50-10*x))
	return [3]uint8{c.R, c.G, c.B}
}

// What a picture shows can be computed by hand: background, ground in the light and in a shadow, and the top of a body.
func TestColorsAreTheOnesOfTheFormula(t *testing.T) {
	lit := uint8(math.Round(255 * (0.5*0.2 + 0.5*0.8)))
	shadow := uint8(math.Round(255 * 0.5 * 0.2))
	top := uint8(math.Round(255 * (0.2 + 0.8)))
	for name, geometry := range map[string]string{
		"sphere":   `<sphere><radius>0.5</radius></sphere>`,
		"box":      `<box><size>1 1 1</size></box>`,
		"cylinder": `<cylinder><radius>0.5</radius><length>1</length></cylinder>`,
	} {
		s := sceneOf(t, lamplight+ground+above+shape("b", "0 0 0.5 0 0 0", geometry))
		assert.Equal(t, [3]uint8{0, 0, 255}, at(t, s, 0, 6), "%s: beyond the ground", name)
		assert.Equal(t, [3]uint8{lit, lit, lit}, at(t, s, -2, 0), "%s: in the light", name)
		assert.Equal(t, [3]uint8{shadow, shadow, shadow}, at(t, s, 0.85, 0), "%s: behind it", name)
		assert.Equal(t, [3]uint8{lit, lit, lit}, at(t, s, 2.5, 0), "%s: beyond its shadow", name)
		middle := at(t, s, 0, 0)
		assert.InDelta(t, top, middle[0], 3, "%s: its top", name)
		assert.Zero(t, middle[1])
	}
}

// A link that moves takes its shape along.
func TestPicturesFollowTheLinks(t *testing.T) {
	s := sceneOf(t, lamplight+ground+above+shape("b", "0 0 0.5 0 0 0", `<sphere><radius>0.5</radius></sphere>`))
	poses := s.Placed()
	require.Equal(t, []string{"b"}, s.Links[2].Models)
	poses[2].Position = spatial.Vector{X: -3, Y: 3, Z: 0.5}
	img := s.Render(s.Views[0], poses, 0)
	moved, left := img.RGBAAt(100-31, 50+31), img.RGBAAt(100, 50)
	assert.Zero(t, moved.G)
	assert.Greater(t, moved.R, uint8(50))
	assert.Equal(t, left.R, left.G, "the ground is grey where it was")
}

// Shortcuts change nothing: the picture is that of rays that look at every body, and of shadows for which every body is asked.
func TestShortcutsChangeNothing(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		content := lamplight + ground + above + `<light name="lamp" type="point"><cast_shadows>true</cast_shadows><pose>1 1 4 0 0 0</pose><diffuse>0.5 0.5 0 1</diffuse></light>`
		for i := range 30 {
			r := func(most float64) float64 { return most * (2*draw.Float64() - 1) }
			geometry := []string{
				fmt.Sprintf(`<sphere><radius>%g</radius></sphere>`, 0.1+draw.Float64()/2),
				fmt.Sprintf(`<box><size>%g %g %g</size></box>`, 0.1+draw.Float64(), 0.1+draw.Float64(), 0.1+draw.Float64()),
				fmt.Sprintf(`<cylinder><radius>%g</radius><length>%g</length></cylinder>`, 0.1+draw.Float64()/2, 0.1+draw.Float64()),
				`<plane><normal>0 0.6 0.8</normal><size>1 0.5</size></plane>`,
			}[i%4]
			content += shape(fmt.Sprint("b", i), fmt.Sprintf("%g %g %g %g %g %g", r(4), r(8), 2+r(2), r(3), r(3), r(3)), geometry)
		}
		s := sceneOf(t, content)
		got := s.Render(s.Views[0], s.Placed(), 0)

		plain := &picture{scene: s, camera: s.Views[0].Sensor.Camera, eye: s.Placed()[s.Views[0].Link], focus: 100, image: got}
		for i := range s.solids {
			plain.bodies = append(plain.bodies, newBody(&s.solids[i], s.Placed()[s.solids[i].link]))
		}
		var all []*body
		for i := range plain.bodies {
			all = append(all, &plain.bodies[i])
		}
		for _, l := range s.lamps {
			source := newSource(l, s.Placed(), plain.bodies, true)
			source.grid = grid{x: spatial.Vector{X: 1}, y: spatial.Vector{Y: 1}, left: -1e9, bottom: -1e9, cell: 1e9, cells: make([][]*body, gridSide*gridSide)}
			for i := range source.grid.cells {
				source.grid.cells[i] = source.casters
			}
			plain.sources = append(plain.sources, source)
		}
		different := 0
		for y := range 100 {
			for x := range 200 {
				c := plain.trace(ray{plain.eye.Position, plain.direction(float64(x)+0.5, float64(y)+0.5).Unit()}, all)
				p := got.RGBAAt(x, y)
				for k, v := range [3]uint8{p.R, p.G, p.B} {
					if uint8(math.Floor(min(max(c[k], 0), 1)*255+0.5)) != v {
						different++
					}
				}
			}
		}
		assert.Zero(t, different, "parts of pixels")
	}
}

// The picture of the hundred balls, byte by byte. Who changes it on purpose looks at it: metasim world picture.
func TestHundredBalls(t *testing.T) {
	d, _, err := sdf.Load("../sdf/testdata/worlds/lock_step.sdf", nil, nil)
	require.NoError(t, err)
	s := New(d.Worlds[0])
	require.Len(t, s.Views, 1)
	c := s.Views[0].Sensor.Camera
	c.Width, c.Height = 484, 304
	first := s.Render(s.Views[0], s.Placed(), 0)
	assert.Equal(t, "a8c148e289fbfe6c7d53e54413187da996536930bb7601f4c181d7005d2c2e1c", fmt.Sprintf("%x", sha256.Sum256(first.Pix)))
	again, second := s.Render(s.Views[0], s.Placed(), 0), s.Render(s.Views[0], s.Placed(), 1)
	assert.Equal(t, first.Pix, again.Pix)
	assert.NotEqual(t, first.Pix, second.Pix, "the noise of the next picture is another")
}

// A part of a picture is what the whole has there, pixel by pixel, with its noise, wherever it begins and ends.
func TestPartsOfAPicture(t *testing.T) {
	d, _, err := sdf.Load("../sdf/testdata/worlds/lock_step.sdf", nil, nil)
	require.NoError(t, err)
	s := New(d.Worlds[0])
	c := s.Views[0].Sensor.Camera
	c.Width, c.Height = 121, 76
	whole := s.Render(s.Views[0], s.Placed(), 3)
	draws := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		part := image.Rect(draws.IntN(121), draws.IntN(76), draws.IntN(130), draws.IntN(90))
		got := s.RenderPart(s.Views[0], s.Placed(), 3, part)
		require.Equal(t, part.Intersect(whole.Rect), got.Rect)
		for y := got.Rect.Min.Y; y < got.Rect.Max.Y; y++ {
			for x := got.Rect.Min.X; x < got.Rect.Max.X; x++ {
				require.Equal(t, whole.RGBAAt(x, y), got.RGBAAt(x, y), "%v of %v", image.Pt(x, y), part)
			}
		}
	}
}

// A body that is seen through lets what is behind it be seen.
func TestTransparency(t *testing.T) {
	glass := `<model name="g"><static>true</static><pose>0 0 3 0 0 0</pose><link name="l"><visual name="v"><transparency>0.75</transparency><cast_shadows>false</cast_shadows>
		<geometry><plane><normal>0 0 1</normal><size>1 1</size></plane></geometry><material><ambient>0 0 0 1</ambient><diffuse>0 0 0 1</diffuse></material></visual></link></model>`
	s := sceneOf(t, lamplight+ground+above+glass)
	assert.Equal(t, [3]uint8{96, 96, 96}, at(t, s, 0, 0), "three quarters of 0.5")
}

func BenchmarkHundredBalls(b *testing.B) {
	d, _, err := sdf.Load("../sdf/testdata/worlds/lock_step.sdf", nil, nil)
	require.NoError(b, err)
	s := New(d.Worlds[0])
	poses := s.Placed()
	for b.Loop() {
		s.Render(s.Views[0], poses, 0)
	}
}
