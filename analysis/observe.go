package analysis

import "metasim/metasim"

// begin notes that all have joined: from now on clients compute.
func (t *tracer) begin() {
	t.began = true
	t.tl.Begin = t.wall
	t.profile.begin(t.wall)
	for i := range t.clients {
		if c := &t.clients[i]; !c.gone {
			t.run(c)
			t.blame.initializing++
		}
	}
}

func (t *tracer) run(c *trace) {
	if t.began && !c.running {
		c.running, c.since = true, t.wall
		t.profile.change(t.wall, +1)
		c.cores.begin(t.profile.crowded)
	}
}

func (t *tracer) rest(c *trace) {
	if c.running {
		c.running = false
		t.profile.change(t.wall, -1)
	}
}

func (t *tracer) send(ev *metasim.Send) {
	c := &t.clients[ev.Client]
	c.sends = append(c.sends, stamp{c.clock, t.wall})
	t.tl.stats.send(ev, c)
}

func (t *tracer) report(id metasim.ClientID, r *metasim.Report) {
	t.work(id, r.Now)
	t.clients[id].endLap()
	s := &t.tl.stats.clients[id]
	s.reports++
	t.clients[id].claims.make(claim{at: r.Now.Time, floor: r.NoSendBefore.Time, next: r.NextEvent.Time})
}

// poll notes that a client waits; it may be answered at once.
func (t *tracer) poll(ev *metasim.PollWait) {
	c := &t.clients[ev.Client]
	t.rest(c)
	if !c.polled {
		c.polled = true
		t.blame.initializing--
	}
	if !ev.Messages {
		c.claims.raise(ev.Want.Time)
	}
	t.endGrant(c)
	c.waiting = true
	c.wait = wait{since: t.wall, polled: t.wall, counted: t.wall, from: ev.Now, want: ev.Want, eager: ev.Messages, path: noPath, pieces: c.wait.pieces[:0], epoch: c.wait.epoch + 1}
	t.asked = append(t.asked, ev.Client)
}

func (t *tracer) leave(ev *metasim.Leave) {
	c := &t.clients[ev.Client]
	if c.gone {
		return
	}
	if !ev.Cut {
		t.work(ev.Client, ev.Now)
		t.log.note(t, ev, ev.Client, c.worked)
	}
	if c.waiting {
		t.endWait(ev.Client, ev.Client, c.granted)
	}
	if t.began && !c.polled {
		t.blame.initializing--
	}
	t.rest(c)
	t.endGrant(c)
	c.gone = true
}

// queue notes a message on its way to a client, or lost on it.
func (t *tracer) queue(to metasim.ClientID, m *metasim.Message, lost bool) {
	id := LinkID{From: m.From, To: to, Channel: t.channel(m.Channel)}
	t.tl.stats.link(id, m, lost)
	if lost {
		return
	}
	t.blame.expect(to, m.Due)
	if len(t.tl.Messages) >= t.src.MaxMessages {
		t.tl.DroppedMessages++
		return
	}
	t.inFlight[flight{m.From, to, m.Seq}] = int32(len(t.tl.Messages))
	t.tl.Messages = append(t.tl.Messages, Message{
		From: m.From, To: to, Channel: id.Channel, Size: uint32(len(m.Payload)), Sent: m.Sent, Due: m.Due, Queued: t.wall,
	})
}

func (t *tracer) deliver(e *metasim.Deliver) {
	m := &e.Message
	t.tl.stats.clients[e.To].delivered++
	key := flight{m.From, e.To, m.Seq}
	if i, kept := t.inFlight[key]; kept {
		t.tl.Messages[i].Delivered = t.wall
		delete(t.inFlight, key) // the copy of a duplicated message stays as it is
	}
	l := letter{due: m.Due, from: m.From, channel: t.channel(m.Channel), seq: m.Seq}
	if sends := t.clients[m.From].sends; m.Seq < uint64(len(sends)) {
		l.stamp = sends[m.Seq]
	}
	l.wall = t.wall
	t.clients[e.To].letters.push(l)
}

// authorize notes that a client goes on, or that it may go on further than it has come.
func (t *tracer) authorize(e *metasim.Authorize) {
	c := &t.clients[e.To]
	switch {
	case c.waiting:
		cause := t.blame.cause(e.To)
		t.endWait(e.To, cause, e.Until)
		t.run(c)
		if cause != e.To {
			t.released(e.To, cause)
			t.tl.stats.clients[cause].released++
		}
	case c.running:
		if cause := t.blame.speaker(e.To); cause != e.To {
			c.permits.push(permit{stamp{t.clients[cause].clock, t.wall}, c.granted, cause})
		}
		t.tl.stats.clients[e.To].ahead++
		if c.grant >= 0 {
			t.tl.Grants[c.grant].Until = e.Until
		}
	}
	c.granted = e.Until
}

// endWait ends a blocked interval, and begins a grant.
func (t *tracer) endWait(id, cause metasim.ClientID, until metasim.Instant) {
	c := &t.clients[id]
	t.blame.end(id, cause)
	c.waiting = false
	s := &t.tl.stats.clients[id]
	s.grants++
	s.blocked += t.wall - c.wait.polled
	if len(t.tl.Grants) >= t.src.MaxGrants {
		t.tl.DroppedGrants++
		return
	}
	first := int32(len(t.tl.Holds))
	t.tl.Holds = append(t.tl.Holds, c.wait.pieces...)
	c.grant = int32(len(t.tl.Grants))
	t.tl.Grants = append(t.tl.Grants, Grant{
		Client: id, Cause: cause, Polled: c.wait.polled, Granted: t.wall, Reported: t.wall, From: c.wait.from, Until: until,
		Holds: [2]int32{first, int32(len(t.tl.Holds))},
	})
}

// endGrant ends the computing part of a grant.
func (t *tracer) endGrant(c *trace) {
	if c.grant >= 0 {
		t.tl.Grants[c.grant].Reported = t.wall
		c.grant = -1
	}
}

func (t *tracer) channel(name string) uint32 {
	i, known := t.channels[name]
	if !known {
		i = uint32(len(t.tl.Channels))
		t.channels[name] = i
		t.tl.Channels = append(t.tl.Channels, name)
	}
	return i
}

// close ends the timeline.
func (t *tracer) close() (*Timeline, error) {
	if t.diverged != nil {
		return nil, t.diverged
	}
	t.endPass()
	if !t.began {
		t.tl.Begin = t.wall
	}
	t.tl.End = t.wall
	for i := range t.clients {
		id := metasim.ClientID(i)
		c := &t.clients[i]
		if c.gone || !t.began {
			continue
		}
		t.work(id, c.now)
		if c.waiting {
			t.endWait(id, Nobody, c.granted)
		}
		t.rest(c)
		t.endGrant(c)
	}
	t.profile.end(t.wall, t.simulated)
	t.tl.Profile, t.tl.Running = t.profile.samples, t.profile.histogram()
	t.tl.stats.finish(t)
	return t.tl, nil
}
