package frames

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
)

// Compose puts the pictures of all nodes together, each where its stream says: the whole picture, as large as the streams together. The part of
// a node that has sent none is dark red.
func (w *Whole) Compose() (*image.RGBA, error) {
	var all image.Rectangle
	for i := range w.Parts {
		for _, s := range w.Parts[i].Streams {
			all = all.Union(s.Clip)
		}
	}
	m := image.NewRGBA(all)
	draw.Draw(m, all, image.NewUniform(color.RGBA{70, 0, 0, 255}), image.Point{}, draw.Src)
	for i := range w.Parts {
		p := &w.Parts[i]
		for k, picture := range p.Pictures {
			if k >= len(p.Streams) {
				break // of a node that was asked for none
			}
			part, err := png.Decode(bytes.NewReader(picture))
			if err != nil {
				return nil, fmt.Errorf("the picture of node %s in frame %d: %w", p.Node, w.Frame, err)
			}
			draw.Draw(m, p.Streams[k].Clip, part, part.Bounds().Min, draw.Src)
		}
	}
	return m, nil
}
