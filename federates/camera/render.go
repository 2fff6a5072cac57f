package camera

import (
	"image"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/internal/trig"
)

// A picture is being made.
type picture struct {
	scene   *Scene
	bodies  []body
	sources []source
	camera  *sdf.Camera
	eye     spatial.Pose
	focus   float64 // pixels
	image   *image.RGBA
	number  uint64
}

// tile is the side of the squares in which a picture is made: only bodies that one may show are looked at for it.
const tile = 32

// Render makes a picture. Links are the poses of Scene.Links in the world. Number is the picture's, from 0: it keys the noise.
func (s *Scene) Render(v View, links []spatial.Pose, number uint64) *image.RGBA {
	return s.RenderPart(v, links, number, image.Rect(0, 0, v.Sensor.Camera.Width, v.Sensor.Camera.Height))
}

// RenderPart makes a part of the picture that Render makes, pixel by pixel the same.
func (s *Scene) RenderPart(v View, links []spatial.Pose, number uint64, part image.Rectangle) *image.RGBA {
	c := v.Sensor.Camera
	part = part.Intersect(image.Rect(0, 0, c.Width, c.Height))
	sin, cos := trig.Sincos(c.HorizontalFOV / 2)
	p := &picture{
		scene: s, camera: c, eye: links[v.Link].Mul(v.Offset), focus: float64(c.Width) / 2 * cos / sin,
		image: image.NewRGBA(part), number: number,
	}
	for i := range s.solids {
		p.bodies = append(p.bodies, newBody(&s.solids[i], links[s.solids[i].link]))
	}
	for _, l := range s.lamps {
		p.sources = append(p.sources, newSource(l, links, p.bodies, s.shadows))
	}
	rows := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for top := range rows {
				for left := part.Min.X / tile * tile; left < part.Max.X; left += tile {
					p.tile(left, top)
				}
			}
		})
	}
	for top := part.Min.Y / tile * tile; top < part.Max.Y; top += tile {
		rows <- top
	}
	close(rows)
	workers.Wait()
	return p.image
}

// direction returns where the camera looks through a point of its picture, in the world, without a certain length.
func (p *picture) direction(x, y float64) spatial.Vector {
	left, up := float64(float64(p.camera.Width)/2)-x, float64(float64(p.camera.Height)/2)-y
	return p.eye.Rotation.Rotate(spatial.Vector{X: 1, Y: left / p.focus, Z: up / p.focus})
}

// tile makes one square, as far as it is in the part. Squares lie in the same way in every part, and so does their noise.
func (p *picture) tile(left, top int) {
	right, bottom := min(left+tile, p.camera.Width), min(top+tile, p.camera.Height)
	seen := p.visible(float64(left), float64(top), float64(right), float64(bottom))
	part := p.image.Rect
	for y := max(top, part.Min.Y); y < min(bottom, part.Max.Y); y++ {
		noise := rand.NewPCG(p.number<<32|uint64(y), uint64(left))
		for x := left; x < min(right, part.Max.X); x++ {
			if x < part.Min.X {
				p.skip(noise)
				continue
			}
			r := ray{p.eye.Position, p.direction(float64(x)+0.5, float64(y)+0.5).Unit()}
			color := p.trace(r, seen)
			p.set(x, y, color, noise)
		}
	}
}

// visible returns the bodies that a square may show: those whose surrounding sphere is not wholly beyond one of its four sides.
func (p *picture) visible(left, top, right, bottom float64) (seen []*body) {
	corners := [4]spatial.Vector{p.direction(left, top), p.direction(right, top), p.direction(right, bottom), p.direction(left, bottom)}
	var sides [4]spatial.Vector // of length 1, and facing outward
	for i, c := range corners {
		sides[i] = c.Cross(corners[(i+1)%4]).Unit()
	}
	middle := p.direction((left+right)/2, (top+bottom)/2)
	if sides[0].Dot(middle) > 0 {
		for i := range sides {
			sides[i] = sides[i].Scale(-1)
		}
	}
	for i := range p.bodies {
		b := &p.bodies[i]
		to, out := b.pose.Position.Sub(p.eye.Position), false
		for _, side := range sides {
			out = out || side.Dot(to) > b.radius
		}
		if !out {
			seen = append(seen, b)
		}
	}
	return seen
}

// maxLayers is how many transparent surfaces a ray passes.
const maxLayers = 8

// trace returns the light that comes along a ray.
func (p *picture) trace(r ray, seen []*body) (color [3]float64) {
	through, from := 1.0, p.camera.Near
	for range maxLayers {
		nearest, found := hit{distance: p.camera.Far}, false
		for _, b := range seen {
			if h, ok := b.meet(r, from); ok && h.distance < nearest.distance {
				nearest, found = h, true
			}
		}
		if !found {
			break
		}
		clear := nearest.body.clear
		light := p.shade(r, nearest)
		for i := range color {
			color[i] += float64(float64(through*(1-clear)) * light[i])
		}
		through, from = float64(through*clear), nearest.distance+near
		if through == 0 {
			return color
		}
	}
	for i, c := range parts(p.scene.background) {
		color[i] += float64(through * c)
	}
	return color
}

func parts(c sdf.Color) [3]float64 { return [3]float64{c.R, c.G, c.B} }

// shade returns the light that a surface throws toward the camera: Phong's model, with Blinn's half way.
func (p *picture) shade(r ray, h hit) (color [3]float64) {
	normal := h.normal
	if normal.Dot(r.toward) > 0 { // seen from within
		normal = normal.Scale(-1)
	}
	m := &h.body.material
	ambient, emissive, around := parts(m.Ambient), parts(m.Emissive), parts(p.scene.ambient)
	for i := range color {
		color[i] = emissive[i] + float64(ambient[i]*around[i])
	}
	at := r.at(h.distance)
	diffuse, specular := parts(m.Diffuse), parts(m.Specular)
	for i := range p.sources {
		s := &p.sources[i]
		strength, to := s.shines(at, normal)
		if strength == 0 {
			continue
		}
		facing := float64(strength * normal.Dot(to))
		shine := max(normal.Dot(to.Sub(r.toward).Unit()), 0)
		for range 5 { // to the power of 32
			shine = float64(shine * shine)
		}
		shine = float64(shine * strength)
		lamp, gloss := parts(s.light.Diffuse), parts(s.light.Specular)
		for k := range color {
			color[k] += float64(float64(diffuse[k]*lamp[k])*facing) + float64(float64(specular[k]*gloss[k])*shine)
		}
	}
	return color
}

// set writes a pixel, with the noise of the camera.
func (p *picture) set(x, y int, color [3]float64, noise *rand.PCG) {
	i := p.image.PixOffset(x, y)
	for k, c := range color {
		if p.noisy() {
			c += p.camera.NoiseMean + float64(p.camera.NoiseStddev*normal(noise))
		}
		p.image.Pix[i+k] = uint8(math.Floor(float64(min(max(c, 0), 1)*255) + 0.5))
	}
	p.image.Pix[i+3] = 255
}

func (p *picture) noisy() bool { return p.camera.NoiseStddev > 0 && p.camera.NoiseType != "none" }

// skip draws the noise of a pixel that is not in the part.
func (p *picture) skip(noise *rand.PCG) {
	if p.noisy() {
		for range 3 {
			_ = normal(noise) // only its draws count
		}
	}
}

// normal draws a number that is nearly normal, of mean 0 and deviation 1: the sum of twelve equal draws, which takes no logarithm, whose
// bits would depend on the processor.
func normal(noise *rand.PCG) float64 {
	sum := 0
	for range 3 {
		bits := noise.Uint64()
		for range 4 {
			sum += int(bits & 0xffff)
			bits >>= 16
		}
	}
	return float64(sum-6*0xffff) / 0x10000
}
