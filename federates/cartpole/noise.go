package cartpole

import "metasim/metasim"

// A Source gives the bits that noise is made of. One keyed by the run's seed makes the noise a part of the scenario.
type Source interface{ Uint64() uint64 }

// Normal draws a number that is nearly normal, with mean 0 and standard deviation 1: the sum of twelve uniform
// numbers, less their mean (Irwin-Hall). It never exceeds 6, and needs neither logarithm nor root: the sum is one of
// integers, so it is exact.
func Normal(src Source) float64 {
	sum := int64(0)
	for range 6 {
		bits := src.Uint64()
		sum += int64(bits>>32) + int64(bits&(1<<32-1))
	}
	return float64(sum-6<<32) / (1 << 32)
}

// Measure returns what the sensors say of the plant at time t; noise scales their standard deviations.
func Measure(t metasim.Time, s State, force, noise float64, src Source) Measurement {
	return Measurement{
		Time:  t,
		X:     s.X + float64(noise*PositionNoise*Normal(src)),
		Angle: s.Angle + float64(noise*AngleNoise*Normal(src)),
		Force: force,
	}
}
