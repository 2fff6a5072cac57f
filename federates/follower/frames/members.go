package frames

import (
	"slices"
	"strings"
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
