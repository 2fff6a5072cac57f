package predict

import (
	"math"
	"slices"

	"metasim/analysis/trace"
)

// Communication has costs beside what clients compute: to write, to read and to pass on a message. A journal does not contain them. But
// their proportions are much the same everywhere. So the costs of a run are the usual costs times a factor: the factor with which
// the simulator takes as long for the run as the run took. See workload.at for what is measured of it.

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
	s, err := m.simulate(w, nil)
	if err != nil {
		return 0, err
	}
	work := s.wall
	if w.free || work >= target {
		w.fitted = work
		return work, nil
	}
	robbed := m.robbed(w, s)
	if err := m.measureFrames(w); err != nil {
		return 0, err
	}
	low, lowTook, high, highTook := 0.0, work, w.maxFactor(robbed), int64(0)
	best := costs{}
	w.fitted = work
	for factor, n := 1.0, 0; n < fitTries && math.Abs(float64(w.fitted-target)) > fitTolerance*float64(target); n++ {
		w.costs = w.at(factor)
		if s, err = m.simulate(w, nil); err != nil {
			return 0, err
		}
		took = s.wall
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
// distant hosts. It was not if the clients were robbed of their cores.
func (w *workload) maxFactor(robbed bool) float64 {
	frames, wakes := 4*float64(usualOutside.end), 2*float64(usualOutside.wake)
	usual := frames + wakes
	if robbed {
		return mostFrames
	}
	if len(w.Answers) == 0 {
		if w.frames > 0 {
			return mostWakes
		}
		return mostFrames
	}
	answers := slices.Sorted(slices.Values(w.Answers))
	answer := max(mostFrames*usual, float64(answers[len(answers)/4]))
	if w.frames == 0 {
		return answer / usual
	}
	return max(mostFrames, (answer-w.frames*frames)/(w.frames*wakes)) // the rest is waking up
}

// robbed reports whether clients waited for cores that something else on the machine had: more than twice as long as in a simulation, in which a
// client that has a core keeps it, by a share of the run that is too much for a prediction.
func (m *Model) robbed(w *workload, s *simulator) bool {
	var waited int64
	for i := range m.t.Totals.Clients {
		waited += m.t.Totals.Clients[i].CoreWait
	}
	part := trace.Ratio(float64(w.End-m.t.Begin), float64(m.t.Wall()))
	more := part*float64(waited) - 2*float64(s.waited)
	return more > maxError*float64(w.End-m.t.Begin)*float64(len(s.clients))
}

// held returns for how long the pace of the run, or a pause, held the clients back on average, in nanoseconds.
func (m *Model) held(w *workload) int64 {
	var sum int64
	for _, p := range m.t.Totals.Pairs {
		if p.HeldBy == trace.NoClient {
			sum += p.Blocked / int64(len(m.t.Names))
		}
	}
	return int64(float64(sum) * trace.Ratio(float64(w.End-m.t.Begin), float64(m.t.Wall())))
}

// maxError is the greatest relative error of a simulation that is trusted.
const maxError = 0.15

// measureFrames finds with which factor of the usual costs the rounds of the server take as long as they were measured to take.
func (m *Model) measureFrames(w *workload) error {
	measured := float64(m.t.Rounds) * trace.Ratio(float64(w.End-m.t.Begin), float64(m.t.Wall()))
	if measured == 0 {
		return nil
	}
	w.costs = usualCosts(1, 1)
	s, err := m.simulate(w, nil)
	if err == nil && s.rounds > 0 {
		const least, most = 0.2, 5 // beyond, the simulated rounds are others than those of the run
		w.frames = min(most, max(least, measured/float64(s.rounds)))
	}
	w.costs = costs{}
	return err
}
