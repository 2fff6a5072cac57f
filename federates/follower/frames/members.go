package frames

import (
	"slices"
	"strings"

	"metasim/metasim"
)

func (d *Director) member(name string) *member {
	i, found := slices.BinarySearchFunc(d.members, name, func(m *member, n string) int { return strings.Compare(m.name, n) })
	if !found {
		return nil
	}
	return d.members[i]
}

// promote makes the next understudy the controller.
func (d *Director) promote() bool {
	d.lead = nil
	for _, m := range d.members {
		if m.role == Understudy && !m.gone && (d.lead == nil || m.order < d.lead.order) {
			d.lead = m
		}
	}
	if d.lead != nil {
		d.lead.role = Controller
	}
	return d.lead != nil
}

// What a node charges others with is kept for the outcome: so many clients, and a sentence of so many bytes for each.
const (
	maxCharges  = 1024
	maxSentence = 4096
)

// A verdict is a member that is to fail.
type verdict struct {
	guilty *member
	why    string
}

// judged returns the members against which nodes have brought charges. Who has charged a controller has no data of it, and others may have shown that; so they are asked. A client that is
// no member cannot be told to leave, and nobody needs its data.
func (d *Director) judged(now metasim.Time) (verdicts []verdict) {
	for _, c := range d.charges {
		m := d.member(c.peer)
		if m == nil {
			if !slices.Contains(d.Totals.Failed, c.why) {
				d.Totals.Failed = append(d.Totals.Failed, c.why)
			}
			continue
		}
		if m.gone {
			continue
		}
		verdicts = append(verdicts, verdict{m, c.why})
		d.question(now, m)
	}
	d.charges = nil
	return verdicts
}

// withdraw takes back the release of frames whose data is a controller's that has failed, and that no node has shown.
func (d *Director) withdraw(m *member) {
	for _, f := range d.flights {
		if f.sync && f.controller == m.name && f.owed > 0 && !f.seen && !f.missing() {
			f.released = false
		}
	}
}

// lack notes that the data of a released frame has not come to a member.
func (d *Director) lack(m *member, l call) {
	i := slices.Index(d.members, m)
	for _, f := range d.flights {
		if f.data.Frame == l.frame && f.epoch == l.epoch && f.owing[i] && f.called {
			f.lacks[i] = true
		}
	}
}
