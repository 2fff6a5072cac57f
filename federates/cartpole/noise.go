package cartpole

import "metasim/metasim"

// A source gives the random bits that noise is made of. With one that is keyed by the run's seed, the noise depends on the
// scenario alone.
type source interface{ Uint64() uint64 }

// normal draws a number that is nearly normal, with mean 0 and standard deviation 1: the sum of twelve uniform
// numbers, less their mean (Irwin-Hall). It never exceeds 6, and needs neither logarithm nor root: the sum is one of
// integers, so it is exact.
func normal(src source) float64 {
	sum := int64(0)
	for range 6 {
		bits := src.Uint64()
		sum += int64(bits>>32) + int64(bits&(1<<32-1))
	}
	return float64(sum-6<<32) / (1 << 32)
}

// measure returns what the sensors say of the plant at time t; noise scales their standard deviations.
func measure(t metasim.Time, s plantState, force, noise float64, src source) Measurement {
	return Measurement{
		Time:  t,
		X:     s.X + float64(noise*positionNoise*normal(src)),
		Angle: s.Angle + float64(noise*angleNoise*normal(src)),
		Force: force,
	}
}
