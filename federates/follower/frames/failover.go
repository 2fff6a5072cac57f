package frames

import (
	"fmt"
	"slices"

	"metasim/metasim"
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
		d.wait(now, f)
	}
}

// wait gives nodes the whole patience for the frames after one that is over now, or asked for again: they could not begin these before.
func (d *Director) wait(now metasim.Time, over *flight) {
	for _, f := range d.flights {
		if since := now; f.data.Frame > over.data.Frame {
			if f.called {
				since -= d.cfg.Patience
			}
			f.since = max(f.since, since)
		}
	}
}

// overdue fails who is to blame that a released frame is not back. Where nodes have said that they lack its data, that is its controller, and who has said nothing, as it may have
// shown the frame.
func (d *Director) overdue(now metasim.Time, f *flight) {
	lacked := slices.Contains(f.lacks, true)
	for i, m := range d.members {
		if f.owing[i] && (!lacked || !f.lacks[i] && m.name != f.controller) {
			d.fail(now, m, fmt.Sprintf("node %s did not send frame %d back within %v", m.name, f.data.Frame, now-f.since))
		}
		if d.stage != running {
			return
		}
	}
	if lacked {
		d.unsent(now, f)
	}
}

// unsent fails the controller of a frame whose data nodes lack. If no node has shown it, the frame is asked for again, and so are those behind it: nodes take them in their order. Else it is
// over for all: who has not shown it misses it, as nobody else has the same data.
func (d *Director) unsent(now metasim.Time, f *flight) {
	m, how := d.member(f.controller), "no node has"
	if f.seen {
		how = "not all nodes have"
	} else {
		d.withdraw(m)
	}
	if !m.gone { // it is, if it was charged
		d.fail(now, m, fmt.Sprintf("controller %s said that it has sent for tTracked %v (frame %d), and %s got all of it within %v; send what is announced, or raise the patience if links are slow",
			m.name, f.data.Tracked, f.data.Frame, how, now-f.since))
	}
	if d.stage != running {
		return
	}
	d.again(now, slices.Index(d.members, m))
	if f.seen {
		f.epoch, f.sent = d.epoch, &sent{missing: true}
		d.tell(f.request)
		d.missed(f)
		d.question(now, m)
	}
}

// missed releases a frame without data: no node that has not shown it will.
func (d *Director) missed(f *flight) {
	d.tell(&release{f.data.Frame, f.epoch, true})
	d.Totals.Missing++
	for i, m := range d.members {
		f.settle(i, m)
	}
}

// question asks the nodes at once whether they have the data of frames of a controller that has failed, as if the patience had passed.
func (d *Director) question(now metasim.Time, m *member) {
	for _, f := range d.flights {
		if f.sync && f.released && !f.called && f.controller == m.name && f.owed > 0 && !f.missing() {
			f.called, f.since = true, now-d.cfg.Patience
			d.tell(&call{f.data.Frame, f.epoch})
		}
	}
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
