package sdf

import (
	"metasim/federates/spatial"
	"metasim/metasim"
)

// A Place is where something stands in a file. Line and column count from 1, columns in bytes.
type Place struct {
	File         string
	Line, Column int
}

// A Document is what one SDF file says, with everything that it includes.
type Document struct {
	Version string // as the file writes it: 1.6 to 1.11
	Worlds  []*World
	Models  []*Model // at most one, in a file that holds a model and no world
}

// A World is one world. Its models, lights and plugins are in the order of the file.
type World struct {
	Place   Place
	Name    string
	Gravity spatial.Vector // m/s^2
	Physics Physics
	Scene   Scene
	Models  []*Model
	Lights  []*Light
	Plugins []*Plugin
}

// Physics says how a world is stepped.
type Physics struct {
	Place          Place // without a line if the world says nothing of physics
	Name           string
	Type           string
	Step           metasim.Time
	RealTimeFactor float64 // 0 or less: as fast as it can
}

// Scene is the surroundings that a camera sees.
type Scene struct {
	Ambient, Background Color
	Shadows             bool
}

// A Color has parts from 0 to 1.
type Color struct{ R, G, B, A float64 }

// A Model is a group of links that are placed together.
type Model struct {
	Place         Place
	Name          string
	Pose          spatial.Pose // in the frame of its world, or of the model that it is nested in
	Static        bool
	SelfCollide   bool
	CanonicalLink string // empty: the first link
	Links         []*Link
	Joints        []*Joint
	Models        []*Model
	Plugins       []*Plugin
}

// A Link is a rigid body.
type Link struct {
	Place      Place
	Name       string
	Pose       spatial.Pose // in the frame of its model
	Gravity    bool         // false: gravity does not pull it
	Kinematic  bool
	Inertial   Inertial
	Collisions []*Collision
	Visuals    []*Visual
	Sensors    []*Sensor
	Lights     []*Light
}

// Inertial is the mass of a link. A link that says nothing has 1 kg and unit moments.
type Inertial struct {
	Mass                         float64      // kg
	Pose                         spatial.Pose // of the centre of mass, in the frame of the link
	IXX, IXY, IXZ, IYY, IYZ, IZZ float64      // kg m^2
}

// A Collision is a shape that others bounce off.
type Collision struct {
	Place    Place
	Name     string
	Pose     spatial.Pose // in the frame of its link
	Geometry Geometry
	Surface  Surface
}

// Surface says how a shape bounces and slides.
type Surface struct {
	Restitution float64 // 0: does not bounce, 1: loses nothing
	Threshold   float64 // m/s; slower impacts do not bounce
	Friction    float64 // Coulomb's mu in the first direction
	Friction2   float64 // and in the second
}

// A Visual is a shape that cameras see.
type Visual struct {
	Place        Place
	Name         string
	Pose         spatial.Pose // in the frame of its link
	Geometry     Geometry
	Material     Material
	Transparency float64 // 0: opaque, 1: not seen
	CastShadows  bool
}

// Material is the light that a surface throws back, by the kind of light.
type Material struct{ Ambient, Diffuse, Specular, Emissive Color }

// A Shape is the kind of a geometry.
type Shape string

// The shapes. Other stands for those that are named in a file and not read, such as meshes.
const (
	Box      Shape = "box"
	Sphere   Shape = "sphere"
	Plane    Shape = "plane"
	Cylinder Shape = "cylinder"
	Empty    Shape = "empty"
	Other    Shape = "other"
)

// A Geometry is a shape with its size.
type Geometry struct {
	Place  Place
	Shape  Shape
	Size   spatial.Vector // edges of a box; of a plane the first two
	Normal spatial.Vector // of a plane; of length 1
	Radius float64        // of a sphere and a cylinder
	Length float64        // of a cylinder
}

// A Light shines on the world. Its pose is in the frame of the world, or of the link that carries it.
type Light struct {
	Place             Place
	Name              string
	Type              string // directional, point or spot
	Pose              spatial.Pose
	Diffuse, Specular Color
	Direction         spatial.Vector // of a directional light and a spot, in the frame of its pose
	CastShadows       bool
	Range             float64
	Constant          float64 // the attenuation at a distance d is 1 / (constant + linear*d + quadratic*d^2)
	Linear            float64
	Quadratic         float64
}

// A Sensor measures. Only cameras have more than a name here.
type Sensor struct {
	Place      Place
	Name       string
	Type       string
	Pose       spatial.Pose // in the frame of its link
	UpdateRate float64      // Hz; 0: at every step
	Topic      string
	Camera     *Camera // nil for what is no camera
}

// A Camera looks along the X axis of its pose, with Z up.
type Camera struct {
	Place         Place
	Name          string
	Pose          spatial.Pose // in the frame of its sensor
	HorizontalFOV float64      // radians
	Width, Height int          // pixels
	Format        string
	Near, Far     float64
	NoiseType     string // none or gaussian
	NoiseMean     float64
	NoiseStddev   float64
}

// A Joint ties two links. It is read for levels and checks; the world server does not move joints.
type Joint struct {
	Place         Place
	Name          string
	Type          string
	Parent, Child string
}

// A Plugin is a system that a world or a model asks for.
type Plugin struct {
	Place    Place
	Filename string
	Name     string
	Priority int        // gz:system_priority; 0 where nothing is said
	Content  []*Element // what is inside, as it stands
	Raw      string     // the same as XML text
}

// An Element is XML that is kept as it stands: levels, performers, parameters of plugins.
type Element struct {
	Place      Place
	Name       string // with its prefix: gz:system_priority
	Attributes []Attribute
	Text       string // without the spaces around it
	Children   []*Element
}

// An Attribute is a name and a value of an element.
type Attribute struct{ Name, Value string }

// Attribute returns the value of an attribute, and whether it is there.
func (e *Element) Attribute(name string) (value string, found bool) {
	for _, a := range e.Attributes {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// Find returns the first element of a name; nil if there is none.
func Find(all []*Element, name string) *Element {
	for _, e := range all {
		if e.Name == name {
			return e
		}
	}
	return nil
}
