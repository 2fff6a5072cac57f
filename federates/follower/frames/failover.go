package frames

import (
	"fmt"
	"slices"

	"metasim/metasim"
)

// expire fails the nodes that took too long.
func (d *Director) expire(now metasim.Time) {
	for _, f := range d.flights {
		if !f.released {
			if now >= f.asked.Add(d.cfg.Patience) && d.lead != nil {
				d.fail(now, d.lead, (&MissingError{Controller: f.controller, FrameData: f.data}).Error())
			}
			return
		}
		if now < f.since.Add(d.cfg.Patience) {
			continue
		}
		if !f.called && f.unseen(d.members) {
			f.called = true
			d.tell(&call{f.data.Frame, f.epoch})
		}
		silent := f.called && f.follower(d.members, func(i int) bool { return !f.lacks[i] })
		if silent && now < f.deadline(d.cfg.Patience) {
			continue
		}
		d.overdue(now, f)
		if d.stage != running {
			return
		}
	}
}

// overdue fails who is to blame that a released frame is not back: its controller, where nodes say that they lack the data, and no node has shown it. Who says nothing may have
// shown it, and fails too.
func (d *Director) overdue(now metasim.Time, f *flight) {
	unsent := f.unsent()
	for i, m := range d.members {
		if f.owing[i] && (!unsent || !f.lacks[i] && m.name != f.controller) {
			d.fail(now, m, f.tardy(i, m, now-f.since))
		}
		if d.stage != running {
			return
		}
	}
	if !unsent {
		return
	}
	m := d.member(f.controller)
	d.withdraw(m)
	if m.gone { // for another reason, meanwhile
		d.again(now, slices.Index(d.members, m))
		return
	}
	d.fail(now, m, fmt.Sprintf("controller %s said that it has sent for tTracked %v (frame %d), and no node has got all of it within %v; send what is announced, or raise the patience if links are slow",
		m.name, f.data.Tracked, f.data.Frame, now-f.since))
}

// fail takes a node out of the cluster. An understudy takes over from a controller: the frames that were not released are asked for
// again, under the next epoch.
func (d *Director) fail(now metasim.Time, m *member, why string) {
	m.gone = true
	d.Totals.Failed = append(d.Totals.Failed, why)
	d.tell(&quit{[]string{m.name}, why + "; the others go on without it", true})
	i := slices.Index(d.members, m)
	for _, f := range d.flights {
		f.settle(i, m)
		f.excused = true
	}
	if m != d.lead {
		return
	}
	if !d.promote() {
		d.end(now, why+", and no understudy is left")
		return
	}
	d.epoch++
	d.Totals.Failovers++
	d.again(now, i)
}

// again asks the controller for the frames that are not released, and were asked for in an older epoch, of which that member was the controller.
func (d *Director) again(now metasim.Time, i int) {
	for _, f := range d.flights {
		if f.released {
			continue
		}
		if f.asked = now; f.epoch == d.epoch { // it waits for those before it
			continue
		}
		f.back[i] = Frame{} // it shows data that nobody else will
		f.epoch, f.controller, f.sent = d.epoch, d.lead.name, nil
		f.seen, f.called = false, false
		clear(f.lacks)
		d.tell(f.request)
	}
}

// refuse ends a cluster that cannot begin. All nodes are told why; those that are to blame leave as nodes that have failed.
func (d *Director) refuse(now metasim.Time, why error, guilty ...string) {
	if d.wrong = why; len(guilty) > 0 {
		d.tell(&quit{guilty, why.Error(), true})
	}
	d.end(now, why.Error())
}

// end tells the followers to leave.
func (d *Director) end(now metasim.Time, reason string) {
	if d.stage >= ending {
		return
	}
	d.stage, d.since, d.reason = ending, now, reason
	d.Totals.Stopped = reason
	var followers []string
	for _, m := range d.members {
		if !m.gone && m != d.lead {
			followers = append(followers, m.name)
		}
	}
	if len(followers) > 0 {
		d.tell(&quit{followers, reason, false})
	}
}

func (d *Director) tell(m interface{ encode() []byte }) { d.out = append(d.out, m.encode()) }
