package worldmap

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Style colours drawings, for light and for dark screens. A drawing that stands alone has it inside.
//
//go:embed map.css
var Style string

const (
	width      = 960.0 // of the drawing of the world, in pixels
	leastSide  = 240.0
	mostSide   = 960.0
	margin     = 24.0
	headHeight = 34.0
	keyHeight  = 22.0
	least      = 1e-3 // of an extent, in metres
	// TrailFrames is how many frames before one show where its bodies came from.
	TrailFrames = 40
	// mostNamed is how many levels, or bodies, have their names beside them.
	mostNamed = 40
	// mostTrails is how many bodies have trails.
	mostTrails = 200
	// hues is how many owners have a colour of their own; the colours then begin anew.
	hues = 8
)

// A Drawing is the scale of drawings that belong together.
type Drawing struct {
	extent   Box
	scale    float64 // pixels a metre
	height   float64 // of the world, in pixels
	rows     int     // of the legend
	included bool
}

// Include makes room for a frame. The scale is the same for all drawings once all their frames are included.
func (d *Drawing) Include(f *Frame) {
	l := f.Layout
	add := func(b Box) {
		if !d.included {
			d.extent, d.included = b, true
		}
		d.extent = d.extent.with(b)
	}
	for i := range l.Levels {
		add(l.Levels[i].Outer)
	}
	for i := range f.X {
		w, h := l.Bodies[i].Size[0]/2, l.Bodies[i].Size[1]/2
		add(Box{f.X[i] - w, f.Y[i] - h, f.X[i] + w, f.Y[i] + h})
	}
	w, h := max(d.extent[2]-d.extent[0], least), max(d.extent[3]-d.extent[1], least)
	d.scale = min(width/w, mostSide/h)
	d.height = max(h*d.scale, leastSide)
	d.rows = max(d.rows, 1+(len(l.Owners)+keyColumns-1)/keyColumns)
}

// at returns where a point of the world is drawn. The y axis of the world points up.
func (d *Drawing) at(x, y float64) (px, py float64) {
	middleX, middleY := (d.extent[0]+d.extent[2])/2, (d.extent[1]+d.extent[3])/2
	return margin + width/2 + float64((x-middleX)*d.scale), margin + headHeight + d.height/2 - float64((y-middleY)*d.scale)
}

// SVG draws the last of some frames; those before it are the trails of its bodies. alone: the drawing has its style inside, and needs no page.
func (d *Drawing) SVG(frames []*Frame, alone bool) string {
	f := frames[len(frames)-1]
	var b strings.Builder
	d.open(&b, f.Layout, alone)
	d.fixed(&b, f.Layout)
	b.WriteString("<g>\n")
	d.now(&b, frames)
	b.WriteString("</g>\n")
	b.WriteString("</svg>\n")
	return b.String()
}

func (d *Drawing) open(b *strings.Builder, l *Layout, alone bool) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="map" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`+"\n",
		width+2*margin, d.keyTop()+keyHeight*float64(d.rows), escaped("the world "+l.World+" from above"))
	if alone {
		fmt.Fprintf(b, "<style>\n%s</style>\n", Style)
	}
	b.WriteString(`<rect class="paper" width="100%" height="100%"/>` + "\n")
}

// fixed draws what no frame changes: the boxes of levels.
func (d *Drawing) fixed(b *strings.Builder, l *Layout) {
	for i := range l.Levels {
		level := &l.Levels[i]
		d.box(b, level.Outer, "buffer", level.Name+", with its buffer")
		d.box(b, level.Inner, "level", level.Name)
		if len(l.Levels) <= mostNamed {
			x, y := d.at(level.Inner[0], level.Inner[3])
			fmt.Fprintf(b, `<text class="name" x="%.1f" y="%.1f">%s</text>`+"\n", x+6, y+16, escaped(level.Name))
		}
	}
}

func (d *Drawing) box(b *strings.Builder, box Box, class, title string) {
	x, y := d.at(box[0], box[3])
	fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`+"\n", class, x, y,
		max((box[2]-box[0])*d.scale, 1), max((box[3]-box[1])*d.scale, 1), escaped(title))
}

// now draws what the last of some frames shows.
func (d *Drawing) now(b *strings.Builder, frames []*Frame) {
	f := frames[len(frames)-1]
	l := f.Layout
	fmt.Fprintf(b, `<text class="head" x="%.0f" y="%.0f">%s</text><text class="words" x="%.0f" y="%.0f">%s</text>`+"\n", margin, margin,
		escaped(f.Instant()), margin, margin+18, escaped(f.Words()))
	for _, loaded := range f.Loaded {
		level := &l.Levels[loaded.Level]
		d.box(b, level.Inner, "loaded "+hue(loaded.Owner), level.Name+" is loaded, at "+l.Owners[loaded.Owner])
	}
	d.trails(b, frames)
	d.groups(b, f)
	for _, c := range f.Copies {
		x, y := d.at(f.X[c.Body], f.Y[c.Body])
		fmt.Fprintf(b, `<circle class="copy %s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`+"\n", hue(c.Owner), x, y, d.reach(l, c.Body)+4,
			escaped(l.Owners[c.Owner]+" has a copy of "+l.Bodies[c.Body].Name))
	}
	for i := range l.Bodies {
		d.body(b, f, i)
	}
	d.key(b, l)
}

// body draws a model that moves: a performer as its box with its centre, another one as a dot.
func (d *Drawing) body(b *strings.Builder, f *Frame, i int) {
	l := f.Layout
	body := &l.Bodies[i]
	x, y := d.at(f.X[i], f.Y[i])
	title := body.Name
	if f.Owner[i] >= 0 {
		title += ", moved by " + l.Owners[f.Owner[i]]
	}
	if f.Group[i] > 0 {
		title += ", merged"
	}
	if !body.Performer {
		fmt.Fprintf(b, `<circle class="centre %s" cx="%.1f" cy="%.1f" r="3"><title>%s</title></circle>`+"\n", hue(f.Owner[i]), x, y, escaped(title))
		return
	}
	w, h := max(body.Size[0]*d.scale, 4), max(body.Size[1]*d.scale, 4)
	fmt.Fprintf(b, `<rect class="body %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`+"\n", hue(f.Owner[i]), x-w/2, y-h/2, w, h, escaped(title))
	fmt.Fprintf(b, `<circle class="centre %s" cx="%.1f" cy="%.1f" r="2.5"/>`+"\n", hue(f.Owner[i]), x, y)
	if len(l.Bodies) <= mostNamed {
		fmt.Fprintf(b, `<text class="who" x="%.1f" y="%.1f">%s</text>`+"\n", x, y-h/2-4, escaped(body.Name))
	}
}

// reach is the radius of a circle around a body, in pixels.
func (d *Drawing) reach(l *Layout, body int) float64 {
	if !l.Bodies[body].Performer {
		return 3
	}
	return max(math.Hypot(l.Bodies[body].Size[0], l.Bodies[body].Size[1])*d.scale/2, 3)
}

// trails draws where bodies came from.
func (d *Drawing) trails(b *strings.Builder, frames []*Frame) {
	f := frames[len(frames)-1]
	first := len(frames) - 1
	for first > 0 && len(frames)-first <= TrailFrames && frames[first-1].Iteration < frames[first].Iteration { // a reset begins trails anew
		first--
	}
	frames = frames[first:]
	if len(f.Layout.Bodies) > mostTrails || len(frames) < 2 {
		return
	}
	for i := range f.Layout.Bodies {
		var points []string
		for _, g := range frames {
			if k := g.find(f.Layout, i); k >= 0 {
				x, y := d.at(g.X[k], g.Y[k])
				points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
			}
		}
		if points = slices.Compact(points); len(points) > 1 {
			fmt.Fprintf(b, `<polyline class="trail %s" points="%s"/>`+"\n", hue(f.Owner[i]), strings.Join(points, " "))
		}
	}
}

// find returns which body of a frame a body of a layout is; -1: none.
func (f *Frame) find(l *Layout, body int) int {
	if f.Layout == l {
		return body
	}
	for k := range f.Layout.Bodies {
		if f.Layout.Bodies[k].Name == l.Bodies[body].Name {
			return k
		}
	}
	return -1
}

// groups draws a circle around the bodies of each group.
func (d *Drawing) groups(b *strings.Builder, f *Frame) {
	boxes := make([]Box, len(f.Group)+1)
	names := make([]string, len(f.Group)+1)
	for i, g := range f.Group {
		if g == 0 {
			continue
		}
		x, y := d.at(f.X[i], f.Y[i])
		r := d.reach(f.Layout, i)
		if around := (Box{x - r, y - r, x + r, y + r}); names[g] == "" {
			boxes[g], names[g] = around, f.Layout.Bodies[i].Name
		} else {
			boxes[g], names[g] = boxes[g].with(around), names[g]+", "+f.Layout.Bodies[i].Name
		}
	}
	for g, box := range boxes {
		if names[g] != "" {
			fmt.Fprintf(b, `<circle class="group" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`+"\n", (box[0]+box[2])/2, (box[1]+box[3])/2,
				math.Hypot(box[2]-box[0], box[3]-box[1])/2+6, escaped("merged: "+names[g]))
		}
	}
}

// keyColumns is how many owners stand beside one another in the legend.
const keyColumns = 5

func (d *Drawing) keyTop() float64 { return margin + headHeight + d.height + margin }

// key draws the legend: the colours of the owners, then what the shapes mean.
func (d *Drawing) key(b *strings.Builder, l *Layout) {
	top := d.keyTop()
	text := func(x, y float64, s string) {
		fmt.Fprintf(b, `<text class="key" x="%.0f" y="%.0f">%s</text>`+"\n", x, y, escaped(s))
	}
	for i, owner := range l.Owners {
		x, y := margin+width/keyColumns*float64(i%keyColumns), top+keyHeight*float64(i/keyColumns)
		fmt.Fprintf(b, `<rect class="body %s" x="%.0f" y="%.0f" width="12" height="12"/>`, hue(i), x, y-10)
		text(x+18, y, owner)
	}
	y := top + keyHeight*float64(d.rows-1)
	step := width / keyColumns
	fmt.Fprintf(b, `<rect class="level" x="%.0f" y="%.0f" width="12" height="12"/><rect class="loaded none" x="%.0f" y="%.0f" width="12" height="12"/>`+
		`<rect class="buffer" x="%.0f" y="%.0f" width="12" height="12"/><circle class="group" cx="%.0f" cy="%.0f" r="6"/><circle class="copy none" cx="%.0f" cy="%.0f" r="6"/>`,
		margin, y-10, margin+step, y-10, margin+2*step, y-10, margin+3*step+6, y-4, margin+4*step+6, y-4)
	for i, s := range []string{"level", "level that is loaded", "buffer of a level", "merged models", "copy at another owner"} {
		text(margin+18+step*float64(i), y, s)
	}
}

// hue is the class of what belongs to an owner; -1: to nobody.
func hue(owner int) string {
	if owner < 0 {
		return "none"
	}
	return fmt.Sprintf("o%d", owner%hues)
}

// Instant says when a frame is.
func (f *Frame) Instant() string {
	return fmt.Sprintf("%.3f s, iteration %d", f.Time.Seconds(), f.Iteration)
}

// escaped writes a name into markup. What XML does not have becomes a replacement character.
func escaped(name string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(name)) // a builder takes all
	return b.String()
}
