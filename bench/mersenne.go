package bench

import (
	"math"

	"gonum.org/v1/gonum/mathext/prng"
)

// A mersenne is the generator MT19937 (Matsumoto and Nishimura 1998) with the distributions of libstdc++ on top, so that
// HELICS's workloads have the same events here as there.
type mersenne struct{ *prng.MT19937 }

func newMersenne(seed uint32) mersenne {
	m := mersenne{prng.NewMT19937()}
	m.Seed(uint64(seed))
	return m
}

// uniform is std::generate_canonical<double, 53>: two draws, the lower half first.
func (m mersenne) uniform() float64 {
	low, high := float64(m.Uint32()), float64(m.Uint32())
	return min((low+high*(1<<32))/(1<<64), math.Nextafter(1, 0))
}

// exponential is std::exponential_distribution with lambda = 1/mean.
func (m mersenne) exponential(mean float64) float64 {
	return -math.Log(1-m.uniform()) / (1 / mean)
}

// below is std::uniform_int_distribution(0, n-1), since GCC 11 (Lemire 2019).
func (m mersenne) below(n uint32) uint32 {
	product := uint64(m.Uint32()) * uint64(n)
	if low := uint32(product); low < n {
		for threshold := -n % n; low < threshold; low = uint32(product) {
			product = uint64(m.Uint32()) * uint64(n)
		}
	}
	return uint32(product >> 32)
}

// processSeed is the seed that HELICS's phold gives the LP of that index.
func processSeed(index int) uint32 {
	m := newMersenne(0x600d5eed)
	for range index {
		m.Uint32()
	}
	return m.Uint32()
}
