package follower

import (
	"fmt"
	"image"

	"metasim/federates/catalog"
	"metasim/federates/follower/frames"
	"metasim/federates/spatial"
)

// viewsOf returns the streams of a director as they travel.
func viewsOf(in *catalog.Instance) (views []Stream, err error) {
	streams, _ := catalog.Find[[]catalog.Stream](in, "streams")
	for i := range streams {
		s := &streams[i]
		v := frames.Stream{Node: s.Node, Name: s.Name, Clip: image.Rectangle{Min: image.Pt(s.Clip[0], s.Clip[1]), Max: image.Pt(s.Clip[2], s.Clip[3])}}
		if v.Name == "" {
			v.Name = fmt.Sprintf("%s %d", s.Node, i)
		}
		if v.Camera.Of = s.Camera; s.Camera == "" {
			r := spatial.FromEuler(s.Pose[3], s.Pose[4], s.Pose[5])
			v.Camera = Camera{Position: [3]float64(s.Pose[:3]), Rotation: [4]float64{r.W, r.X, r.Y, r.Z}, FOV: s.FOV, Near: s.Near, Far: s.Far,
				Width: uint32(s.Size[0]), Height: uint32(s.Size[1])}
		}
		if wrong := v.Wrong(); wrong != "" {
			return nil, fmt.Errorf("stream %d of the director, for node %s, %s; write clip: [left, top, right, bottom] in pixels, and what is there of fov, near, far and size", i+1, s.Node, wrong)
		}
		views = append(views, v)
	}
	return views, nil
}
