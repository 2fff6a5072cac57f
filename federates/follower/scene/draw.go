package scene

import (
	"image"
	"image/color"
)

// Draw draws what the scene looks like in a part of the picture.
func (s *Scene) Draw(part image.Rectangle) *image.RGBA {
	m := image.NewRGBA(part)
	for y := part.Min.Y; y < part.Max.Y; y++ {
		shade := color.RGBA{uint8(12 + y/24), uint8(16 + y/16), uint8(34 + y/8), 255}
		for x := part.Min.X; x < part.Max.X; x++ {
			m.SetRGBA(x, y, shade)
		}
	}
	thread := color.RGBA{236, 206, 130, 255}
	for i := range s.cloth {
		if i%columns+1 < columns {
			line(m, s.cloth[i], s.cloth[i+1], thread)
		}
		if i+columns < len(s.cloth) {
			line(m, s.cloth[i], s.cloth[i+columns], thread)
		}
	}
	for i := range s.cloth {
		disc(m, s.cloth[i], 3, color.RGBA{250, 236, 200, 255})
	}
	for i := range s.fluid {
		disc(m, s.fluid[i], int64(2+i%4), color.RGBA{uint8(60 + i*97%80), uint8(150 + i*53%90), 255, 255})
	}
	return m
}

// disc draws a disc of this radius, in pixels.
func disc(m *image.RGBA, at point, radius int64, c color.RGBA) {
	x, y := at.X/unit, at.Y/unit
	for dy := -radius; dy <= radius; dy++ {
		for dx := -radius; dx <= radius; dx++ {
			if dx*dx+dy*dy <= radius*radius {
				m.SetRGBA(int(x+dx), int(y+dy), c) // what is outside of the part is left out
			}
		}
	}
}

// line draws a line of two pixels' width.
func line(m *image.RGBA, a, b point, c color.RGBA) {
	steps := max(abs(b.X-a.X), abs(b.Y-a.Y))/unit + 1
	for i := range steps + 1 {
		x, y := int((a.X+(b.X-a.X)*i/steps)/unit), int((a.Y+(b.Y-a.Y)*i/steps)/unit)
		m.SetRGBA(x, y, c)
		m.SetRGBA(x+1, y, c)
		m.SetRGBA(x, y+1, c)
	}
}

func abs(n int64) int64 { return max(n, -n) }
