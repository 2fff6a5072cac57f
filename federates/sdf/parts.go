package sdf

import (
	"math"
	"slices"
	"strconv"

	"metasim/federates/spatial"
)

// A builder makes structs of elements, and notes what SDF forbids beyond the types of values.
type builder struct{ *problems }

func (b builder) light(n *node) *Light {
	kind, _ := n.Attribute("type")
	if kind != "" {
		b.oneOf(n.Place, "the type of <light>", kind, "directional", "point", "spot")
	}
	pose, _ := n.pose()
	l := &Light{
		Place: n.Place, Name: n.name(), Type: kind, Pose: pose,
		Diffuse: n.color("diffuse", Color{1, 1, 1, 1}), Specular: n.color("specular", Color{0.1, 0.1, 0.1, 1}),
		Direction:   n.vector("direction", spatial.Vector{Z: -1}),
		CastShadows: n.bool("cast_shadows", false),
		Range:       n.float("attenuation/range", 10), Constant: n.float("attenuation/constant", 1),
		Linear: n.float("attenuation/linear", 1), Quadratic: n.float("attenuation/quadratic", 0),
	}
	if l.Direction.Length() == 0 {
		b.warn(n.at("direction").Place, "<direction> has no length, so 0 0 -1 counts; write where the light goes")
		l.Direction = spatial.Vector{Z: -1}
	}
	l.Direction = l.Direction.Unit()
	return l
}

func (b builder) plugin(n *node) *Plugin {
	p := &Plugin{Place: n.Place, Name: n.name(), Raw: n.raw}
	p.Filename, _ = n.Attribute("filename")
	for _, c := range n.children {
		p.Content = append(p.Content, c.element())
		if c.Name == "gz:system_priority" {
			i, err := strconv.ParseInt(c.Text, 10, 32)
			if err != nil {
				b.warn(c.Place, "<%s> is %q, so 0 counts; write a whole number, the smaller the earlier", c.Name, c.Text)
			}
			p.Priority = int(i)
		}
	}
	return p
}

// inertial reads the mass of a link, and notes moments of inertia that no body has: Gazebo's reader refuses them.
func (b builder) inertial(n *node) Inertial {
	i := Inertial{Mass: 1, Pose: spatial.Identity, IXX: 1, IYY: 1, IZZ: 1}
	c := n.child("inertial")
	if c == nil {
		return i
	}
	i.Pose, _ = c.pose()
	i.Mass = c.float("mass", 1)
	i.IXX, i.IYY, i.IZZ = c.float("inertia/ixx", 1), c.float("inertia/iyy", 1), c.float("inertia/izz", 1)
	i.IXY, i.IXZ, i.IYZ = c.float("inertia/ixy", 0), c.float("inertia/ixz", 0), c.float("inertia/iyz", 0)
	for _, moment := range []string{"ixx", "ixy", "ixz", "iyy", "iyz", "izz"} {
		if f, _, ok := number(c.text("inertia/"+moment, "0")); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			b.wrong(c.at("inertia/"+moment).Place, "<%s> is %g; write a number", moment, f)
			return i
		}
	}
	switch {
	case i.Mass < 0:
		b.wrong(c.Place, "the mass is %g; write one above 0", i.Mass)
	case !i.possible():
		b.wrong(c.Place, "no body has this <inertia>: each principal moment is at most the sum of the others, and none is below 0; correct ixx, iyy and izz")
	}
	return i
}

// possible reports whether moments of inertia are those of a body: the principal ones are at least 0, and none is greater than the sum
// of the others.
func (i Inertial) possible() bool {
	// The eigenvalues of a symmetric matrix of three rows, by Smith's trigonometric formula. Nothing here reaches the state of a world.
	off := i.IXY*i.IXY + i.IXZ*i.IXZ + i.IYZ*i.IYZ
	third := (i.IXX + i.IYY + i.IZZ) / 3
	a, b, c := i.IXX-third, i.IYY-third, i.IZZ-third
	scale := math.Sqrt((a*a + b*b + c*c + 2*off) / 6)
	moments := []float64{i.IXX, i.IYY, i.IZZ}
	if off > 0 && scale > 0 {
		det := (a*(b*c-i.IYZ*i.IYZ) - i.IXY*(i.IXY*c-i.IYZ*i.IXZ) + i.IXZ*(i.IXY*i.IYZ-b*i.IXZ)) / (scale * scale * scale)
		phi := math.Acos(min(max(det/2, -1), 1)) / 3
		most, least := third+2*scale*math.Cos(phi), third+2*scale*math.Cos(phi+2*math.Pi/3)
		moments = []float64{least, 3*third - most - least, most}
	}
	slices.Sort(moments)
	slack := 1e-15 * (1 + moments[2])
	return moments[0] >= -slack && moments[0]+moments[1] >= moments[2]-slack
}
