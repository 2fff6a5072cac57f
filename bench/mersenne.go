package bench

import "math"

// A mersenne is the generator MT19937 (Matsumoto and Nishimura 1998) with the distributions of libstdc++ on top, so that
// HELICS's workloads have the same events here as there.
type mersenne struct {
	state [624]uint32
	next  int
}

func newMersenne(seed uint32) *mersenne {
	m := &mersenne{next: 624}
	m.state[0] = seed
	for i := 1; i < len(m.state); i++ {
		before := m.state[i-1]
		m.state[i] = 1812433253*(before^before>>30) + uint32(i)
	}
	return m
}

func (m *mersenne) uint32() uint32 {
	if m.next == len(m.state) {
		m.twist()
	}
	y := m.state[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (m *mersenne) twist() {
	s := &m.state
	for i := range s {
		y := s[i]&0x80000000 | s[(i+1)%624]&0x7fffffff
		s[i] = s[(i+397)%624] ^ y>>1
		if y&1 != 0 {
			s[i] ^= 0x9908b0df
		}
	}
	m.next = 0
}

// uniform is std::generate_canonical<double, 53>: two draws, the lower half first.
func (m *mersenne) uniform() float64 {
	low, high := float64(m.uint32()), float64(m.uint32())
	return min((low+high*(1<<32))/(1<<64), math.Nextafter(1, 0))
}

// exponential is std::exponential_distribution with lambda = 1/mean.
func (m *mersenne) exponential(mean float64) float64 {
	return -math.Log(1-m.uniform()) / (1 / mean)
}

// below is std::uniform_int_distribution(0, n-1), since GCC 11 (Lemire 2019).
func (m *mersenne) below(n uint32) uint32 {
	product := uint64(m.uint32()) * uint64(n)
	if low := uint32(product); low < n {
		for threshold := -n % n; low < threshold; low = uint32(product) {
			product = uint64(m.uint32()) * uint64(n)
		}
	}
	return uint32(product >> 32)
}

// processSeed is the seed that HELICS's phold gives the LP of that index.
func processSeed(index int) uint32 {
	m := newMersenne(0x600d5eed)
	for range index {
		m.uint32()
	}
	return m.uint32()
}
