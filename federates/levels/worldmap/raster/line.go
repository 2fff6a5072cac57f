package raster

import (
	"math"
	"strconv"
	"strings"
)

type point struct{ x, y float64 }

func (p point) distance(q point) float64 { return math.Hypot(p.x-q.x, p.y-q.y) }

// circle returns the corners of a polygon that is a circle to the eye.
func circle(centre point, radius float64) []point {
	n := 8 + int(radius)
	all := make([]point, n)
	for i := range all {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		all[i] = point{centre.x + radius*cos, centre.y + radius*sin}
	}
	return all
}

// points reads those of a polyline.
func points(text string) (all []point) {
	for _, pair := range strings.Fields(text) {
		x, y, _ := strings.Cut(pair, ",")
		px, errX := strconv.ParseFloat(x, 64)
		if py, errY := strconv.ParseFloat(y, 64); errX == nil && errY == nil {
			all = append(all, point{px, py})
		}
	}
	return all
}

// dashed cuts a line into its dashes.
func dashed(line []point, l look) (parts [][]point) {
	dash, gap := l.dashes()
	if dash <= 0 || gap <= 0 || len(line) == 0 {
		return [][]point{line}
	}
	part, on, left := []point{line[0]}, true, dash
	for i := 1; i < len(line); i++ {
		for a, b := line[i-1], line[i]; ; {
			length := a.distance(b)
			if length <= left {
				left -= length
				part = append(part, b)
				break
			}
			a = point{a.x + (b.x-a.x)*left/length, a.y + (b.y-a.y)*left/length}
			if part = append(part, a); on {
				parts = append(parts, part)
			}
			if part, on, left = []point{a}, !on, gap; on {
				left = dash
			}
		}
	}
	if on {
		parts = append(parts, part)
	}
	return parts
}
