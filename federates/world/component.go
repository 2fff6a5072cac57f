package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// The types of components. Numbers are float64, little-endian; a vector is X, Y, Z; a rotation W, X, Y, Z.
const (
	Kind     = "kind"     // text: world, model, link, collision, visual, sensor or light
	Name     = "name"     // text
	Gravity  = "gravity"  // of the world: a vector, m/s^2
	Pose     = "pose"     // position and rotation; of a model in the world, of anything else in what holds it
	Static   = "static"   // of a model that never moves: nothing
	Inertial = "inertial" // of a model: see Mass
	Velocity = "velocity" // of a model: of its centre of mass, m/s, and of its rotation, rad/s
	Force    = "force"    // of a model: on its centre of mass in this step, N, and the torque, N m. Physics takes it away
	Shape    = "shape"    // of a collision and a visual: see Geometry
	Surface  = "surface"  // of a collision: restitution, friction
	Material = "material" // of a visual: ambient, diffuse, specular, emissive (R, G, B, A each), transparency, casts shadows
	Camera   = "camera"   // of a sensor: field of view, width, height, near, far, mean and deviation of noise, update rate
	Topic    = "topic"    // of a sensor: text
	Light    = "light"    // of a light: diffuse, specular (R, G, B, A each), direction, casts shadows, range, constant, linear, quadratic
	Type     = "type"     // of a light: text
	Scene    = "scene"    // of the world: ambient, background (R, G, B, A each), whether there are shadows
)

// numbers says of how many numbers a component is.
var numbers = map[string]int{
	Gravity: 3, Pose: 7, Static: 0, Inertial: 10, Velocity: 6, Force: 6, Shape: 9, Surface: 2, Material: 18, Camera: 8, Light: 16, Scene: 9,
}

var schema = newSchema()

// Schema checks the components that a world has: so many numbers, all finite. Others may have any value.
func Schema() ecm.Schema { return schema }

func newSchema() ecm.Schema {
	s := ecm.Schema{}
	for name, n := range numbers {
		s[name] = func(b []byte) error { return finite(b, n) }
	}
	s[Inertial] = func(b []byte) error {
		if err := finite(b, numbers[Inertial]); err != nil {
			return err
		}
		if MassOf(b).Mass <= 0 {
			return errors.New("a mass that is not positive")
		}
		return nil
	}
	s[Camera] = func(b []byte) error {
		if err := finite(b, numbers[Camera]); err != nil {
			return err
		}
		fov, width, height, near, far := number(b, 0), number(b, 1), number(b, 2), number(b, 3), number(b, 4)
		if !(fov > 0 && fov < math.Pi && near > 0 && near < far && width >= 1 && height >= 1 && width == math.Trunc(width) && height == math.Trunc(height) &&
			width*height <= sdf.MaxPixels) {
			return fmt.Errorf("a camera of %v x %v pixels, an angle of %v and a range from %v to %v, which makes no picture", width, height, fov, near, far)
		}
		return nil
	}
	return s
}

func finite(b []byte, n int) error {
	if len(b) != 8*n {
		return fmt.Errorf("%d bytes, not %d numbers", len(b), n)
	}
	for i := range n {
		if x := number(b, i); math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("number %d is %v", i+1, x)
		}
	}
	return nil
}

// Numbers returns the value of a component of numbers.
func Numbers(xs ...float64) []byte {
	b := make([]byte, 0, 8*len(xs))
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// NumberOf returns the first number of a component of numbers.
func NumberOf(b []byte) float64 { return number(b, 0) }

func number(b []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
}

func vector(b []byte, i int) spatial.Vector {
	return spatial.Vector{X: number(b, i), Y: number(b, i+1), Z: number(b, i+2)}
}

// RateOf returns the update rate of a Camera, in Hz; 0: at every step.
func RateOf(b []byte) float64 { return number(b, 7) }

// PoseBytes returns the value of a Pose.
func PoseBytes(p spatial.Pose) []byte {
	v, r := p.Position, p.Rotation
	return Numbers(v.X, v.Y, v.Z, r.W, r.X, r.Y, r.Z)
}

// PoseOf returns a Pose.
func PoseOf(b []byte) spatial.Pose {
	return spatial.Pose{Position: vector(b, 0), Rotation: spatial.Rotation{W: number(b, 3), X: number(b, 4), Y: number(b, 5), Z: number(b, 6)}}
}

// PairBytes returns the value of a Velocity or a Force.
func PairBytes(a, b spatial.Vector) []byte { return Numbers(a.X, a.Y, a.Z, b.X, b.Y, b.Z) }

// PairOf returns a Velocity or a Force.
func PairOf(b []byte) (linear, angular spatial.Vector) { return vector(b, 0), vector(b, 3) }

// VectorOf returns a Gravity.
func VectorOf(b []byte) spatial.Vector { return vector(b, 0) }

// A Mass is an Inertial: mass, centre of mass, moments about it, all in the frame of the model.
type Mass struct {
	Mass                         float64
	Centre                       spatial.Vector
	IXX, IXY, IXZ, IYY, IYZ, IZZ float64
}

func (m Mass) bytes() []byte {
	return Numbers(m.Mass, m.Centre.X, m.Centre.Y, m.Centre.Z, m.IXX, m.IXY, m.IXZ, m.IYY, m.IYZ, m.IZZ)
}

// MassOf returns an Inertial.
func MassOf(b []byte) Mass {
	return Mass{number(b, 0), vector(b, 1), number(b, 4), number(b, 5), number(b, 6), number(b, 7), number(b, 8), number(b, 9)}
}

// The kinds of a Geometry.
const (
	Box = iota + 1
	Sphere
	Plane
	Cylinder
	Other // is not computed
)

// A Geometry is a Shape: of a box Size are its edges, of a plane Normal is its normal.
type Geometry struct {
	Kind           float64 // Box, Sphere, ...
	Size, Normal   spatial.Vector
	Radius, Length float64
}

// Bytes returns the value of a Shape.
func (g Geometry) Bytes() []byte {
	return Numbers(g.Kind, g.Size.X, g.Size.Y, g.Size.Z, g.Normal.X, g.Normal.Y, g.Normal.Z, g.Radius, g.Length)
}

// GeometryOf returns a Shape.
func GeometryOf(b []byte) Geometry {
	return Geometry{number(b, 0), vector(b, 1), vector(b, 4), number(b, 7), number(b, 8)}
}

// SurfaceOf returns a Surface.
func SurfaceOf(b []byte) (restitution, friction float64) { return number(b, 0), number(b, 1) }
