package worldmap

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// frames draws frames of one world, whatever its names are.
func frames(t *rapid.T) (all []*Frame) {
	names := rapid.SliceOfNDistinct(rapid.String(), 1, 5, rapid.ID)
	number := rapid.Float64Range(-1e6, 1e6)
	l := &Layout{World: rapid.String().Draw(t, "world"), Owners: names.Draw(t, "owners"), Levels: []Level{}}
	for _, name := range names.Draw(t, "levels") {
		x, y, size := number.Draw(t, "x"), number.Draw(t, "y"), rapid.Float64Range(0, 1e3).Draw(t, "size")
		l.Levels = append(l.Levels, Level{name, Box{x, y, x + size, y + size}, Box{x - 1, y - 1, x + size + 1, y + size + 1}})
	}
	for _, name := range names.Draw(t, "bodies") {
		l.Bodies = append(l.Bodies, Body{Name: name, Performer: rapid.Bool().Draw(t, "performer"), Size: [2]float64{2, 1}})
	}
	below := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "index") }
	for i := range rapid.IntRange(1, 5).Draw(t, "frames") {
		f := &Frame{Layout: l, Time: metasim.Time(i) * metasim.Second, Iteration: uint64(i), Loaded: []Loaded{{below(len(l.Levels)), below(len(l.Owners))}},
			Copies: []Copy{{below(len(l.Bodies)), below(len(l.Owners))}}}
		for range l.Bodies {
			f.X, f.Y = append(f.X, float64(rapid.Int16().Draw(t, "at"))), append(f.Y, float64(rapid.Int16().Draw(t, "at"))/8)
			f.Owner, f.Group = append(f.Owner, below(len(l.Owners)+1)-1), append(f.Group, below(2))
		}
		all = append(all, f)
	}
	return all
}

// Frames arrive as they were sent, and a layout travels once.
func TestFramesTravel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent, came *Layout
		for i, f := range frames(t) {
			b, err := Encode(f, sent)
			require.NoError(t, err)
			require.Equal(t, i == 0, strings.Contains(string(b), `"layout"`))
			got, err := Decode(b, came)
			require.NoError(t, err)
			require.Equal(t, f, got)
			sent, came = f.Layout, got.Layout
		}
	})
}

// What is no map is refused, and nothing of it is drawn.
func TestWrongFrames(t *testing.T) {
	layout := &Layout{Owners: []string{"a"}, Levels: []Level{{}}, Bodies: []Body{{}}}
	good := `{"time_ns":1,"iteration":1,"loaded":[{"level":0,"owner":0}],"x":[1],"y":[1],"owner":[0],"group":[1],"copies":[{"body":0,"owner":0}]}`
	_, err := Decode([]byte(good), layout)
	require.NoError(t, err)
	for _, change := range [][2]string{{`"x":[1]`, `"x":[]`}, {`"y":[1]`, `"y":[1,2]`}, {`"owner":[0]`, `"owner":[1]`}, {`"owner":[0]`, `"owner":[-2]`}, {`"group":[1]`, `"group":[2]`},
		{`"level":0`, `"level":1`}, {`"body":0`, `"body":-1`}, {`"x":[1]`, `"x":[1e13]`}, {`"loaded":[{"level":0,"owner":0}]`, `"loaded":[{"level":0,"owner":1}]`}} {
		_, err := Decode([]byte(strings.Replace(good, change[0], change[1], 1)), layout)
		assert.ErrorIs(t, err, errFrame, change)
	}
	_, err = Decode([]byte(good), nil)
	assert.ErrorIs(t, err, errFrame, "without a layout")
	_, err = Decode([]byte("["), layout)
	assert.ErrorContains(t, err, "only the world may publish on this channel")
}

func FuzzDecode(f *testing.F) {
	layout := &Layout{Owners: []string{"a"}, Levels: []Level{{}}, Bodies: []Body{{}}}
	f.Add([]byte(`{"x":[1],"y":[1],"owner":[0],"group":[0]}`))
	f.Add([]byte(`{"layout":{"owners":["a"],"levels":[{"inner":[0,0,1e400,1]}],"bodies":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if frame, err := Decode(b, layout); err == nil {
			var d Drawing
			d.Include(frame)
			wellFormed(t, d.SVG([]*Frame{frame}, true))
		}
	})
}

// wellFormed reads a drawing, and counts its elements by their class.
func wellFormed(t require.TestingT, svg string) map[string]int {
	classes := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return classes
		}
		require.NoError(t, err, svg)
		if e, is := token.(xml.StartElement); is {
			for _, a := range e.Attr {
				require.NotContains(t, a.Value, "NaN")
				require.NotContains(t, a.Value, "Inf")
				if a.Name.Local == "class" {
					classes[strings.Fields(a.Value)[0]]++
				}
			}
		}
	}
}

// Whatever names are, a drawing is XML, and everything is in it once. All that is drawn is inside.
func TestDrawings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := frames(t)
		var d Drawing
		for _, f := range all {
			d.Include(f)
		}
		f := all[len(all)-1]
		performers := 0
		for i := range f.Layout.Bodies {
			if x, y := d.at(f.X[i], f.Y[i]); true {
				require.InDelta(t, margin+width/2, x, width/2+1e-6)
				require.InDelta(t, margin+headHeight+d.height/2, y, d.height/2+1e-6)
			}
			if f.Layout.Bodies[i].Performer {
				performers++
			}
		}
		got := wellFormed(t, d.SVG(all, true))
		require.Equal(t, len(f.Layout.Levels)+1, got["level"], "with the legend")
		require.Equal(t, len(f.Layout.Levels)+1, got["buffer"])
		require.Equal(t, performers+len(f.Layout.Owners), got["body"])
		require.Equal(t, len(f.Layout.Bodies), got["centre"])
		require.Equal(t, 2, got["loaded"])
		require.Equal(t, 2, got["copy"])
	})
}

// north is up, and a metre is as long to the east as to the north.
func TestNorthIsUp(t *testing.T) {
	l := &Layout{Owners: []string{"a"}, Levels: []Level{{"l", Box{0, 0, 10, 20}, Box{0, 0, 10, 20}}}, Bodies: []Body{}}
	var d Drawing
	d.Include(&Frame{Layout: l})
	x, y := d.at(5, 10)
	east, level := d.at(6, 10)
	above, north := d.at(5, 11)
	assert.Equal(t, [2]float64{x, y}, [2]float64{above, level})
	assert.Equal(t, 48.0, east-x)
	assert.Equal(t, 48.0, y-north)
}

// A trail is where a body was, found by its name where the layout has changed meanwhile.
func TestTrails(t *testing.T) {
	at := func(bodies []Body, x ...float64) *Frame {
		return &Frame{Layout: &Layout{World: "w", Owners: []string{"a"}, Bodies: bodies}, X: x, Y: make([]float64, len(x)), Owner: make([]int, len(x)), Group: make([]int, len(x))}
	}
	robot, other := Body{Name: "robot"}, Body{Name: "other"}
	all := []*Frame{at([]Body{other}, 5), at([]Body{robot, other}, 0, 5), at([]Body{other, robot}, 5, 1), at([]Body{robot}, 3)}
	var d Drawing
	for i, f := range all {
		f.Iteration = uint64(i)
		d.Include(f)
	}
	svg := d.SVG(all, false)
	require.Equal(t, 1, strings.Count(svg, "<polyline"))
	var points []string
	for _, x := range []float64{0, 1, 3} {
		px, py := d.at(x, 0)
		points = append(points, fmt.Sprintf("%.1f,%.1f", px, py))
	}
	require.Contains(t, svg, `points="`+strings.Join(points, " ")+`"`)
	require.NotContains(t, d.SVG(all[:1], false), "<polyline", "it has not moved")
	all[3].Iteration = 1
	require.NotContains(t, d.SVG(all, false), "<polyline", "the world was reset")
}

// Merged models have a circle around all of them.
func TestGroups(t *testing.T) {
	f := &Frame{Layout: &Layout{Owners: []string{"a", "b"}, Bodies: []Body{{Name: "p"}, {Name: "q"}, {Name: "r"}}}, X: []float64{0, 1, 7}, Y: []float64{0, 0, 0}, Owner: []int{0, 0, -1}, Group: []int{1, 1, 0}}
	var d Drawing
	d.Include(f)
	svg := d.SVG([]*Frame{f}, false)
	require.Contains(t, svg, "merged: p, q<")
	require.Contains(t, svg, "q, moved by a, merged<")
	require.Contains(t, svg, "<title>r</title>")
	require.Contains(t, f.Words(), "1 merged group")
}

// Worlds without anything, at one point, or very far away are drawn too.
func TestOddWorlds(t *testing.T) {
	for _, l := range []*Layout{{}, {Levels: []Level{{}}}, {Levels: []Level{{"far", Box{1e12, 1e12, 1e12, 1e12}, Box{-1e12, -1e12, 1e12, 1e12}}}},
		{Levels: []Level{{"long", Box{0, 0, 1e9, 1e-9}, Box{0, 0, 1e9, 1e-9}}}}} {
		var d Drawing
		f := &Frame{Layout: l}
		d.Include(f)
		wellFormed(t, d.SVG([]*Frame{f}, true))
		require.False(t, math.IsNaN(d.scale) || math.IsInf(d.scale, 0))
	}
}
