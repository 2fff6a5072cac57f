package frames

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"metasim/metasim"
)

// NewDirector returns a director that has asked for nothing.
func NewDirector(cfg Config) *Director {
	cfg.Nodes = awaited(&cfg)
	return &Director{cfg: cfg, last: -1, epoch: 1}
}

// Input takes what came from outside: it is given to all nodes with the next frame.
func (d *Director) Input(data []byte) { d.inputs = append(d.inputs, data) }

// Reply takes a message of a node.
func (d *Director) Reply(from string, b []byte) error {
	k, r := begin(b)
	if k == kindHello {
		h := r.hello()
		if err := r.end(from); err != nil {
			return err
		}
		return d.hello(from, h)
	}
	m := d.member(from)
	if m == nil && slices.Contains(d.turned, from) {
		return nil // it has heard what all nodes hear, and answers until it knows that it is to leave
	}
	if m == nil {
		return &PeerError{Peer: from, Code: InvalidParameters, Why: "has said no hello; a node says it when it has joined"}
	}
	switch k {
	case kindSent:
		if s := r.sent(); r.err == nil {
			r.err = d.sent(m, s)
		}
	case kindBack:
		if done := r.back(); r.err == nil {
			r.err = d.back(m, done)
		}
	case kindInput:
		if input := r.block(); !m.gone {
			d.Input(input)
		}
	case kindCharge:
		if c := r.charge(); !m.gone && r.err == nil {
			r.err = d.charged(m, c)
		}
	case kindLack:
		d.lack(m, r.call())
	case kindBye:
		r.err = d.bye(m)
	default:
		r.fail()
	}
	return r.end(from)
}

// hello takes a node into the cluster. One that comes after the first frame is told to leave.
func (d *Director) hello(from string, h hello) error {
	m := d.member(from)
	if m != nil && m.said == h || slices.Contains(d.turned, from) {
		return nil // a link may deliver a message twice
	}
	if m != nil {
		return &PeerError{Peer: from, Code: InvalidParameters, Why: "has said hello twice; say it once, after joining"}
	}
	if d.stage != gathering {
		d.turned = append(d.turned, from)
		why := fmt.Sprintf("node %s said hello after the first frame was asked for; name it in the director's nodes, which it waits for", from)
		d.Totals.Failed = append(d.Totals.Failed, why)
		d.tell(&quit{[]string{from}, why, true})
		return nil
	}
	d.members = append(d.members, &member{name: from, said: h, role: h.role, order: h.order})
	slices.SortFunc(d.members, func(a, b *member) int { return strings.Compare(a.name, b.name) })
	return nil
}

// sent takes a notice. One of an old epoch changes nothing: it is fenced. Who was the controller in no epoch of which it sends breaks the rules.
func (d *Director) sent(m *member, s *sent) error {
	if d.stage == running && s.frame >= d.next && !m.gone {
		return &PeerError{Peer: m.name, Code: InvalidParameters, Why: fmt.Sprintf("sent the data of frame %d, which was not asked for; is it a client of another run?", s.frame)}
	}
	for _, f := range d.flights {
		switch {
		case f.data.Frame != s.frame || f.epoch != s.epoch || m.gone:
		case f.controller != m.name:
			return notController(m.name, s.frame, f.controller)
		case f.sent == nil:
			f.sent = s
		}
	}
	return nil
}

// back takes a finished frame, which is known by its number, and has its tTracked.
func (d *Director) back(m *member, done Frame) error {
	i := slices.Index(d.members, m)
	for _, f := range d.flights {
		if f.data.Frame == done.Frame && f.owing[i] {
			return f.take(i, m, done)
		}
	}
	return nil
}

// charged notes a charge. A node charges a client once and in a sentence, so that one that brings many invents them.
func (d *Director) charged(m *member, c charge) error {
	if m.charges++; m.charges > maxCharges || len(c.peer)+len(c.why) > maxSentence {
		return &PeerError{Code: InvalidParameters, Why: fmt.Sprintf("charged more than %d clients, or in more than %d bytes; a node charges a client once", maxCharges, maxSentence)}
	}
	d.charges = append(d.charges, c)
	return nil
}

// bye takes a node out that was told to leave. Nobody else says it.
func (d *Director) bye(m *member) error {
	if d.stage < ending && !m.gone {
		return &PeerError{Peer: m.name, Code: InvalidParameters, Why: "said bye, and was not told to leave"}
	}
	m.gone = true
	return nil
}

// Charge fails who has sent a reply that makes no sense, as a node's charge does. It reports false before the first frame: a cluster does not begin without a node that is
// meant to be there.
func (d *Director) Charge(e *PeerError) bool {
	if d.stage == gathering {
		return false
	}
	d.charges = append(d.charges, charge{peer: e.Peer, why: e.Error()})
	return true
}

// Tick does what is to be done at time now, and returns the messages for all nodes, to be published in their order. It fails when the cluster is over that
// could not begin.
func (d *Director) Tick(now metasim.Time) ([][]byte, error) {
	if d.stage == gathering {
		d.gather(now)
	}
	if d.stage == running {
		for _, v := range d.judged(now) {
			if !v.guilty.gone && d.stage == running {
				d.fail(now, v.guilty, v.why)
			}
		}
	}
	if d.stage == running {
		d.release(now)
		d.expire(now)
		d.release(now)
		d.land(now)
		d.ask(now)
		if d.stage == running && d.next >= d.cfg.Frames && len(d.flights) == 0 {
			d.end(now, "")
		}
	}
	d.conclude(now)
	out := d.out
	d.out = nil
	if d.stage == over {
		return out, d.wrong
	}
	return out, nil
}

// Wake returns when Tick has something to do although no message has come.
func (d *Director) Wake() metasim.Time {
	t := metasim.Forever
	switch d.stage {
	case gathering, ending, closing:
		return d.since.Add(d.cfg.Patience)
	case running:
		if d.next < d.cfg.Frames && (d.cfg.Bounded > 0 || len(d.flights) == 0) {
			t = d.due
		}
		for _, f := range d.flights {
			if f.released {
				t = min(t, f.deadline(d.cfg.Patience))
			} else {
				t = min(t, f.asked.Add(d.cfg.Patience))
				break // the rest waits for it
			}
		}
	}
	return t
}

// Over reports whether all nodes have been told to leave, and have said bye.
func (d *Director) Over() bool { return d.stage == over }

// gather begins when the nodes are there.
func (d *Director) gather(now metasim.Time) {
	var absent []string
	for _, name := range d.cfg.Nodes {
		if d.member(name) == nil {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 || len(d.members) == 0 {
		if now < d.since.Add(d.cfg.Patience) {
			return
		}
		if len(absent) > 0 {
			d.refuse(now, fmt.Errorf("node %s has not said hello for %v; is its director named as this one?", strings.Join(absent, ", "), d.cfg.Patience))
			return
		}
		d.refuse(now, fmt.Errorf("no node has said hello for %v; add clients of the model render-node, whose director is this one", d.cfg.Patience))
		return
	}
	var leads []string
	for _, m := range d.members {
		if m.role == Controller {
			d.lead, leads = m, append(leads, m.name)
		}
	}
	switch {
	case len(leads) > 1:
		d.lead = nil
		d.refuse(now, fmt.Errorf("nodes %s are controllers of one cluster; keep one of them, and make the others understudies", strings.Join(leads, " and ")), leads...)
	case d.lead == nil && !d.promote():
		d.refuse(now, errors.New("no node is the controller, and none an understudy; give one of them role: controller"))
	default:
		d.stage, d.due, d.zero = running, now, 0
	}
}

// release releases frames, in their order, whose notice is there.
func (d *Director) release(now metasim.Time) {
	for _, f := range d.flights {
		if f.released {
			continue
		}
		if f.sync && f.sent == nil {
			return
		}
		f.released, f.since = true, now
		if !f.sync {
			continue
		}
		d.size = f.sent.size
		if f.sent.missing {
			d.missed(f)
		} else {
			d.tell(&release{f.data.Frame, f.epoch, false})
		}
	}
}

// land takes the frames that are done everywhere off the list, and puts their parts together.
func (d *Director) land(now metasim.Time) {
	d.flights = slices.DeleteFunc(d.flights, func(f *flight) bool {
		if !f.released || f.owed > 0 {
			return false
		}
		f.count(&d.Totals, d.members, now-f.asked > d.cfg.Rate.Time(1))
		if d.cfg.Wholes && !f.missing() {
			d.wholes = append(d.wholes, f.whole(d.members).encode())
		}
		return true
	})
}

// ask asks for the frames that are due.
func (d *Director) ask(now metasim.Time) {
	for d.stage == running && d.next < d.cfg.Frames && now >= d.due && (d.cfg.Bounded > 0 || len(d.flights) == 0) {
		if d.cfg.Bounded > 0 && slices.ContainsFunc(d.members, func(m *member) bool { return !m.gone && m.owes >= d.cfg.Bounded }) {
			d.Totals.Discarded++
		} else {
			d.request(now)
		}
		step := d.cfg.Rate.Time(d.next+1) - d.cfg.Rate.Time(d.next)
		if d.next++; d.cfg.Bounded > 0 {
			d.due = d.due.Add(step)
		} else {
			d.due = now.Add(step) // a cluster that is slow gets slower, and does not hurry afterwards
		}
	}
}

// request asks all nodes for the next frame.
func (d *Director) request(now metasim.Time) {
	n := d.next
	f := FrameData{Frame: n, Tracked: d.cfg.Rate.Time(n), Rate: d.cfg.Rate, Scene: d.cfg.Scene}
	for ; len(d.cfg.Streams) > 0 && d.cfg.Streams[0] <= n; d.cfg.Streams = d.cfg.Streams[1:] {
		d.streams++
	}
	f.Reset = len(d.cfg.Reset) > 0 && d.cfg.Reset[0] <= n // also where that frame was discarded
	for len(d.cfg.Reset) > 0 && d.cfg.Reset[0] <= n {
		d.cfg.Reset = d.cfg.Reset[1:]
	}
	if f.Delta = d.cfg.Rate.Time(1); d.last >= 0 {
		f.Delta = f.Tracked - d.cfg.Rate.Time(uint64(d.last))
	}
	if f.Reset || d.last < 0 {
		d.zero = f.Tracked
	}
	f.Local = f.Tracked - d.zero
	fl := &flight{
		request: &request{epoch: d.epoch, previous: d.last, data: f, sync: d.cfg.Sync, streams: d.streams, controller: d.lead.name, inputs: d.inputs, packing: d.cfg.Packing},
		asked:   now, back: make([]Frame, len(d.members)), owing: make([]bool, len(d.members)), lacks: make([]bool, len(d.members)),
	}
	for i, m := range d.members {
		if !m.gone {
			fl.owing[i] = true
			fl.owed++
			m.owes++
		}
	}
	if n%max(d.cfg.Every, 1) == 0 {
		fl.views = d.cfg.Views
	}
	d.inputs, d.last = nil, int64(n)
	d.flights = append(d.flights, fl)
	d.tell(fl.request)
}

// conclude tells the controller to leave when the followers have gone.
func (d *Director) conclude(now metasim.Time) {
	waits := func(leads bool) bool {
		return now < d.since.Add(d.cfg.Patience) && slices.ContainsFunc(d.members, func(m *member) bool { return !m.gone && (m == d.lead) == leads })
	}
	if d.stage == ending && !waits(false) {
		d.stage, d.since = closing, now
		if d.lead != nil && !d.lead.gone {
			d.tell(&quit{[]string{d.lead.name}, d.reason, false})
		}
	}
	if d.stage == closing && !waits(true) {
		d.stage = over
	}
}
