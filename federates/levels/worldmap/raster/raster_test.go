package raster

import (
	"image"
	"image/color"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sheetOfTest = `.map { --paper: #ffffff; --ink: #102030; --o0: #ff0000; }
@media (prefers-color-scheme: dark) {
  .map { --paper: #000000; }
}
.map text { font: 16px serif; fill: var(--ink); }
.map .paper { fill: var(--paper); }
.map .line { fill: none; stroke: var(--o); stroke-width: 4; }
.map .dashes { fill: none; stroke: var(--ink); stroke-width: 2; stroke-dasharray: 6 4; }
.map .half { fill: var(--o); fill-opacity: .5; }
.map .around { text-anchor: middle; paint-order: stroke; stroke: #00ff00; stroke-width: 4; }
.map .o0 { --o: var(--o0); }
`

func painted(t *testing.T, inside string) *image.RGBA {
	t.Helper()
	p, err := New(sheetOfTest)
	require.NoError(t, err)
	m, err := p.Paint(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 60"><style>` + sheetOfTest + `</style><rect class="paper" width="100%" height="100%"/>` + inside + `</svg>`)
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, 100, 60), m.Rect)
	return m
}

var white, red, pink, ink = color.RGBA{255, 255, 255, 255}, color.RGBA{255, 0, 0, 255}, color.RGBA{255, 127, 127, 255}, color.RGBA{0x10, 0x20, 0x30, 255}

// Shapes are where their numbers say, in the colours that their classes have on light screens.
func TestShapes(t *testing.T) {
	m := painted(t, `<rect class="half o0" x="10" y="10" width="20" height="20"><title>one</title></rect>
<polyline class="line o0" points="50,10 80,10 80,40"/><circle class="half o0" cx="20" cy="45" r="10"/>`)
	for _, c := range []struct {
		x, y int
		want color.RGBA
	}{{5, 5, white}, {11, 11, pink}, {29, 29, pink}, {31, 31, white}, // a box
		{60, 8, red}, {60, 11, red}, {60, 13, white}, {60, 6, white}, {80, 30, red}, {70, 30, white}, // a line, which is not filled
		{20, 45, pink}, {28, 45, pink}, {28, 53, white}} {
		assert.Equal(t, c.want, m.RGBAAt(c.x, c.y), "at %d, %d", c.x, c.y)
	}
}

// Dashes go on around a corner.
func TestDashes(t *testing.T) {
	m := painted(t, `<rect class="dashes" x="10" y="10" width="45" height="20"/>`)
	for x := 10; x < 54; x++ { // the middles of pixels
		want := white
		if (x-10)%10 < 6 {
			want = ink
		}
		assert.Equal(t, want, m.RGBAAt(x, 10), "x %d", x)
	}
	assert.Equal(t, ink, m.RGBAAt(55, 10), "a dash of 6 has 1 left at the corner of 45")
	assert.Equal(t, white, m.RGBAAt(55, 13))
	assert.Equal(t, ink, m.RGBAAt(55, 17))
}

// Words have their ink, and what is around them stands out.
func TestWords(t *testing.T) {
	count := func(m *image.RGBA, c color.RGBA, part image.Rectangle) (n int) {
		for y := part.Min.Y; y < part.Max.Y; y++ {
			for x := part.Min.X; x < part.Max.X; x++ {
				if m.RGBAAt(x, y) == c {
					n++
				}
			}
		}
		return n
	}
	m := painted(t, `<text x="10" y="30">HH</text>`)
	assert.Zero(t, count(m, ink, image.Rect(0, 0, 9, 60)), "they begin at their place")
	assert.Greater(t, count(m, ink, image.Rect(10, 15, 40, 31)), 15)
	m = painted(t, `<text class="around" x="50" y="30">HHHH</text>`)
	assert.Greater(t, count(m, ink, image.Rect(20, 15, 48, 31)), 15, "it is in the middle")
	assert.Greater(t, count(m, ink, image.Rect(52, 15, 80, 31)), 15)
	assert.Greater(t, count(m, color.RGBA{0, 255, 0, 255}, m.Rect), 100)
}

// The picture of the docs has a picture, and what cannot be painted is said.
func TestDrawings(t *testing.T) {
	style, err := os.ReadFile("../map.css")
	require.NoError(t, err)
	p, err := New(string(style))
	require.NoError(t, err)
	yard, err := os.ReadFile("../../../../docs/yard.svg")
	require.NoError(t, err)
	m, err := p.Paint(string(yard))
	require.NoError(t, err)
	colours := map[color.RGBA]bool{}
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			colours[m.RGBAAt(x, y)] = true
		}
	}
	assert.True(t, colours[color.RGBA{0x1f, 0x66, 0xd0, 255}] && colours[color.RGBA{0xc2, 0x41, 0x0c, 255}], "both owners")
	for svg, want := range map[string]string{
		`<svg viewBox="0 0 9 9"><ellipse/></svg>`: "has an element <ellipse>, which this metasim cannot paint",
		`<rect/>`:                         "no viewBox",
		`<svg viewBox="0 0 9 99999999"/>`: "no viewBox of a size that can be painted",
		`<svg viewBox="0 0 9 9"><rect`:    "cannot be read",
		``:                                "cannot be read",
	} {
		_, err := p.Paint(svg)
		assert.ErrorContains(t, err, want, svg)
	}
}
