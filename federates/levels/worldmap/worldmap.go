// Package worldmap draws a world with levels from above: the boxes of its levels and their buffers, the models that move, coloured by the client that moves them, with the way
// that they came, and which of them were merged.
//
//   - A [Frame] is the world at one instant, and a [Layout] what holds for many frames.
//   - [Encode] and [Decode] are how frames travel.
//   - [Drawing.SVG] draws one instant, [Page] an animation of many.
//
// The package knows neither worlds nor clients, and the same frames give the same bytes.
package worldmap

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"metasim/metasim"
)

// A Box is the least x, the least y, the greatest x and the greatest y of something, in metres.
type Box [4]float64

// A Layout is what a frame has in common with those before it.
type Layout struct {
	World  string   `json:"world"`
	Owners []string `json:"owners"` // the clients that move bodies
	Levels []Level  `json:"levels"`
	Bodies []Body   `json:"bodies"`
}

// A Level is a box of the world.
type Level struct {
	Name  string `json:"name"`
	Inner Box    `json:"inner"`
	Outer Box    `json:"outer"` // with the buffer
}

// A Body is a model that moves.
type Body struct {
	Name      string     `json:"name"`
	Performer bool       `json:"performer,omitempty"`
	Size      [2]float64 `json:"size"` // of a performer: its box along x and y, in metres
}

// A Frame is a world at one instant. X, Y, Owner and Group are by body, in the order of the layout: who moves a body that stands still is -1.
type Frame struct {
	Layout    *Layout      `json:"layout,omitempty"` // nil as it travels: the same as that of the frame before
	Time      metasim.Time `json:"time_ns"`
	Iteration uint64       `json:"iteration"`
	Loaded    []Loaded     `json:"loaded"`
	X         []float64    `json:"x"` // in metres
	Y         []float64    `json:"y"`
	Owner     []int        `json:"owner"`            // in Layout.Owners
	Group     []int        `json:"group"`            // bodies with the same number above 0 were merged
	Copies    []Copy       `json:"copies,omitempty"` // bodies that other owners have, and do not move
}

// Loaded is a level that is loaded, and who moves the bodies that are at home in it.
type Loaded struct {
	Level int `json:"level"` // in Layout.Levels
	Owner int `json:"owner"` // in Layout.Owners
}

// A Copy is a body that an owner has and does not move.
type Copy struct {
	Body  int `json:"body"`
	Owner int `json:"owner"`
}

// Encode returns a frame as JSON. The layout is left out where it is that of the frame before; nil: there was none. Numbers are rounded to millimetres.
func Encode(f *Frame, before *Layout) ([]byte, error) {
	short := *f
	if before != nil && reflect.DeepEqual(f.Layout, before) {
		short.Layout = nil
	}
	short.X, short.Y = rounded(f.X), rounded(f.Y)
	return json.Marshal(&short)
}

func rounded(all []float64) []float64 {
	short := make([]float64, len(all))
	for i, x := range all {
		short[i] = math.Round(x*1000) / 1000
	}
	return short
}

// errFrame is returned for bytes that are no frame.
var errFrame = errors.New("a map whose fields contradict one another; only the world may publish on this channel")

// Decode returns a frame with its layout. Before is that of the frame before; nil: there was none.
func Decode(b []byte, before *Layout) (*Frame, error) {
	f := &Frame{}
	if err := json.Unmarshal(b, f); err != nil {
		return nil, fmt.Errorf("a map that cannot be read: %w; only the world may publish on this channel", err)
	}
	if f.Layout == nil {
		f.Layout = before
	}
	if f.Layout == nil || !f.fits() {
		return nil, errFrame
	}
	return f, nil
}

// fits reports whether all indexes are those of the layout, and all numbers can be drawn.
func (f *Frame) fits() bool {
	owners, bodies := len(f.Layout.Owners), len(f.Layout.Bodies)
	if len(f.X) != bodies || len(f.Y) != bodies || len(f.Owner) != bodies || len(f.Group) != bodies {
		return false
	}
	for i := range bodies {
		if !drawn(f.X[i]) || !drawn(f.Y[i]) || !in(f.Owner[i]+1, owners+1) || !in(f.Group[i], bodies+1) || !drawn(f.Layout.Bodies[i].Size[:]...) {
			return false
		}
	}
	for i := range f.Layout.Levels {
		l := &f.Layout.Levels[i]
		if !drawn(l.Inner[:]...) || !drawn(l.Outer[:]...) {
			return false
		}
	}
	return !slices.ContainsFunc(f.Loaded, func(l Loaded) bool { return !in(l.Level, len(f.Layout.Levels)) || !in(l.Owner, owners) }) &&
		!slices.ContainsFunc(f.Copies, func(c Copy) bool { return !in(c.Body, bodies) || !in(c.Owner, owners) })
}

func in(i, n int) bool { return i >= 0 && i < n }

// drawn reports whether numbers of metres can be drawn: farther away is no world.
func drawn(all ...float64) bool {
	return !slices.ContainsFunc(all, func(x float64) bool { return !(math.Abs(x) <= 1e12) })
}

func (b Box) with(c Box) Box {
	return Box{min(b[0], c[0]), min(b[1], c[1]), max(b[2], c[2]), max(b[3], c[3])}
}

// Words says in a sentence what a frame shows.
func (f *Frame) Words() string {
	performers, groups := 0, 0
	for i := range f.Layout.Bodies {
		if f.Layout.Bodies[i].Performer {
			performers++
		}
	}
	for _, g := range f.Group {
		groups = max(groups, g)
	}
	return fmt.Sprintf("%d of %s loaded; %s in motion, %d of them performers; %s", len(f.Loaded), count(len(f.Layout.Levels), "level"),
		count(len(f.Layout.Bodies), "model"), performers, count(groups, "merged group"))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
