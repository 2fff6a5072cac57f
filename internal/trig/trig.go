// Package trig has sine and cosine with the same bits on every processor. (math.Sin is fused on some, and written in assembly on s390x.)
package trig

import "math"

// Sincos returns the sine and the cosine of a finite angle in radians, within 2 units in the last place between -pi and pi. A greater
// angle is first brought there by whole turns, each of them 2*math.Pi, so that its error grows with the number of turns.
func Sincos(a float64) (sin, cos float64) {
	switch {
	case math.Abs(a) > 2*math.Pi:
		return Sincos(math.Mod(a, 2*math.Pi))
	case a > math.Pi/4:
		s, c := Sincos(quarter(a))
		return c, -s
	case a < -math.Pi/4:
		s, c := Sincos(-quarter(-a))
		return -c, s
	}
	return sinKernel(a), cosKernel(a)
}

// quarter returns a - pi/2. Pi/2 is split in two, as its float64 alone is off by 6e-17.
func quarter(a float64) float64 {
	const (
		high = 1.57079632673412561417e+00 // the first 33 bits of pi/2
		low  = 6.07710050650619224932e-11 // pi/2 - high
	)
	return (a - high) - low
}

// The kernels are the polynomials of fdlibm (k_sin.c and k_cos.c, Sun Microsystems 1993), for |a| <= pi/4.

func sinKernel(a float64) float64 {
	z := float64(a * a)
	p := horner(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
		-1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01)
	return a + float64(float64(a*z)*p)
}

func cosKernel(a float64) float64 {
	z := float64(a * a)
	p := horner(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
		2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02)
	half := float64(0.5 * z)
	w := 1 - half
	return w + (((1 - w) - half) + float64(float64(z*z)*p))
}

// horner evaluates a polynomial in z, the coefficient of the highest power first.
func horner(z float64, coefficients ...float64) float64 {
	sum := 0.0
	for _, c := range coefficients {
		sum = float64(sum*z) + c
	}
	return sum
}
