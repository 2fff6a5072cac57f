package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// A chart draws points in braille: each character is a cell of 2 by 4 dots.
type chart struct {
	width, height int     // in characters
	limit         float64 // what is beyond ±limit is drawn at the edge
	cells         [][]rune
}

const (
	dotsAcross, dotsDown = 2, 4
	blank                = '\u2800'
)

// dotBits are the bits of a braille character, by row and column of the dot.
var dotBits = [dotsDown][dotsAcross]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func newChart(width, height int, limit float64) *chart {
	c := &chart{width: width, height: height, limit: limit, cells: make([][]rune, height)}
	for i := range c.cells {
		c.cells[i] = []rune(strings.Repeat(string(blank), width))
	}
	return c
}

// add draws the point (x, y), x in [0, 1).
func (c *chart) add(x, y float64) {
	across, down := c.width*dotsAcross, c.height*dotsDown
	column := min(max(int(x*float64(across)), 0), across-1)
	row := min(max(int(math.Round((1-y/c.limit)/2*float64(down-1))), 0), down-1)
	c.cells[row/dotsDown][column/dotsAcross] |= dotBits[row%dotsDown][column%dotsAcross]
}

// draw writes the chart with a title above and the meaning of the other axis below. A line of small dots is zero.
func (c *chart) draw(w io.Writer, title, below string) {
	fmt.Fprintf(w, "  %s\n", title)
	for i, cells := range c.cells {
		label := "      "
		switch i {
		case 0:
			label = fmt.Sprintf("%+6g", c.limit)
		case c.height / 2:
			label = "     0"
		case c.height - 1:
			label = fmt.Sprintf("%+6g", -c.limit)
		}
		line := string(cells)
		if i == c.height/2 {
			line = strings.ReplaceAll(line, string(blank), "·")
		}
		fmt.Fprintf(w, "%s │%s\n", label, strings.TrimRight(strings.ReplaceAll(line, string(blank), " "), " "))
	}
	fmt.Fprintf(w, "       └%s\n        %s\n", strings.Repeat("─", c.width), below)
}
