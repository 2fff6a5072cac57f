package predict

import (
	"cmp"
	"fmt"
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
	p, err := m.Quick(Change{what: changeCores, number: cores})
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
	if !w.free {
		p.Least = maxError * (1 - trace.Ratio(float64(m.t.Totals.ConservativePath), float64(m.t.Wall()-m.held(m.whole))))
	}
	p.Least = max(leastGain, p.Error(), p.Least)
	return p, nil
}

// leastGain is the share of the run below which a gain is not worth a line.
const leastGain = 0.005

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
		p.ChangesModel = p.ChangesModel || c.what == changeDelay || c.what == changePeriod
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
	has := func(what ...string) bool {
		return slices.ContainsFunc(changes, func(c Change) bool { return slices.Contains(what, c.what) })
	}
	for i, c := range s.clients {
		if !has(changePeriod) { // which is other work
			p.WallS = max(p.WallS, trace.Seconds(m.t.Totals.Clients[i].Work)/c.speed)
		}
	}
	if !has(changeSpeed, changeDelay, changePeriod) {
		p.WallS = max(p.WallS, trace.Seconds(m.t.Totals.IdealPath)) // whatever the promises and the cores
	}
	if m.t.Rate > 0 {
		p.WallS = max(p.WallS, m.t.Totals.End.Seconds()/m.t.Rate)
	}
	p.GainShare = 1 - trace.Ratio(p.WallS, wall)
	return p, nil
}
