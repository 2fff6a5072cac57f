package predict

import (
	"fmt"
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
	base, err := m.fit(m.start())
	if err != nil {
		return 0, err
	}
	took, _, err := m.simulate(m.start(), []Change{{what: changeCores, cores: cores}})
	return ratio(seconds(m.t.Wall())*float64(took), float64(base)), err
}

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
	perAct := 1 + ratio(float64(messages), float64(acts))
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
		p.ChangesModel = p.ChangesModel || c.ChangesModel()
	}
	p.Change = strings.Join(texts, " ")
	took, before := base, w.End-m.t.Begin
	if len(changes) > 0 {
		before = base
		if took, p.WorkShare, err = m.simulate(w, changes); err != nil {
			return Prediction{}, fmt.Errorf("%w (what if %s)", err, p.Change)
		}
	}
	wall := seconds(m.t.Wall())
	p.WallS = wall * ratio(float64(took), float64(before))
	p.GainShare = 1 - ratio(p.WallS, wall)
	return p, nil
}
