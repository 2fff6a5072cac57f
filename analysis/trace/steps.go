package trace

import "math/bits"

// stepTimes counts how long the steps of a client took, in classes: a class is a thirty-second of its times wide, or a nanosecond.
type stepTimes struct {
	classes []uint32
	count   uint64
	sum     int64 // of the current step
}

const stepBits = 5

// end ends the current step. A step that told of no work is none: so short ones are told of with the next.
func (s *stepTimes) end() {
	took := uint64(max(0, s.sum))
	s.sum = 0
	if took == 0 {
		return
	}
	class := classOf(took)
	for len(s.classes) <= class {
		s.classes = append(s.classes, 0)
	}
	s.classes[class]++
	s.count++
}

func classOf(took uint64) int {
	shift := max(0, bits.Len64(took)-stepBits-1)
	return shift<<stepBits + int(took>>shift)
}

// longest returns the longest time of a class.
func longest(class int) int64 {
	shift := max(0, class>>stepBits-1)
	return int64((uint64(class-shift<<stepBits)+1)<<shift - 1)
}

// quantile returns a time that the share of the steps did not exceed; 0 if there was no step.
func (s *stepTimes) quantile(share float64) int64 {
	seen := uint64(0)
	for class, n := range s.classes {
		if seen += uint64(n); seen > 0 && float64(seen) >= share*float64(s.count) {
			return longest(class)
		}
	}
	return 0
}
