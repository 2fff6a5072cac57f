package cartpole

import (
	"math"
	"math/rand/v2"

	"metasim/internal/trig"
	"metasim/metasim"
)

// The plant. Lengths in metres, masses in kilograms.
const (
	cartMass   = 1.0
	poleMass   = 0.1
	halfLength = 0.5
	gravity    = 9.81
	totalMass  = cartMass + poleMass
)

// Step returns the state after h seconds under a constant force in newtons, by the classical Runge-Kutta method. A
// pole that has fallen stays where it is.
func (s plantState) Step(force, h float64) plantState {
	if s.Fallen() {
		return s
	}
	k1 := s.derivative(force)
	k2 := s.along(k1, h/2).derivative(force)
	k3 := s.along(k2, h/2).derivative(force)
	k4 := s.along(k3, h).derivative(force)
	next := s.along(plantState{
		X:     blend(k1.X, k2.X, k3.X, k4.X),
		V:     blend(k1.V, k2.V, k3.V, k4.V),
		Angle: blend(k1.Angle, k2.Angle, k3.Angle, k4.Angle),
		Rate:  blend(k1.Rate, k2.Rate, k3.Rate, k4.Rate),
	}, h)
	if next.Fallen() {
		return plantState{X: next.X, Angle: math.Copysign(math.Pi/2, next.Angle)}
	}
	return next
}

// Fallen reports whether the pole has fallen.
func (s plantState) Fallen() bool { return math.Abs(s.Angle) >= math.Pi/2 }

// derivative is the plant's equations, those of the package's comment.
func (s plantState) derivative(force float64) plantState {
	sin, cos := trig.Sincos(s.Angle)
	swing := float64(poleMass * halfLength * float64(float64(s.Rate*s.Rate)*sin))
	u := (force + swing) / totalMass
	turn := float64(gravity*sin) - float64(u*cos)
	inertia := halfLength * (4.0/3 - float64(poleMass*float64(cos*cos))/totalMass)
	rate := turn / inertia
	return plantState{
		X:     s.V,
		V:     u - float64(poleMass*halfLength*float64(rate*cos))/totalMass,
		Angle: s.Rate,
		Rate:  rate,
	}
}

// along returns s + h*d.
func (s plantState) along(d plantState, h float64) plantState {
	return plantState{
		X:     s.X + float64(h*d.X),
		V:     s.V + float64(h*d.V),
		Angle: s.Angle + float64(h*d.Angle),
		Rate:  s.Rate + float64(h*d.Rate),
	}
}

// blend is the Runge-Kutta mean of four slopes.
func blend(k1, k2, k3, k4 float64) float64 {
	return (k1 + float64(2*k2) + float64(2*k3) + k4) / 6
}

// Standard deviations of the sensors at noise 1, which the estimator is tuned for.
const (
	positionNoise = 0.001             // m
	angleNoise    = 0.1 * degree      // rad
	degree        = 0.017453292519943 // rad
)

// normal draws a number that is nearly normal, with mean 0 and standard deviation 1: the sum of twelve uniform
// numbers, less their mean (Irwin-Hall). It never exceeds 6, and needs neither logarithm nor root: the sum is one of
// integers, so it is exact. With a source that is keyed by the run's seed, noise depends on the scenario alone.
func normal(src rand.Source) float64 {
	sum := int64(0)
	for range 6 {
		bits := src.Uint64()
		sum += int64(bits>>32) + int64(bits&(1<<32-1))
	}
	return float64(sum-6<<32) / (1 << 32)
}

// measure returns what the sensors say of the plant at time t; noise scales their standard deviations.
func measure(t metasim.Time, s plantState, force, noise float64, src rand.Source) Measurement {
	return Measurement{
		Time:  t,
		X:     s.X + float64(noise*positionNoise*normal(src)),
		Angle: s.Angle + float64(noise*angleNoise*normal(src)),
		Force: force,
	}
}
