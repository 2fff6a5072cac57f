package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"metasim/analysis/trace"
)

// New returns a Model of a recorded run.
func New(t *trace.Timeline) *Model { return &Model{t: t, whole: newWorkload(t.Log)} }

func newWorkload(l *trace.Log) *workload { return &workload{Log: l, free: !l.Timed} }

// Predict returns how long the run would take with all of the changes. The changed run is compared with a prediction of the run as it
// was, so that costs that the simulator does not know are in both. Of a very long run Predict uses the beginning that the Timeline stores.
//
// Without changes the Prediction says how good predictions are: it is that of the run as it was.
func (m *Model) Predict(changes ...Change) (Prediction, error) {
	return m.predict(m.whole, changes)
}

// Quick is Predict on the beginning of a long run. What a run does is much the same all the time.
func (m *Model) Quick(changes ...Change) (Prediction, error) { return m.predict(m.start(), changes) }

// OnCores returns how many seconds the run would take on so many cores, by the beginning of the run.
func (m *Model) OnCores(cores int) (wallS float64, err error) {
	p, err := m.Quick(Change{what: changeCores, cores: cores})
	return p.WallS, err
}

// Played compares the run with a simulation of the run as it was, by the beginning of the run.
func (m *Model) Played() (Played, error) { return m.played(m.start()) }

func (m *Model) played(w *workload) (Played, error) {
	took, err := m.fit(w)
	if err != nil {
		return Played{}, err
	}
	measured := w.End - m.t.Begin - m.held(w)
	p := Played{PlayedS: trace.Seconds(took), MeasuredS: trace.Seconds(measured), Beginning: w != m.whole}
	p.Trusted = p.Error() <= maxError
	return p, nil
}

// maxError is the greatest relative error of a simulation that is trusted.
const maxError = 0.15

// quickWork is how many acts and messages Quick looks at.
const quickWork = 100_000

// start returns the beginning of the run.
func (m *Model) start() *workload {
	if m.beginning != nil {
		return m.beginning
	}
	var acts, messages uint64
	for i := range m.t.Totals.Clients {
		acts += m.t.Totals.Clients[i].Reports
		messages += m.t.Totals.Clients[i].Delivered
	}
	perAct := 1 + trace.Ratio(float64(messages), float64(acts))
	m.beginning = m.whole
	if l := m.whole.Beginning(quickWork / max(1, int(perAct))); l != m.whole.Log {
		m.beginning = newWorkload(l)
	}
	return m.beginning
}

// predict compares a workload with changes to the same workload without, and that one to the run.
func (m *Model) predict(w *workload, changes []Change) (Prediction, error) {
	base, err := m.fit(w)
	if err != nil {
		return Prediction{}, err
	}
	texts := make([]string, len(changes))
	p := Prediction{WorkShare: 1}
	for i, c := range changes {
		texts[i] = c.text
		p.ChangesModel = p.ChangesModel || c.what == changeDelay
	}
	p.Change = strings.Join(texts, " ")
	wall, measured := trace.Seconds(m.t.Wall()), w.End-m.t.Begin
	if len(changes) == 0 {
		p.WallS = wall * trace.Ratio(float64(base), float64(measured))
		p.GainShare = 1 - trace.Ratio(p.WallS, wall)
		return p, nil
	}
	if played, err := m.played(w); err != nil || !played.Trusted {
		return Prediction{}, cmp.Or[error](err, &UntrustedError{played})
	}
	s, err := m.simulate(w, changes)
	if err != nil {
		return Prediction{}, fmt.Errorf("%w (what if %s)", err, p.Change)
	}
	p.WorkShare = s.share()
	// The simulation of the run as it was may take longer than the run. Its error must not make a run shorter than its work.
	p.WallS = wall * max(trace.Ratio(float64(s.wall), float64(base)), trace.Ratio(float64(s.least()), float64(measured)))
	for i, c := range s.clients {
		p.WallS = max(p.WallS, trace.Seconds(m.t.Totals.Clients[i].Work)/c.speed)
	}
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.what == changeSpeed || c.what == changeDelay }) {
		p.WallS = max(p.WallS, trace.Seconds(m.t.Totals.IdealPath)) // whatever the promises and the cores
	}
	p.GainShare = 1 - trace.Ratio(p.WallS, wall)
	return p, nil
}

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
	s, err := m.simulate(w, nil)
	if err != nil {
		return 0, err
	}
	work := s.wall
	if w.free || work >= target {
		w.fitted = work
		return work, nil
	}
	low, lowTook, high, highTook := 0.0, work, w.maxFactor(m.robbed(w, s)), int64(0)
	best := costs{}
	w.fitted = work
	for factor, n := 1.0, 0; n < fitTries && math.Abs(float64(w.fitted-target)) > fitTolerance*float64(target); n++ {
		w.costs = usualCosts(factor)
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
	const most = 2
	usual := 4*usualOutside.end + 2*usualOutside.wake
	if len(w.Answers) == 0 || robbed {
		return most
	}
	answers := slices.Sorted(slices.Values(w.Answers))
	return max(most, float64(answers[len(answers)/4])/float64(usual))
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

// simulate simulates a workload with changes to its end.
func (m *Model) simulate(w *workload, changes []Change) (*simulator, error) {
	s, err := newSimulator(m.t, w, changes)
	if err != nil {
		return nil, err
	}
	return s, s.run()
}
