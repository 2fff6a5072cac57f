package sdf

import (
	"fmt"
	"math"
	"strings"

	"metasim/federates/spatial"
)

// checkPose notes what is wrong with the numbers of a pose.
func (p *problems) checkPose(n *node) {
	format, given := n.Attribute("rotation_format")
	want, example := 6, "x y z roll pitch yaw"
	switch {
	case format == "quat_xyzw":
		want, example = 7, "x y z, and the quaternion as x y z w"
		if degrees, _ := n.Attribute("degrees"); asBool(degrees, false) {
			p.wrong(n.Place, "<pose> has degrees for a quaternion, which has none; remove the attribute degrees")
		}
	case given && format != "euler_rpy":
		p.wrong(n.Place, "<pose> has the rotation_format %q; write euler_rpy or quat_xyzw", format)
	}
	if n.Text != "" && len(words(n.Text)) != want {
		p.wrong(n.Place, "<pose> is %q; write %d numbers: %s", n.Text, want, example)
	}
}

// pose reads the pose of an element: where it is, and the name of the frame that it is relative to, empty where the file says nothing.
func (n *node) pose() (pose spatial.Pose, relativeTo string) {
	c := n.child("pose")
	if c == nil {
		return spatial.Identity, ""
	}
	relativeTo, _ = c.Attribute("relative_to")
	list := words(c.Text)
	if len(list) < 6 {
		return spatial.Identity, relativeTo
	}
	pose.Position = spatial.Vector{X: list[0], Y: list[1], Z: list[2]}
	if format, _ := c.Attribute("rotation_format"); format == "quat_xyzw" && len(list) == 7 {
		pose.Rotation = spatial.Rotation{W: list[6], X: list[3], Y: list[4], Z: list[5]}.Normalized()
		return pose, relativeTo
	}
	unit := 1.0
	if degrees, _ := c.Attribute("degrees"); asBool(degrees, false) {
		unit = math.Pi / 180
	}
	pose.Rotation = spatial.FromEuler(list[3]*unit, list[4]*unit, list[5]*unit)
	return pose, relativeTo
}

// name is the attribute of that name.
func (n *node) name() string {
	name, _ := n.Attribute("name")
	return name
}

// at returns the element that a path of names leads to; nil if there is none.
func (n *node) at(path string) *node {
	for name := range strings.SplitSeq(path, "/") {
		if n = n.child(name); n == nil {
			return nil
		}
	}
	return n
}

// The readers of values take a path of names and what counts where nothing, or nothing readable, is written: conform has complained
// of that already.

func (n *node) text(path, otherwise string) string {
	if c := n.at(path); c != nil && c.Text != "" {
		return c.Text
	}
	return otherwise
}

func (n *node) float(path string, otherwise float64) float64 {
	f, _, ok := number(n.text(path, ""))
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		return otherwise
	}
	return f
}

func (n *node) bool(path string, otherwise bool) bool { return asBool(n.text(path, ""), otherwise) }

func asBool(text string, otherwise bool) bool {
	if value, ok := truth(text); ok {
		return value
	}
	return otherwise
}

func (n *node) vector(path string, otherwise spatial.Vector) spatial.Vector {
	if list := numbers(n.text(path, ""), 3); len(list) == 3 {
		return spatial.Vector{X: list[0], Y: list[1], Z: list[2]}
	}
	return otherwise
}

func (n *node) color(path string, otherwise Color) Color {
	switch list := words(n.text(path, "")); len(list) {
	case 4:
		return Color{list[0], list[1], list[2], list[3]}
	case 3:
		return Color{list[0], list[1], list[2], 1}
	}
	return otherwise
}

// positive reads a length, and warns of one with which a shape has no extent.
func (p *problems) positive(n *node, path string, otherwise float64) (float64, bool) {
	f := n.float(path, otherwise)
	if f <= 0 {
		p.warn(n.at(path).Place, "the %s is %g, so this %s is ignored; write a number above 0", path, f, n.Name)
		return 0, false
	}
	return f, true
}

// oneOf notes a word that is not in a list, which Gazebo's reader refuses.
func (p *problems) oneOf(at Place, what, word string, list ...string) {
	for _, known := range list {
		if word == known {
			return
		}
	}
	p.wrong(at, "%s", fmt.Sprintf("%s is %q; %s", what, word, asked(word, list)))
}
