// Package scene is what the nodes of a demo show: a fountain of particles, and a cloth of masses and springs that hangs in gusts of wind.
//
// It moves by whole numbers, and so does it draw: the same state gives the same picture on every processor, and the parts of a
// picture put together are the whole picture, byte by byte.
package scene

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"math"

	"metasim/metasim"
)

// The picture, in pixels.
const (
	Width  = 640
	Height = 480
)

// unit is the length of a pixel. Positions are in units, speeds in units a second.
const unit = 1 << 16

const (
	drops         = 240 // particles
	columns, rows = 17, 11
	gap           = 20 * unit // between masses of the cloth at rest
	gravity       = 300 * unit
	stiffness     = 900 // a spring's pull on a mass of 1, for its stretch: 1/s^2
	longest       = 4 * metasim.Millisecond
)

// A point moves.
type point struct{ X, Y, VX, VY int64 }

// A Scene is a state. It is made with New.
type Scene struct {
	random uint64 // state of the generator of gusts and drops
	wind   int64
	fluid  [drops]point
	cloth  [columns * rows]point
}

// Size is how many bytes Append adds.
const Size = 8 * (2 + 4*(drops+columns*rows))

// New returns the scene at its start. Scenes of one seed stay the same as long as they are stepped by the same times.
func New(seed uint64) *Scene {
	s := &Scene{random: seed}
	for i := range s.fluid {
		s.fall(&s.fluid[i])
		s.fluid[i].Y -= int64(i) * Height * unit / drops
	}
	for i := range s.cloth {
		s.cloth[i] = point{X: 160*unit + int64(i%columns)*gap, Y: 60*unit + int64(i/columns)*gap}
	}
	return s
}

// draw returns the next random number, as SplitMix64 makes it.
func (s *Scene) draw() uint64 {
	s.random += 0x9e3779b97f4a7c15
	z := s.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// within draws a number from -n to n.
func (s *Scene) within(n int64) int64 { return int64(s.draw()%uint64(2*n+1)) - n }

// fall puts a drop at the mouth of the fountain.
func (s *Scene) fall(p *point) {
	*p = point{X: Width/2*unit + s.within(4*unit), Y: Height * unit, VX: s.within(120 * unit), VY: -430*unit + s.within(90*unit)}
}

// Stir draws other numbers from now on, as something from outside says.
func (s *Scene) Stir(by uint64) { s.random ^= by }

// reach is how far from a touch something is pushed away, in pixels, and thrust how fast, in a second.
const (
	reach  = 90
	thrust = 420 * unit
)

// Touch pushes away what is near a place of the picture, in pixels.
func (s *Scene) Touch(x, y int) {
	for _, list := range [][]point{s.fluid[:], s.cloth[columns:]} { // the uppermost row hangs on a rod
		for i := range list {
			p := &list[i]
			dx, dy := p.X/unit-int64(x), p.Y/unit-int64(y)
			if far := dx*dx + dy*dy; far < reach*reach {
				p.VX += thrust / reach * dx
				p.VY += thrust / reach * dy
			}
		}
	}
}

// Step moves the scene.
func (s *Scene) Step(dt metasim.Time) {
	s.wind = s.wind*7/8 + s.within(260*unit)/2
	for ; dt > 0; dt -= longest {
		s.move(int64(min(dt, longest)))
	}
}

func (s *Scene) move(ns int64) {
	after := func(v int64) int64 { return v * ns / int64(metasim.Second) }
	for i := range s.fluid {
		p := &s.fluid[i]
		p.VY += after(gravity)
		p.X, p.Y = p.X+after(p.VX), p.Y+after(p.VY)
		if p.Y > Height*unit && p.VY > 0 {
			s.fall(p)
		}
	}
	pull := s.cloth
	for i := range s.cloth {
		if i%columns+1 < columns {
			s.stretch(i, i+1, &pull, after)
		}
		if i+columns < len(s.cloth) {
			s.stretch(i, i+columns, &pull, after)
		}
	}
	for i := columns; i < len(s.cloth); i++ { // the uppermost row hangs on a rod
		p := &pull[i]
		p.VX += after(s.wind) - after(p.VX)/2
		p.VY += after(gravity) - after(p.VY)/2
		p.X, p.Y = s.cloth[i].X+after(p.VX), s.cloth[i].Y+after(p.VY)
		s.cloth[i] = *p
	}
}

// stretch adds the pull of a spring between two masses to their speeds.
func (s *Scene) stretch(i, j int, pull *[columns * rows]point, after func(int64) int64) {
	x, y := s.cloth[j].X-s.cloth[i].X, s.cloth[j].Y-s.cloth[i].Y
	length := int64(math.Sqrt(float64(x*x + y*y))) // the same on every processor: one rounding
	if length == 0 {
		return
	}
	by := (length - gap) * stiffness
	vx, vy := after(by/unit*x/length*unit), after(by/unit*y/length*unit)
	pull[i].VX += vx
	pull[i].VY += vy
	pull[j].VX -= vx
	pull[j].VY -= vy
}

// Append adds the state to b.
func (s *Scene) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, s.random)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.wind))
	for _, list := range [][]point{s.fluid[:], s.cloth[:]} {
		b, _ = binary.Append(b, binary.LittleEndian, list) // a list of numbers of one size cannot fail
	}
	return b
}

// farthest is how far from the picture a point of a scene can be, and how fast it can be in a second. Of bytes that are no scene it is many times
// more, and to draw the line to such a point would take years.
const farthest = 64 * Width * unit

// Decode reads a state, and leaves what follows it. The scene is as it was where the bytes are none.
func (s *Scene) Decode(b []byte) error {
	if len(b) < Size {
		return fmt.Errorf("the state of a scene with %d bytes; it has %d: give state_bytes of all nodes at least that", len(b), Size)
	}
	read := Scene{random: binary.LittleEndian.Uint64(b), wind: int64(binary.LittleEndian.Uint64(b[8:]))}
	b = b[16:]
	for _, list := range [][]point{read.fluid[:], read.cloth[:]} {
		n, err := binary.Decode(b, binary.LittleEndian, list)
		if err != nil {
			return err
		}
		b = b[n:]
		for _, p := range list {
			for _, v := range []int64{p.X, p.Y, p.VX, p.VY} {
				if v < -farthest || v > farthest {
					return errors.New("what was received as the state of a scene is none; give parts to the controller, to its understudies and to all other nodes that draw, or to none of them")
				}
			}
		}
	}
	*s = read
	return nil
}

// Part returns the place of part i of n of the picture.
func Part(i, n int) image.Rectangle { return Split(Width, Height, i, n) }

// Split returns the place of part i of n of any picture: the parts stand in rows, of which the last may be shorter.
func Split(width, height, i, n int) image.Rectangle {
	across := 1
	for across*across < n {
		across++
	}
	lines := (n + across - 1) / across
	line := i / across
	inLine := min(across, n-line*across)
	column := i % across
	return image.Rect(width*column/inLine, height*line/lines, width*(column+1)/inLine, height*(line+1)/lines)
}
