package predict

import (
	"math"
	"slices"

	"metasim/analysis/trace"
)

// Communication has costs beside what clients compute: to write, to read and to pass on a message. A journal does not contain them. But
// their proportions are much the same everywhere. So the costs of a run are the usual costs times one factor: the factor with which
// the simulator takes as long for the run as the run took.

// fitTolerance is the relative error at which fitting stops, and fitTries how many simulations it makes at most. The remaining error
// is the same for a prediction and for what it is compared with.
const (
	fitTolerance = 0.005
	fitTries     = 10
)

// fit finds the costs with which the simulator takes as long as the run did, and returns the nanoseconds that it takes with them. If
// clients did not report how long they computed, communication is free and every client has a core: then the costs are part of what the
// clients seem to have computed.
func (m *Model) fit(w *workload) (took int64, err error) {
	if w.fitted > 0 {
		return w.fitted, nil
	}
	target := w.End - m.t.Begin - m.held(w)
	work, _, err := m.simulate(w, nil)
	if err != nil || w.free || work >= target {
		w.fitted = work
		return work, err
	}
	low, lowTook, high, highTook := 0.0, work, w.maxFactor(), int64(0)
	best := costs{}
	w.fitted = work
	for factor, n := 1.0, 0; n < fitTries && math.Abs(float64(w.fitted-target)) > fitTolerance*float64(target); n++ {
		w.costs = usualCosts(factor)
		if took, _, err = m.simulate(w, nil); err != nil {
			return 0, err
		}
		if math.Abs(float64(took-target)) < math.Abs(float64(w.fitted-target)) {
			best, w.fitted = w.costs, took
		}
		switch {
		case took >= target:
			high, highTook = factor, took
		case factor == high:
			n = fitTries // even the greatest factor is not enough: the run took longer for another reason
		default:
			low, lowTook = factor, took
		}
		factor = between(low, high, lowTook, highTook, target)
	}
	w.costs = best
	return w.fitted, nil
}

// between returns the next factor to try: between low, with which the simulator took too little, and high, with which it took too long, or
// which is the greatest possible factor if highTook is zero. The time grows almost linearly with the factor.
func between(low, high float64, lowTook, highTook, target int64) float64 {
	if highTook == 0 {
		return high
	}
	return low + (high-low)*min(0.9, max(0.1, float64(target-lowTook)/float64(max(1, highTook-lowTook))))
}

// maxFactor returns the greatest possible factor. If a run took still longer there was another reason, for example other programs on the
// machine, which slowed everything down. But if nearly all answers took longer, communication itself was slow: clients may be on
// distant hosts.
func (w *workload) maxFactor() float64 {
	const most, usual = 2, 4*outsideEnd + 2*outsideWake
	if len(w.Answers) == 0 {
		return most
	}
	answers := slices.Sorted(slices.Values(w.Answers))
	return max(most, float64(answers[len(answers)/4])/usual)
}

// held returns for how long the pace of the run, or a pause, held the clients back on average, in nanoseconds.
func (m *Model) held(w *workload) int64 {
	var sum int64
	for _, p := range m.t.Totals.Pairs {
		if p.HeldBy == trace.NoClient {
			sum += p.Blocked / int64(len(m.t.Names))
		}
	}
	return int64(float64(sum) * ratio(float64(w.End-m.t.Begin), float64(m.t.Wall())))
}

// simulate returns how long a workload takes with changes, in nanoseconds, and which share of its acts happens.
func (m *Model) simulate(w *workload, changes []Change) (wall int64, share float64, err error) {
	s, err := newSimulator(m.t, w, changes)
	if err != nil {
		return 0, 0, err
	}
	wall, err = s.run()
	return wall, s.share(), err
}
