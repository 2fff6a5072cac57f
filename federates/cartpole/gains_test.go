package cartpole

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// matrix is a dense matrix by rows; enough of linear algebra to solve a Riccati equation of order 4 by iteration.
type matrix [][]float64

func (a matrix) times(b matrix) matrix {
	c := make(matrix, len(a))
	for i := range c {
		c[i] = make([]float64, len(b[0]))
		for j := range c[i] {
			for k := range b {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return c
}

func (a matrix) plus(b matrix, scale float64) matrix {
	c := make(matrix, len(a))
	for i := range c {
		c[i] = make([]float64, len(a[i]))
		for j := range c[i] {
			c[i][j] = a[i][j] + scale*b[i][j]
		}
	}
	return c
}

func (a matrix) transposed() matrix {
	c := make(matrix, len(a[0]))
	for i := range c {
		for j := range a {
			c[i] = append(c[i], a[j][i])
		}
	}
	return c
}

// inverse is Gauss and Jordan's, for the small positive definite matrices here.
func (a matrix) inverse() matrix {
	n := len(a)
	w := make(matrix, n)
	for i := range w {
		w[i] = append(append([]float64{}, a[i]...), make([]float64, n)...)
		w[i][n+i] = 1
	}
	for i := range w {
		pivot := w[i][i]
		for j := range w[i] {
			w[i][j] /= pivot
		}
		for k := range w {
			if k == i {
				continue
			}
			f := w[k][i]
			for j := range w[k] {
				w[k][j] -= f * w[i][j]
			}
		}
	}
	for i := range w {
		w[i] = w[i][n:]
	}
	return w
}

func diagonal(d ...float64) matrix {
	m := make(matrix, len(d))
	for i := range m {
		m[i] = make([]float64, len(d))
		m[i][i] = d[i]
	}
	return m
}

// linear is the plant about the upright pole, held for h seconds: next = a*state + b*force, by central differences of
// Step.
func linear(h float64) (a, b matrix) {
	const d = 1e-5
	unit := []plantState{{X: d}, {V: d}, {Angle: d}, {Rate: d}}
	a, b = diagonal(0, 0, 0, 0), matrix{{0}, {0}, {0}, {0}}
	for j, u := range unit {
		plus := u.Step(0, h).list()
		minus := plantState{-u.X, -u.V, -u.Angle, -u.Rate}.Step(0, h).list()
		for i := range a {
			a[i][j] = (plus[i] - minus[i]) / (2 * d)
		}
	}
	plus, minus := plantState{}.Step(d, h), plantState{}.Step(-d, h)
	for i := range b {
		b[i][0] = (plus.list()[i] - minus.list()[i]) / (2 * d)
	}
	return a, b
}

func (s plantState) list() []float64 { return []float64{s.X, s.V, s.Angle, s.Rate} }

// riccati iterates p = q + a'pa - a'pb (r + b'pb)^-1 b'pa until it stands, and returns (r + b'pb)^-1 b'pa: the gain of
// the regulator, and, of the transposed system, that of the predicting Kalman filter.
func riccati(a, b, q, r matrix) matrix {
	p := q
	var gain matrix
	for range 20000 {
		pa, pb := p.times(a), p.times(b)
		gain = r.plus(b.transposed().times(pb), 1).inverse().times(b.transposed().times(pa))
		p = q.plus(a.transposed().times(pa), 1).plus(a.transposed().times(pb).times(gain), -1)
	}
	return gain
}

// lqr weighs a metre from the middle like 0.18 radians of tilt, and either like some newtons.
func lqr() []float64 {
	a, b := linear(0.010)
	return riccati(a, b, diagonal(1, 1, 30, 1), matrix{{0.05}})[0]
}

// kalman assumes the sensors' noise, and that what the model does not know pushes the cart with about 1 N and the pole
// with about 1 rad/s^2, anew every 5 ms.
func kalman() matrix {
	a, _ := linear(0.005)
	q := diagonal(1e-10, 1e-5, 1e-10, 4e-5)
	r := diagonal(positionNoise*positionNoise, angleNoise*angleNoise)
	c := matrix{{1, 0, 0, 0}, {0, 0, 1, 0}}
	// The gain of the predicting filter is a times that of the correcting one.
	return a.inverse().times(riccati(a.transposed(), c.transposed(), q, r).transposed())
}

func TestGainsSolveTheRiccatiEquations(t *testing.T) {
	want := lqr()
	for i, k := range feedback.list() {
		assert.InEpsilon(t, -want[i], k, 1e-6, "feedback %d: %.9g", i, -want[i])
	}
	k := kalman()
	for i := range 4 {
		assert.InEpsilon(t, k[i][0], positionGain.list()[i], 1e-6, "position %d: %.9g", i, k[i][0])
		assert.InEpsilon(t, k[i][1], angleGain.list()[i], 1e-6, "angle %d: %.9g", i, k[i][1])
	}
}
