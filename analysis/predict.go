package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/metasim"
)

// A Prediction says what a run would take if something were different.
type Prediction struct {
	// Change is what would be different, as --what-if takes it; several with blanks between them. Empty: nothing.
	Change string  `json:"change"`
	WallS  float64 `json:"wall_s"`
	// GainShare is the share of the wall clock that is saved; negative where the run gets slower.
	GainShare float64 `json:"gain_share"`
	// ChangesModel says that the model itself would come out differently: what is predicted is the speed of a run that does
	// the same work, not its results.
	ChangesModel bool `json:"changes_model"`
	// WorkShare is how much would still happen of all that happened: less than 1 where other messages are lost.
	WorkShare float64 `json:"work_share"`
}

// Predict says what the run would take with all of the changes at once. Changes are measured against a prediction without
// any, so that what a prediction does not know of costs both the same. Of a very long run it looks at the part that was
// kept (Source.MaxGrants).
//
// With no change at all it says how good a prediction is: what is predicted of the run as it was.
func (t *Timeline) Predict(changes ...Change) (Prediction, error) {
	base, err := t.fit(t.log)
	switch {
	case err != nil:
		return Prediction{}, err
	case len(changes) > 0:
		return t.predict(t.log, base, changes)
	}
	wall := seconds(t.Wall())
	p := Prediction{WallS: wall * ratio(float64(base), float64(t.log.end-t.Begin)), WorkShare: 1}
	p.GainShare = 1 - ratio(p.WallS, wall)
	return p, nil
}

// predict measures changes against what a log takes without any.
func (t *Timeline) predict(l *worklog, base int64, changes []Change) (Prediction, error) {
	wall := seconds(t.Wall())
	texts := make([]string, len(changes))
	p := Prediction{}
	for i, c := range changes {
		texts[i] = c.text
		p.ChangesModel = p.ChangesModel || c.ChangesModel()
	}
	p.Change = strings.Join(texts, " ")
	took, share, err := t.play(l, changes)
	if err != nil {
		return Prediction{}, fmt.Errorf("%w (what if %s)", err, p.Change)
	}
	p.WallS, p.WorkShare = wall*ratio(float64(took), float64(base)), share
	p.GainShare = 1 - ratio(p.WallS, wall)
	return p, nil
}

func (t *Timeline) play(l *worklog, changes []Change) (wall int64, share float64, err error) {
	p, err := newPlayer(t, l, newCircumstances(changes))
	if err != nil {
		return 0, 0, err
	}
	wall, err = p.play()
	return wall, p.share(), err
}

// ranked is how much of a run the ranking looks at, in acts and messages: a run does much the same all the time.
const ranked = 100_000

// Rank predicts the single changes that are likely to help most, and returns those that do, the best first. It looks at
// the beginning of a long run only.
func (t *Timeline) Rank(r *Report) []Prediction {
	best := []Prediction{}
	l := t.beginning()
	base, err := t.fit(l)
	if err != nil {
		return best // what was recorded cannot be played: then nothing can be said of what was not
	}
	for _, text := range candidates(r) {
		change, err := t.ParseChange(text)
		if err != nil {
			continue // a name that cannot be written
		}
		if p, err := t.predict(l, base, []Change{change}); err == nil && p.GainShare >= leastGain && p.WorkShare > 0.99 {
			best = append(best, p)
		}
	}
	slices.SortStableFunc(best, func(a, b Prediction) int { return cmp.Compare(b.GainShare, a.GainShare) })
	return best
}

// beginning is the part of the log that the ranking looks at.
func (t *Timeline) beginning() *worklog {
	if t.part == nil {
		t.part = t.log.beginning(ranked / max(1, int(1+t.perAct())))
	}
	return t.part
}

// perAct is how many messages an act came to, on average.
func (t *Timeline) perAct() float64 {
	var acts, messages uint64
	for i := range t.stats.clients {
		acts += t.stats.clients[i].reports
		messages += t.stats.clients[i].delivered
	}
	return ratio(float64(messages), float64(acts))
}

// leastGain is what a change must save to be worth a line.
const leastGain = 0.005

// tried is how many clients, and how many links, the ranking looks at.
const tried = 3

// candidates are changes of those who cost most: a faster client, a better promise, a longer link.
func candidates(r *Report) []string {
	var all []string
	rows := slices.Clone(r.Clients)
	slices.SortStableFunc(rows, func(a, b ClientReport) int { return cmp.Compare(b.CriticalS, a.CriticalS) })
	for _, c := range rows[:min(len(rows), tried)] {
		all = append(all, fmt.Sprintf("client(%s).speed=2", c.Name))
	}
	slices.SortStableFunc(rows, func(a, b ClientReport) int { return cmp.Compare(b.HeldS, a.HeldS) })
	for _, c := range rows[:min(len(rows), tried)] {
		if c.Sends > 0 && c.HeldS > 0 {
			all = append(all, fmt.Sprintf("client(%s).promise=all", c.Name))
		}
	}
	for i := range r.Links[:min(len(r.Links), tried)] {
		if l := &r.Links[i]; l.HeldS > 0 {
			all = append(all, fmt.Sprintf("link(%s->%s:%s).delay=%v", l.From, l.To, l.Channel, longer(r, l)))
		}
	}
	return all
}

// longer is a delay that might help: twice what it is, or, where that is one step, what passes between two reports of its
// sender.
func longer(r *Report, l *LinkReport) metasim.Time {
	if l.DeclaredNS > 0 {
		return 2 * metasim.Time(l.DeclaredNS)
	}
	for i := range r.Clients {
		if c := &r.Clients[i]; c.Name == l.From && c.Reports > 0 {
			return round(metasim.Time(uint64(r.SimNS) / c.Reports))
		}
	}
	return metasim.Millisecond
}

// round rounds up to one digit.
func round(t metasim.Time) metasim.Time {
	unit := metasim.Time(1)
	for t/unit >= 10 {
		unit *= 10
	}
	return max(1, (t+unit-1)/unit*unit)
}
