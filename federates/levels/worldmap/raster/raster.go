// Package raster makes pictures of the drawings of package worldmap: it knows the elements and the properties of style sheets that those have, and no others. A drawing is SVG and
// stays the one description of a map; a picture cannot show anything else.
package raster

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// mostSide bounds a picture, in pixels.
const mostSide = 1 << 14

// A Painter paints drawings of one style sheet.
type Painter struct {
	sheet *sheet
	font  *opentype.Font
	faces map[float64]font.Face // by size
}

// New returns a painter.
func New(style string) (*Painter, error) {
	f, err := opentype.Parse(goregular.TTF)
	return &Painter{sheet: parse(style), font: f, faces: map[float64]font.Face{}}, err
}

// Paint paints a drawing.
func (p *Painter) Paint(svg string) (*image.RGBA, error) {
	d := xml.NewDecoder(strings.NewReader(svg))
	c := canvas{painter: p}
	for {
		token, err := d.Token()
		if err == io.EOF && c.picture != nil {
			return c.picture, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the drawing cannot be read: %w", err)
		}
		if start, begins := token.(xml.StartElement); begins {
			if err := c.element(d, start); err != nil {
				return nil, err
			}
		}
	}
}

// A canvas is a picture that is being painted.
type canvas struct {
	painter *Painter
	picture *image.RGBA
	shapes  [][]point // that are painted at once
}

// An element knows its attributes and its look.
type element struct {
	attributes map[string]string
	look       look
}

func (e *element) number(name string) float64 {
	n, _ := strconv.ParseFloat(e.attributes[name], 64) // an attribute that is not there is 0
	return n
}

var errNoView = errors.New("the drawing has no viewBox of a size that can be painted")

// element paints an element. What is inside one that is painted is its title or its text.
func (c *canvas) element(d *xml.Decoder, start xml.StartElement) error {
	e := element{attributes: map[string]string{}}
	for _, a := range start.Attr {
		e.attributes[a.Name.Local] = a.Value
	}
	tag := start.Name.Local
	if tag != "svg" && c.picture == nil {
		return errNoView
	}
	e.look = c.painter.sheet.of(tag, strings.Fields(e.attributes["class"]))
	switch tag {
	case "svg":
		var x, y, w, h float64
		if _, err := fmt.Sscan(e.attributes["viewBox"], &x, &y, &w, &h); err != nil || !(w >= 1 && w <= mostSide && h >= 1 && h <= mostSide) {
			return errNoView
		}
		c.picture = image.NewRGBA(image.Rect(0, 0, int(math.Ceil(w)), int(math.Ceil(h))))
	case "g", "title", "style":
	case "rect":
		c.paint(&e, true, c.rectangle(&e))
	case "circle":
		c.paint(&e, true, circle(point{e.number("cx"), e.number("cy")}, e.number("r")))
	case "polyline":
		c.paint(&e, false, points(e.attributes["points"]))
	case "text":
		var text string
		if err := d.DecodeElement(&text, &start); err != nil {
			return err
		}
		return c.text(&e, text)
	default:
		return fmt.Errorf("the drawing has an element <%s>, which this metasim cannot paint: a mistake of metasim; teach package raster the element", tag)
	}
	return nil
}

func (c *canvas) rectangle(e *element) []point {
	x, y, w, h := e.number("x"), e.number("y"), e.number("width"), e.number("height")
	if e.attributes["width"] == "100%" {
		w, h = float64(c.picture.Rect.Dx()), float64(c.picture.Rect.Dy())
	}
	return []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}
}

// paint fills a shape, and draws its line.
func (c *canvas) paint(e *element, closed bool, shape []point) {
	if fill, fills := e.look.paint("fill"); fills {
		c.fill(fill, shape)
	}
	stroke, lines := e.look.paint("stroke")
	if !lines {
		return
	}
	if closed {
		shape = append(shape, shape[0])
	}
	width := e.look.number("stroke-width", 1)
	for _, part := range dashed(shape, e.look) {
		c.line(stroke, part, width)
	}
}

// fill fills a shape.
func (c *canvas) fill(with color.NRGBA, shape []point) {
	c.shapes = append(c.shapes, shape)
	c.finish(with)
}

// finish paints shapes: where they overlap, the colour is there once. All of them go round the same way.
func (c *canvas) finish(with color.NRGBA) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, shape := range c.shapes {
		for _, p := range shape {
			low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
		}
	}
	all := c.picture.Rect
	clamped := func(v float64, most int) int { return int(max(0, min(v, float64(most)))) }
	part := image.Rect(clamped(math.Floor(low.x), all.Max.X), clamped(math.Floor(low.y), all.Max.Y), clamped(math.Ceil(high.x), all.Max.X), clamped(math.Ceil(high.y), all.Max.Y))
	if !part.Empty() {
		r := vector.NewRasterizer(part.Dx(), part.Dy())
		for _, shape := range c.shapes {
			for i, p := range shape {
				if x, y := float32(p.x-float64(part.Min.X)), float32(p.y-float64(part.Min.Y)); i == 0 {
					r.MoveTo(x, y)
				} else {
					r.LineTo(x, y)
				}
			}
			r.ClosePath()
		}
		r.Draw(c.picture, part, image.NewUniform(with), image.Point{})
	}
	c.shapes = c.shapes[:0]
}

// line draws a line with round corners.
func (c *canvas) line(with color.NRGBA, points []point, width float64) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if length := a.distance(b); length > 0 {
			nx, ny := (b.y-a.y)/length*width/2, (a.x-b.x)/length*width/2
			c.shapes = append(c.shapes, []point{{a.x + nx, a.y + ny}, {b.x + nx, b.y + ny}, {b.x - nx, b.y - ny}, {a.x - nx, a.y - ny}})
		}
		if i+1 < len(points) {
			c.shapes = append(c.shapes, circle(b, width/2))
		}
	}
	c.finish(with)
}

// text writes words; on a background of their own where the look has a line around them.
func (c *canvas) text(e *element, words string) error {
	size := e.look.number("font-size", 13)
	face := c.painter.faces[size]
	if face == nil {
		var err error
		if face, err = opentype.NewFace(c.painter.font, &opentype.FaceOptions{Size: size, DPI: 72}); err != nil {
			return err
		}
		c.painter.faces[size] = face
	}
	x, y := e.number("x"), e.number("y")
	if e.look.get("text-anchor") == "middle" {
		x -= float64(font.MeasureString(face, words)) / 64 / 2
	}
	write := func(with color.NRGBA, dx, dy float64) {
		d := font.Drawer{Dst: c.picture, Src: image.NewUniform(with), Face: face, Dot: fixed.Point26_6{X: fixed.Int26_6(64 * (x + dx)), Y: fixed.Int26_6(64 * (y + dy))}}
		d.DrawString(words)
	}
	if around, has := e.look.paint("stroke"); has {
		half := e.look.number("stroke-width", 1) / 2
		for _, p := range circle(point{}, half) {
			write(around, p.x, p.y)
		}
	}
	if ink, has := e.look.paint("fill"); has {
		write(ink, 0, 0)
	}
	return nil
}
