package world

import "metasim/federates/spatial"

// A symmetric matrix is its xx, xy, xz, yy, yz, zz.
type symmetric = [6]float64

func (m Mass) moments() symmetric { return symmetric{m.IXX, m.IXY, m.IXZ, m.IYY, m.IYZ, m.IZZ} }

func times(m symmetric, v spatial.Vector) spatial.Vector {
	return spatial.Vector{
		X: float64(m[0]*v.X) + float64(m[1]*v.Y) + float64(m[2]*v.Z),
		Y: float64(m[1]*v.X) + float64(m[3]*v.Y) + float64(m[4]*v.Z),
		Z: float64(m[2]*v.X) + float64(m[4]*v.Y) + float64(m[5]*v.Z),
	}
}

// inverse returns the inverse; false if there is none, or none of a body.
func inverse(m symmetric) (symmetric, bool) {
	a := float64(m[3]*m[5]) - float64(m[4]*m[4])
	b := float64(m[2]*m[4]) - float64(m[1]*m[5])
	c := float64(m[1]*m[4]) - float64(m[2]*m[3])
	det := float64(m[0]*a) + float64(m[1]*b) + float64(m[2]*c)
	if !(det > 0) || !(m[0] > 0) {
		return symmetric{}, false
	}
	return symmetric{a / det, b / det, c / det,
		(float64(m[0]*m[5]) - float64(m[2]*m[2])) / det, (float64(m[1]*m[2]) - float64(m[0]*m[4])) / det,
		(float64(m[0]*m[3]) - float64(m[1]*m[1])) / det}, true
}

// turned returns R m R', the matrix of a body that is turned by R.
func turned(m symmetric, r spatial.Rotation) symmetric {
	x, y, z := r.Rotate(spatial.Vector{X: 1}), r.Rotate(spatial.Vector{Y: 1}), r.Rotate(spatial.Vector{Z: 1})
	// The rows of R are the components of the turned axes.
	rows := [3]spatial.Vector{{X: x.X, Y: y.X, Z: z.X}, {X: x.Y, Y: y.Y, Z: z.Y}, {X: x.Z, Y: y.Z, Z: z.Z}}
	entry := func(i, j int) float64 { return rows[i].Dot(times(m, rows[j])) }
	return symmetric{entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)}
}
