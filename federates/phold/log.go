package phold

import "math"

// log returns the natural logarithm of x > 0 within 1 unit in the last place, with the same bits on every processor.
// (math.Log is written in assembly on amd64 and s390x, and fused on others.) It is that of fdlibm (e_log.c, Sun
// Microsystems 1993); every product that is added to something is converted, which forbids Go to fuse the two.
func log(x float64) float64 {
	const (
		ln2High = 6.93147180369123816490e-01
		ln2Low  = 1.90821492927058770002e-10
		l1      = 6.666666666666735130e-01
		l2      = 3.999999999940941908e-01
		l3      = 2.857142874366239149e-01
		l4      = 2.222219843214978396e-01
		l5      = 1.818357216161805012e-01
		l6      = 1.531383769920937332e-01
		l7      = 1.479819860511658591e-01
	)
	fraction, exponent := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction *= 2
		exponent--
	}
	f, k := fraction-1, float64(exponent)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	even := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	half := float64(0.5 * float64(f*f))
	rest := float64(s*(half+odd+even)) + float64(k*ln2Low)
	return float64(k*ln2High) - ((half - rest) - f)
}
